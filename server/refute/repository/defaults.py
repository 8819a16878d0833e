"""Reads what a setting is without being set: as a document says it, and as the code initialises it.

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

_MOST_OF_A_FILE = 300
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
    r"(?![\w%]|[ .]?\d| ?[-*/^+x×] ?\d)|(true|false)\b)"
)
_WHOLE = re.compile(_VALUE + r"[`'\"*]*", re.I)
_STATED = re.compile(
    r"\b(?:defaults? (?:to|is|value(?: is)?:?|of)|defaults?:|default =|by default (?:it is|this is))\s*"
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

_IDENTIFIER = re.compile(r"\b(?:[A-Za-z]+_\w+|[a-z]+[A-Z]\w*)\b")
_CASE = re.compile(
    r"\b(?:if|unless|otherwise|when|simulat\w+|tests?|prod\w*|debug|on (?:windows|linux|mac\w*))\b", re.I
)
_LEFT = re.compile(r"([A-Za-z_@$][\w$]{4,60})[\"']?\s*(?::\s*[\w<>\[\]?. |]+)?\s*(?:\{\s*get;[^}]*\}\s*)?$")
_CODE_UNITS = tuple(
    (re.compile(pattern), unit)
    for pattern, unit in (
        (
            r"\btime\.Second\b|\bfrom_secs\b|\bFromSeconds\b|\bofSeconds\b|\.seconds?\b|\bTimeUnit\.SECONDS\b",
            1.0,
        ),
        (r"\btime\.Millisecond\b|\bfrom_millis\b|\bFromMilliseconds\b|\bofMillis\b|\.milliseconds?\b", 1e-3),
        (r"\btime\.Minute\b|\bFromMinutes\b|\bofMinutes\b|\.minutes?\b|\bTimeUnit\.MINUTES\b", 60.0),
        (r"\btime\.Hour\b|\bFromHours\b|\bofHours\b|\.hours?\b|\bTimeUnit\.HOURS\b", 3600.0),
        (r"\bFromDays\b|\bofDays\b|\.days?\b|\bTimeUnit\.DAYS\b", 86400.0),
    )
)
_FACTOR = r"\d[\d_]*(?:\.\d+)?(?:[uU]?[lL]{0,2}|[fFdD]|u32|u64|usize|i32|i64)?"
_PRODUCT = re.compile(rf"\(?\s*({_FACTOR})((?:\s*\*\s*{_FACTOR})*)\s*\)?")
_SHIFT = re.compile(r"\(?\s*(\d+)[uUlL]*\s*<<\s*(\d+)\s*\)?")
_WORDS_AROUND = re.compile(r"^(?:[\w.:]*\(\s*)?(.*?)\s*\)?(?:\.\w+(?:\(\))?)?$")
_COMMENT = ("//", "*", "/*", "#", "--", ";")
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
        stated = _STATED.search(line) if "efault" in line else None
        if stated and name and number - since < _FARTHEST_LINE:
            yield from _named(name, stated, number, line)
            name = ""  # what a later sentence says is of something else


def _named(name: str, found: re.Match[str], number: int, line: str) -> Iterator[NamedDefault]:
    if len(words_of_name(name)) >= 2:
        yield NamedDefault(name, *_documented_value(found), number, line.strip()[:300])


def _documented_value(found: re.Match[str]) -> tuple[str, bool]:
    amount, unit, switch = found.group(1), found.group(2), found.group(3)
    if switch:
        return switch.lower(), False
    return repr(_number(amount) * _UNITS[(unit or "b").lower()]), bool(unit)


def _number(digits: str) -> float:
    return float(re.sub(r"[_,]|(?:[uU]?[lL]{0,2}|[fFdD]|[ui](?:32|64|size))$", "", digits))


def coded_defaults(lines: Sequence[str]) -> Iterator[NamedDefault]:
    """The settings that code initialises with a plain value, each with what the comment above it states."""
    stated: re.Match[str] | None = None
    told_by, stated_line, told = "", 0, 0
    for number, line in enumerate(lines, 1):
        bare = line.strip()
        if bare.startswith(_COMMENT) and not bare.startswith("#define"):
            found = _STATED.search(bare) if bare.lower().count("default") == 1 else None
            if found:
                stated, stated_line, told_by = found, number, bare
            continue
        if not bare or bare.startswith(("@", "[")):
            continue
        made = _initialised(bare, number) if len(bare) <= _LONGEST_LINE else None
        if made is not None:
            if stated is not None and number - stated_line <= 3 and _may_speak_of(told_by, made.name):
                value, has_unit = _documented_value(stated)
                made = NamedDefault(
                    made.name,
                    made.value,
                    made.has_unit,
                    number,
                    made.shown,
                    value,
                    has_unit,
                    stated_line,
                    told_by[:300],
                )
            yield made
            told += 1
            if told >= _MOST_OF_A_FILE:
                return
        stated = None


def _may_speak_of(comment: str, name: str) -> bool:
    """Whether a comment names no other setting than that one, and speaks of no special case."""
    others = [other for other in _IDENTIFIER.findall(comment) if other != name]
    return not others and not _CASE.search(comment)


def _initialised(line: str, number: int) -> NamedDefault | None:
    left, sign, right = line.partition("=")
    if not sign:
        left, sign, right = line.partition(":")
    if not sign or not right or right[0] in "=>:~" or left[-1:] in "!<>+-*/|&^%=":
        return None
    named = _LEFT.search(left.rstrip(": \t") if left.endswith(":") else left)
    if named is None or left[: named.start()].endswith((".", "->")):  # one that is set, and not made
        return None
    if len(words_of_name(named.group(1))) < 2:
        return None
    told = _coded_value(re.split(r"\s(?://|#|/\*)", right, maxsplit=1)[0].strip().rstrip(",;").strip())
    return NamedDefault(named.group(1), *told, number, line[:300]) if told else None


def _coded_value(text: str) -> tuple[str, bool] | None:
    """The value of a literal, a product of literals, or one of them in a unit of time; None for all else."""
    if text.lower() in ("true", "false"):
        return text.lower(), False
    if not any(sign.isdigit() for sign in text) or len(text) > 60:
        return None
    shift = _SHIFT.fullmatch(text)
    if shift and int(shift.group(2)) < 64:
        return repr(float(int(shift.group(1)) << int(shift.group(2)))), False
    product = _PRODUCT.fullmatch(text)
    unit = next((unit for pattern, unit in _CODE_UNITS if pattern.search(text)), None)
    if product is None and unit is not None:
        within = re.sub(r"\s*\*?\s*time\.\w+\s*$|^\s*time\.\w+\s*\*\s*", "", text)
        around = _WORDS_AROUND.match(within)
        product = _PRODUCT.fullmatch(around.group(1)) if around else None
    if product is None:
        return None
    value = math.prod(map(_number, re.findall(_FACTOR, product.group(0))))
    return repr(value * (unit or 1.0)), unit is not None
