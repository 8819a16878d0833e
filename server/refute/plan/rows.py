"""Claims and hypotheses from the rows of a plan's tables and from yaml lists."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from refute.plan.document import Claim, Hypothesis
from refute.plan.markdown import Table

# What people call the columns; the first name is ours.
CLAIM_COLUMNS = {
    "id": ("id", "claim id", "#", "no", "nr", "claim no", "ref"),
    "text": ("claim", "text", "promise", "guarantee", "statement", "what is promised"),
    "category": ("category", "kind", "type", "property", "class"),
    "source": ("source", "cited", "citation", "where", "evidence", "cites", "reference"),
}
HYPOTHESIS_COLUMNS = {
    "id": ("id", "hypothesis id", "#", "no", "nr", "ref"),
    "text": ("hypothesis", "text", "statement", "what could be wrong", "suspicion"),
    "claims": (
        *("claims", "claim", "falsifies", "tethered to", "against", "claim ids"),
        *("promises", "promise", "guarantees", "guarantee"),
    ),
    "suspect": ("suspect", "suspect place", "code", "place", "where"),
    "sequence": ("sequence", "aimed sequence", "how to show it", "shown by", "steps"),
}
_ID = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*[0-9A-Za-z]|[A-Za-z]|\d+")
_PLAIN = re.compile(r"[*`_]|\[|\]\([^)]*\)")
_RANGE = re.compile(r"\b([A-Za-z]+)(\d+)\s*(?:-|–|\.\.|to)\s*\1?(\d+)\b")


def plain(cell: str) -> str:
    """A cell without Markdown's emphasis, code and link marks."""
    return _PLAIN.sub("", cell).strip()


def ids_in(text: str) -> tuple[str, ...]:
    """The ids that a cell lists: `C1, C3-C5 and **C9**` is C1, C3, C4, C5, C9."""
    text = _RANGE.sub(_written_out, plain(text))
    words = [word for word in re.split(r"[\s,;/&+]+", text) if word not in ("and", "or", "-", "–", "—", "")]
    return tuple(dict.fromkeys(found[0] for word in words if (found := _ID.fullmatch(word.strip("().")))))


def _written_out(found: re.Match[str]) -> str:
    letters, first, last = found[1], int(found[2]), int(found[3])
    if not first < last <= first + 500:
        return found[0]
    return ", ".join(f"{letters}{number}" for number in range(first, last + 1))


def uncoded(cell: str) -> str:
    """A cell that is one code span, without its backticks; any other cell as it is."""
    inner = cell[1:-1]
    return inner if len(cell) > 2 and cell[0] == cell[-1] == "`" and "`" not in inner else cell


def columns(table: Table, names: Mapping[str, tuple[str, ...]]) -> dict[str, int]:
    """Which column is which; a name that the table does not have is absent."""
    header = [plain(cell).lower() for cell in table.header]
    found: dict[str, int] = {}
    for name, spellings in names.items():
        for spelling in spellings:
            if spelling in header and header.index(spelling) not in found.values():
                found[name] = header.index(spelling)
                break
    return found


def claims_in(table: Table) -> Iterator[Claim] | None:
    """The claims of a table, or None where it is no table of claims."""
    places = columns(table, CLAIM_COLUMNS)
    return _claims(table, places) if {"id", "text"} <= set(places) else None


def _claims(table: Table, places: dict[str, int]) -> Iterator[Claim]:
    for row in table.rows:
        cell = {name: row.cells[at] for name, at in places.items()}
        if any(row.cells):
            yield Claim(
                id=plain(cell["id"]),
                text=cell["text"],
                category=plain(cell.get("category", "")).lower(),
                source=uncoded(cell.get("source", "")),
                line=row.line,
                extra=_others(table, row.cells, places),
            )


def hypotheses_in(table: Table) -> Iterator[Hypothesis] | None:
    """The hypotheses of a table, or None where it is no table of hypotheses."""
    places = columns(table, HYPOTHESIS_COLUMNS)
    return _hypotheses(table, places) if {"id", "text"} <= set(places) else None


def _hypotheses(table: Table, places: dict[str, int]) -> Iterator[Hypothesis]:
    for row in table.rows:
        cell = {name: row.cells[at] for name, at in places.items()}
        if any(row.cells):
            yield Hypothesis(
                id=plain(cell["id"]),
                text=cell["text"],
                claims=ids_in(cell.get("claims", "")),
                suspect=uncoded(cell.get("suspect", "")),
                sequence=cell.get("sequence", ""),
                line=row.line,
                extra=_others(table, row.cells, places),
            )


def _others(table: Table, cells: tuple[str, ...], places: dict[str, int]) -> dict[str, str]:
    taken = set(places.values())
    return {
        plain(name).lower(): cells[at]
        for at, name in enumerate(table.header)
        if at not in taken and cells[at]
    }


CLAIM_KEYS = ("id", "text", "claim", "category", "source")
HYPOTHESIS_KEYS = ("id", "text", "hypothesis", "claims", "suspect", "sequence")


def claim_of(data: Mapping[str, Any], line: int) -> Claim:
    """The claim that one mapping of a yaml list describes; further keys are kept as `extra`."""
    return Claim(
        id=str(data["id"]),
        text=str(data.get("text", data.get("claim", ""))),
        category=str(data.get("category", "")).lower(),
        source=str(data.get("source", "")),
        line=line,
        extra={key: str(value) for key, value in data.items() if key not in CLAIM_KEYS},
    )


def hypothesis_of(data: Mapping[str, Any], line: int) -> Hypothesis:
    """The hypothesis that one mapping of a yaml list describes; further keys are kept as `extra`."""
    named = data.get("claims", ())
    return Hypothesis(
        id=str(data["id"]),
        text=str(data.get("text", data.get("hypothesis", ""))),
        claims=ids_in(named) if isinstance(named, str) else tuple(str(item) for item in named or ()),
        suspect=str(data.get("suspect", "")),
        sequence=str(data.get("sequence", "")),
        line=line,
        extra={key: str(value) for key, value in data.items() if key not in HYPOTHESIS_KEYS},
    )
