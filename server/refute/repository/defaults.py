"""Reads what a document says that a setting is without being set.

Only settings whose name has two words or more are read, since a shorter name means something else in each
place, and only values that can be compared: numbers (with their unit, where one is said) and switches.
"""

# ruff: noqa: E501  (patterns)

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from refute.repository.sentences import pieces

_LONGEST_LINE = 240
_FARTHEST_LINE = 8
_UNITS = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds", "millis"), 1e-3),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
    **dict.fromkeys(("day", "days"), 86400.0),
    **dict.fromkeys(("b", "byte", "bytes"), 1.0),
    **dict.fromkeys(("k", "kb", "kib"), 1024.0),
    **dict.fromkeys(("m", "mb", "mib"), 1024.0**2),
    **dict.fromkeys(("g", "gb", "gib"), 1024.0**3),
}
_OF_NAMES = frozenset({*_UNITS, "in", "default", "defaults"})
_VALUE = (
    r"[`'\"*]*(?:(\d[\d_,]*(?:\.\d+)?)[`'\"]*\s*(" + "|".join(sorted(_UNITS, key=len, reverse=True)) + r")?"
    r"(?![\w%]|[ .]?\d| ?(?:<<|[-*/^+x×]) ?\d)|(true|false)\b)"
)
_WHOLE = re.compile(_VALUE + r"[`'\"*]*", re.I)
STATED = re.compile(
    r"\b(?:defaults? (?:to|is|value(?: is)?:?|of)|defaults?:|default =|by default (?:it is|this is)|(?<=\()default)\s*"
    + _VALUE,
    re.I,
)
_ENTRY = re.compile(
    r"^\s{0,8}(?:[-*+] |#{1,6} )?[`*\"'\[]{0,4}(-{0,2}[A-Za-z][\w.-]{3,60})[`*\"'\]]{0,4}(?:\([\w\s,?]{0,40}\))?\s*(?:[:(=–—]|- |$)"
)
_DIRECTIVE = re.compile(r"^\.\. (?:setting|option|confval|envvar)::\s*([\w.-]+)\s*$")
_UNDERLINE = re.compile(r"^([=~^\"'-])\1{3,}\s*$")
_NAME_CELL = re.compile(r"[`*]*(-{0,2}[A-Za-z][\w.-]{3,60})[`*]*")
_VERSIONED = re.compile(
    r"(?:^|/)(?:[\w-]*version[\w-]*|v?\d+[.\d]*x?|archived?|old|legacy)/|[-_]v?\d+\.\d+", re.I
)

# the same amount in another unit: a plain number may be seconds here and milliseconds there
_RATIOS = tuple(
    1000.0**thousands * 60.0**sixties * 24.0**days * 1024.0**kibi
    for thousands, sixties, days, kibi in (
        (0, 0, 0, 0), (1, 0, 0, 0), (2, 0, 0, 0), (3, 0, 0, 0), (0, 1, 0, 0), (0, 2, 0, 0), (1, 1, 0, 0), (1, 2, 0, 0),
        (0, 2, 1, 0), (1, 2, 1, 0), (0, 0, 1, 0), (0, 0, 0, 1), (0, 0, 0, 2), (0, 0, 0, 3), (1, 0, 0, -1), (2, 0, 0, -2),
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class NamedDefault:
    """What one place says that a setting is unless it is set.

    `value` is `true`, `false`, or a number in seconds, in bytes, or as it stands where no unit is said (then
    `has_unit` is false). `stated` is the value that the comment right above the code says; else empty.
    `is_fallback` says that the code itself calls it a default, or sets it where it was not set.
    """

    name: str
    value: str
    has_unit: bool
    line: int
    shown: str
    stated: str = ""
    stated_has_unit: bool = False
    stated_line: int = 0
    stated_shown: str = ""
    is_fallback: bool = False


def words_of_name(name: str) -> tuple[str, ...]:
    """The words of a setting's name, without its unit and without "default": equal for equal settings."""
    return tuple(word for word in pieces(name.rsplit(".", 1)[-1]) if word not in _OF_NAMES and len(word) > 1)


def agree(a: tuple[str, bool], b: tuple[str, bool]) -> bool:
    """Whether two values, each with whether its unit was said, may be the same: what cannot be told is the same."""
    (one, one_has_unit), (other, other_has_unit) = a, b
    if one == other or not one or not other:
        return True
    if one in ("true", "false") or other in ("true", "false"):
        return {one, other} != {"true", "false"}
    left, right = float(one), float(other)
    if left <= 0 or right <= 0:
        return True
    ratio = max(left, right) / min(left, right)
    if one_has_unit and other_has_unit:
        return any(
            math.isclose(ratio, same, rel_tol=1e-3) for same in (1.0, 1000 / 1024, 1.024, 1.024**2, 1.024**3)
        )
    return any(math.isclose(ratio, same, rel_tol=1e-3) for same in _RATIOS)


def is_of_another_version(path: str) -> bool:
    """Whether a document is about another version than the code beside it."""
    return bool(_VERSIONED.search(path))


def documented_defaults(lines: Sequence[str]) -> Iterator[NamedDefault]:
    """What a document says of named settings: in a table with a column "default", an item, below a heading."""
    name, since, column = "", 0, 0
    for number, line in enumerate(lines, 1):
        if len(line) > 4 * _LONGEST_LINE:
            continue
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.count("|") >= 2 else []
        if cells:
            titles = [
                at
                for at, cell in enumerate(cells)
                if cell.strip("*_` ").lower() in ("default", "default value")
            ]
            if titles:
                column = titles[0] if len(titles) == 1 else 0
            elif 0 < column < len(cells):
                named, valued = _NAME_CELL.fullmatch(cells[0]), _WHOLE.fullmatch(cells[column])
                if named and valued:
                    yield from _named(named.group(1), valued, number, line)
            name = ""
            continue
        column = 0
        directive = _DIRECTIVE.match(line)
        entry = directive or _ENTRY.match(line)
        is_heading = line.startswith("#") or (number < len(lines) and _UNDERLINE.match(lines[number]))
        if directive or is_heading or line.lstrip()[:2] in ("- ", "* ", "+ ") or line[:1] == "`":
            name, since = (entry.group(1), number) if entry else ("", number)
        stated = STATED.search(line) if "efault" in line else None
        if stated and name and number - since < _FARTHEST_LINE:
            yield from _named(name, stated, number, line)
            name = ""  # what a later sentence says is of something else


def plain_value(text: str) -> tuple[str, bool] | None:
    """A number, with whether its unit is said, or a switch; None for all else."""
    found = _WHOLE.fullmatch(text.strip())
    return documented_value(found) if found else None


def _named(name: str, found: re.Match[str], number: int, line: str) -> Iterator[NamedDefault]:
    if len(words_of_name(name)) >= 2 or (name.count(".") and len(pieces(name)) >= 2):
        yield NamedDefault(name, *documented_value(found), number, line.strip()[:300])


def documented_value(found: re.Match[str]) -> tuple[str, bool]:
    """What a match of `STATED` says, with whether its unit is said."""
    amount, unit, switch = found.group(1), found.group(2), found.group(3)
    if switch:
        return switch.lower(), False
    if unit == "m":  # minutes, mebibytes, or thousandths
        return repr(number_of(amount)), False
    return repr(number_of(amount) * _UNITS[(unit or "b").lower()]), bool(unit)


def number_of(digits: str) -> float:
    """The number that digits with separators and a suffix of a type stand for."""
    return float(re.sub(r"[_,]|(?:[uU]?[lL]{0,2}|[fFdD]|[ui](?:32|64|size))$", "", digits))
