"""Finds the descriptions in an interface: YAML or JSON (OpenAPI, AsyncAPI, JSON Schema), comments of SQL."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_INTERFACE = re.compile(
    r"^\s*[\"']?(?:openapi|swagger|asyncapi)[\"']?\s*:\s*[\"']?\d|[\"']?\$schema[\"']?\s*:\s*[\"']?https?://json-schema",
    re.M,
)
_IN_JSON = re.compile(r"\"(?:description|summary)\"\s*:\s*\"((?:[^\"\\]|\\.){12,2000})\"")
_IN_YAML = re.compile(r"^(\s*)(?:- )?(?:description|summary):\s*(.*)$")
_IN_FLOW = re.compile(
    r"[{,]\s*[\"']?(?:description|summary)[\"']?\s*:\s*"
    r"(?:\"((?:[^\"\\]|\\.){12,2000})\"|'((?:[^']|''){12,2000})'|([^\s\"'{}\[\],][^\"{}\[\],]{11,2000}))"
)
_NAMED_FLOW = re.compile(r"^\s*(?:- )?[\"']?([\w/{}.$-]{2,60})[\"']?\s*:\s*\{")
_NAMED = re.compile(r"^\s*[\"']?([\w/{}.$-]{2,60})[\"']?:\s*$|\"([\w/{}.$-]{2,60})\"\s*:\s*\{")
_SCHEMA_COMMENT = re.compile(
    r"\bCOMMENT\s+ON\s+(?:MATERIALIZED\s+)?\w+\s+([\w.\"]+)[^']{0,80}\bIS\s+E?'", re.I
)
_CLOSED = re.compile(r"(?<!')(?:'')*'\s*(?:;.*)?$")
_LONGEST_SCHEMA_COMMENT = 40
_ESCAPES = re.compile(r"\\[nrt]|\\(?=[\"/\\])")


@dataclass(frozen=True, slots=True)
class Description:
    """One description as numbered lines, and the name of what it describes."""

    lines: tuple[tuple[int, str], ...]
    symbol: str


def schema_comments(lines: Sequence[str]) -> Iterator[Description]:
    """What `COMMENT ON ... IS '...'` says of a table, a column or a constraint, in SQL; linear."""
    at = 0
    while at < len(lines):
        begun = _SCHEMA_COMMENT.search(lines[at])
        at += 1
        if begun is None:
            continue
        text = [(at, lines[at - 1][begun.end() :])]
        while not _CLOSED.search(text[-1][1]) and at < len(lines) and len(text) < _LONGEST_SCHEMA_COMMENT:
            text.append((at + 1, lines[at]))
            at += 1
        shown = tuple((number, _CLOSED.sub("", line).replace("''", "'").strip()) for number, line in text)
        yield Description(shown, begun.group(1).rpartition(".")[2].strip('"'))


def is_interface(text: str) -> bool:
    """Whether a YAML or JSON document says of itself that it describes an interface."""
    return bool(_INTERFACE.search(text[:4000]))


def plain(text: str) -> str:
    """The text of a JSON string without its escapes, character for character where it can be."""
    return _ESCAPES.sub(" ", text)


def descriptions_in(lines: Sequence[str], language: str) -> Iterator[Description]:
    """The descriptions of an interface, in order; linear."""
    symbol = ""
    skip_to = 0
    for index, line in enumerate(lines):
        if index < skip_to:
            continue
        if language == "json":
            for found in _IN_JSON.finditer(line):
                yield Description(((index + 1, plain(found.group(1))),), symbol)
            named = _NAMED.search(line)
        else:
            described = _IN_YAML.match(line)
            if described:
                skip_to, text = _yaml_text(lines, index, len(described.group(1)), described.group(2))
                if text:
                    yield Description(text, symbol)
                continue
            named = _NAMED.match(line) or _NAMED_FLOW.match(line)
            of_this_line = named.group(1) if named else ""
            for found in _IN_FLOW.finditer(line):
                yield Description(((index + 1, _flow_text(found)),), of_this_line or symbol)
        if named:
            symbol = next((name for name in named.groups() if name), symbol)


def _flow_text(found: re.Match[str]) -> str:
    """The scalar of a mapping on one line, however it is quoted."""
    double, single, bare = found.groups()
    return plain(double) if double else single.replace("''", "'") if single else str(bare).strip()


def _yaml_text(
    lines: Sequence[str], index: int, indent: int, first: str
) -> tuple[int, tuple[tuple[int, str], ...]]:
    """The scalar that begins here, with what goes on below it, indented; and the line behind it."""
    text = (
        []
        if re.fullmatch(r"[|>][+-]?\d?\s*", first) or not first.strip()
        else [(index + 1, first.strip("'\" "))]
    )
    at = index + 1
    while at < len(lines):
        row = lines[at]
        if row.strip() and len(row) - len(row.lstrip()) <= indent:
            break
        if row.strip():
            text.append((at + 1, row.strip().rstrip("'\"")))
        at += 1
    return at, tuple(text)
