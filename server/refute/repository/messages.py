"""Finds what code itself says: error messages, assertions, defaults, help texts of flags."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from refute.repository.sieve import Sieve

_STRING = re.compile(r"\"((?:[^\"\\\n]|\\.){14,400})\"|'((?:[^'\\\n]|\\.){18,400})'|`([^`\n]{14,400})`")
_RAISES = re.compile(
    r"\b(panic\w*|fatal\w*|throw|raise|die|abort|bail!|ensure!|unreachable!?|expect|\w*[Aa]ssert\w*!?|checkState|checkArgument|"
    r"errors?\.\w+|\w*(?:Error|Exception|Err)(?:f|ln|s)?|addReplyError\w*|error|reject|err\w*|precondition\w*|CHECK\w*)\b", re.I)  # fmt: skip
_HARD = re.compile(
    r"\b(panic\w*|fatal\w*|abort|unreachable!?|\w*assert\w*!?|ensure!|checkState|CHECK\w*|invariant|precondition\w*)\b",
    re.I,
)
_WARNS = re.compile(
    r"\b(warn\w*|log\w*\.(?:warn|error|critical)\w*|LL_WARNING|Warnf?|lg\.Warn|LOG_(?:WARN|ERROR))\b", re.I
)
_ASSERTION = re.compile(
    r"^\s*(?:debug_)?(?:\w*[Aa]ssert|CHECK|DCHECK|invariant|Preconditions\.check\w+)\w*!?\s*\((.{8,160})\)\s*;?\s*$"
)
_ASSERT_STATEMENT = re.compile(r"^\s*assert\s+([^\"'(].{8,160}?)(?:,\s*.*)?;?\s*$")
_FLAG = re.compile(
    r"\(\s*(?:&?[\w.]+,\s*)?\"([a-zA-Z][\w.-]{2,60})\",\s*((?:[^,\"()]|\([^()]*\)){1,60}|\"[^\"]{0,60}\"),\s*\"((?:[^\"\\]|\\.){15,500})\""
)
_DEFINED = re.compile(r"\bDEFINE_\w+\(\s*(\w+),\s*([^,]{1,60}),")
_DEFAULT = re.compile(
    r"(?:^|\s)((?:[A-Za-z_]\w*)?(?:[Dd]efault|DEFAULT)_?\w*)(?:\s*:\s*[\w.<>&' ]+|\s+[\w.]+)?\s*=\s*([^=\s][^;]{0,60}?)\s*(?:;|,|//.*|#.*)?$"
)
_OPTION = re.compile(r"(?:default|DEFAULT)\s*[:=(]\s*([^,;)\s][^,;)]{0,40})")
_DOC_CONSTANT = re.compile(
    r"\b(\w+_(?:DOC|HELP|DESCRIPTION))\s*=\s*$|\b(\w+_(?:DOC|HELP|DESCRIPTION))\s*=\s*\""
)
_SIEVE = Sieve(
    {
        "documented": _DOC_CONSTANT,
        "flag": _FLAG,
        "defined": _DEFINED,
        "default": _DEFAULT,
        "assertion": _ASSERTION,
        "assert statement": _ASSERT_STATEMENT,
        "raises": _RAISES,
        "warns": _WARNS,
    }
)
_FORMAT = re.compile(r"%[-+#0 ]*\d*(?:\.\d+)?[a-zA-Z]|\{[^{}]{0,40}\}|#\{[^}]*\}|\$\{[^}]*\}|\\[nt\"']|\$\w+")
_BEHAVIOUR = re.compile(
    r"\b(fsync|fdatasync|fflush|FlushFileBuffers|F_FULLFSYNC|SKIP LOCKED|FOR UPDATE|SERIALIZABLE|REPEATABLE READ|ON CONFLICT DO NOTHING|ISOLATION LEVEL)\b"
)


@dataclass(frozen=True, slots=True)
class Message:
    """One thing that code says, as text, with where it stands and how telling its kind is."""

    text: str
    line: int
    end_line: int
    channel: str
    bonus: float = 0.0
    symbol: str = ""
    default: str = ""


def messages_in(lines: Sequence[str], language: str) -> Iterator[Message]:
    """The messages of one source file, in order; linear."""
    if language in ("ini", "yaml", "toml", "json", "xml", "make", "docker", "other"):
        return
    skip_to = 0
    for index, line in enumerate(lines):
        number = index + 1
        if number <= skip_to or len(line) > 600:
            continue
        stripped = line.lstrip()
        if stripped.startswith(("//", "*", "#", "/*", "--", "%", ";")):
            continue
        possible = _SIEVE.possible(line)
        if not possible:
            continue
        documented = _DOC_CONSTANT.search(line) if "documented" in possible else None
        if documented:
            text, end = _strings(lines, index, 12)
            if text:
                yield Message(
                    text, number, end, "setting", 0.1, symbol=documented.group(1) or documented.group(2)
                )
                skip_to = end
                continue
        flag = _FLAG.search(line) if "flag" in possible else None
        if flag and not _RAISES.search(line[: flag.start()]):
            yield Message(f"{flag.group(1)} (default {flag.group(2).strip()}): {_plain(flag.group(3))}", number, number,
                          "setting", 0.2, flag.group(1), flag.group(2).strip())  # fmt: skip
            continue
        defined = _DEFINED.search(line) if "defined" in possible else None
        if defined:
            text, end = _strings(lines, index, 3)
            name, value = defined.group(1), defined.group(2).strip()
            if text:
                yield Message(f"{name} (default {value}): {text}", number, end, "setting", 0.2, name, value)
                skip_to = end
            continue
        constant = _DEFAULT.search(line) if "default" in possible else None
        if constant and "(" not in line.split("=")[0]:
            name, value = constant.group(1), constant.group(2).strip()
            yield Message(f"{name} defaults to {value}", number, number, "setting", 0.0, name, value)
            continue
        held = _ASSERTION.match(line) or _ASSERT_STATEMENT.match(line)
        if held and '"' not in held.group(1):
            yield Message(f"assert {held.group(1)}", number, number, "assertion", 0.1)
            continue
        raises = _RAISES.search(line) if "raises" in possible else None
        warns = None if raises else _WARNS.search(line)
        if raises or warns:
            text, end = _strings(lines, index, 3)
            if text and len(text.split()) >= 4:
                hard = bool(_HARD.search(line))
                yield Message(text, number, end, "assertion" if hard else "error" if raises else "log",
                              0.25 if hard else 0.0 if raises else -0.5)  # fmt: skip
                skip_to = end


def _strings(lines: Sequence[str], index: int, most: int) -> tuple[str, int]:
    """The string literal that begins on this line or just below, with those that are joined to it."""
    parts: list[str] = []
    end = index + 1
    for at in range(index, min(index + most, len(lines))):
        found = [
            next(text for text in row.groups() if text is not None) for row in _STRING.finditer(lines[at])
        ]
        if not found and (parts or at > index + 1):
            break
        if found:
            parts += found
            end = at + 1
            if not re.search(r"[\"'`]\s*(?:\+|\\|\.|<<)?\s*$|\+\s*$", lines[at]):
                break
    return _plain(" ".join(parts)), end


def _plain(text: str) -> str:
    return " ".join(_FORMAT.sub(" ", text).split())
