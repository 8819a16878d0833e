"""The data of a picture: a history as compact columns of JSON, its faults, and its conflicts by row."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from refute.history import History
from refute.history.columns import OPEN, Columns
from refute.session.picture.bands import Band
from refute.session.picture.conflict import Conflict

MOST_VALUES = 300_000
"""Up to so many operations have their values in the page; past it only those that prove a conflict."""
_CLIP, _CLIP_LIT, _MOST_CONFLICTS, _MOST_BANDS = 160, 4000, 60, 2000


def picture_data(
    history: History, conflicts: Sequence[Conflict], bands: Sequence[Band], *, title: str
) -> dict[str, Any]:
    """Everything that the page draws, in JSON's own types; linear in the operations.

    Times are nanoseconds from the first invocation or fault: `start` as differences from row to row,
    `length` from invocation to completion (-1: none was recorded). `key` holds a code, or a list of codes
    for a transaction on several keys; codes are places in the tables beside them and -1 is none. A value is
    a number, null, or the text that is shown, clipped. What was left out is counted in `notes`.
    """
    columns = history.columns
    rows = {int(index): row for row, index in enumerate(_indexes(columns))}
    shown = conflicts[:_MOST_CONFLICTS]
    lit = {rows[index] for conflict in shown for index in conflict.operations if index in rows}
    start_ns, end_ns = _span(columns, bands)
    notes = list(history.completeness.notes)
    if len(conflicts) > len(shown):
        notes.append(f"{len(conflicts) - len(shown)} further conflicts are not in this picture")
    if len(columns) > MOST_VALUES:
        notes.append(f"of {len(columns) - len(lit)} operations the values are not in this picture")
    if len(bands) > _MOST_BANDS:
        notes.append(f"{len(bands) - _MOST_BANDS} further faults are not in this picture")
    keys, key_codes = _keys(columns)
    return {
        "title": title,
        "clock": history.clock,
        "span": end_ns - start_ns,
        "processes": [_text(value, _CLIP) for value in columns.processes],
        "kinds": columns.kinds,
        "keys": keys,
        "nodes": columns.nodes,
        "errors": [error[:_CLIP_LIT] for error in columns.errors],
        "process": columns.process.tolist(),
        "kind": columns.kind.tolist(),
        "key": key_codes,
        "outcome": columns.outcome.tolist(),
        "start": _differences(columns.invoked.tolist(), start_ns),
        "length": _lengths(columns),
        "node": columns.node.tolist(),
        "error": columns.error.tolist(),
        "input": _values(columns, columns.input, lit),
        "output": _values(columns, columns.output, lit),
        "index": None if columns.index is None else _indexes(columns),
        "conflicts": [_conflict(conflict, rows) for conflict in shown],
        "faults": [_fault(band, start_ns) for band in bands[:_MOST_BANDS]],
        "notes": notes,
    }


def _indexes(columns: Columns) -> list[int]:
    return list(range(len(columns))) if columns.index is None else columns.index.tolist()


def _span(columns: Columns, bands: Iterable[Band]) -> tuple[int, int]:
    known = columns.completed[columns.completed != OPEN]
    starts = [band.from_ns for band in bands]
    ends = [band.until_ns for band in bands if band.until_ns is not None]
    if len(columns):
        starts.append(int(columns.invoked.min()))
        ends.append(int(columns.invoked.max()))
    if len(known):
        ends.append(int(known.max()))
    if not starts:
        return 0, 1
    return min(starts), max([*starts, *ends]) + 1


def _differences(times: Sequence[int], start: int) -> list[int]:
    return [time - last for time, last in zip(times, [start, *times], strict=False)]


def _lengths(columns: Columns) -> list[int]:
    return [
        -1 if end == OPEN else max(0, end - begin)
        for begin, end in zip(columns.invoked.tolist(), columns.completed.tolist(), strict=True)
    ]


def _keys(columns: Columns) -> tuple[list[str], list[int | list[int]]]:
    """The names of all keys, those inside of transactions included, and the codes of each row."""
    texts: dict[str, int] = {}

    def code(value: Any) -> int:
        return -1 if value is None else texts.setdefault(_text(value, _CLIP), len(texts))

    by_column = [code(value) for value in columns.keys]
    codes: list[int | list[int]] = [by_column[place] for place in columns.key.tolist()]
    for row, value in enumerate(columns.input):
        if codes[row] == -1 and _is_transaction(value):
            codes[row] = sorted({code(micro[1]) for micro in value} - {-1})
    return list(texts), codes


def _values(columns: Columns, values: Sequence[Any], lit: set[int]) -> list[int | str | None]:
    everything = len(columns) <= MOST_VALUES
    return [
        _value(value, _CLIP_LIT if row in lit else _CLIP) if everything or row in lit else None
        for row, value in enumerate(values)
    ]


def _value(value: Any, limit: int) -> int | str | None:
    if value is None:
        return None
    if type(value) is int and abs(value) < 2**53:
        return value
    if _is_transaction(value):
        return _clipped(" · ".join(_micro_operation(micro) for micro in value), limit)
    return _clipped(json.dumps(value, ensure_ascii=False, default=str), limit)


def _is_transaction(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and bool(value)
        and all(
            isinstance(micro, list | tuple) and 2 <= len(micro) <= 3 and isinstance(micro[0], str)
            for micro in value
        )
    )


def _micro_operation(micro: Sequence[Any]) -> str:
    kind, key, value = str(micro[0]), _text(micro[1], 40), micro[2] if len(micro) > 2 else None
    if value is None:
        return f"{kind} {key}"
    arrow = "→ " if kind in ("r", "read") else ""
    return f"{kind} {key} {arrow}{json.dumps(value, ensure_ascii=False, default=str)}"


def _text(value: Any, limit: int) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return _clipped(text, limit)


def _clipped(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _conflict(conflict: Conflict, rows: dict[int, int]) -> dict[str, Any]:
    known = [rows[index] for index in conflict.operations if index in rows]
    return {
        "checker": conflict.checker,
        "name": conflict.name,
        "sentence": conflict.sentence,
        "rows": list(dict.fromkeys(known)),
        "missing": len(conflict.operations) - len(known),
        "edges": [
            [rows[edge.source], rows[edge.target], edge.kind, edge.label]
            for edge in conflict.edges
            if edge.source in rows and edge.target in rows
        ],
    }


def _fault(band: Band, start_ns: int) -> dict[str, Any]:
    return {
        "fault": band.fault,
        "plane": band.plane,
        "kind": band.kind,
        "targets": list(band.targets),
        "from": band.from_ns - start_ns,
        "until": None if band.until_ns is None else band.until_ns - start_ns,
        "landed": band.landed,
        "healFailed": band.heal_failed,
        "signals": list(band.signals),
    }
