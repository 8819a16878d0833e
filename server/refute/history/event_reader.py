"""Reads the event log that a run writes back into a history."""

from __future__ import annotations

import json
import os
from array import array
from typing import Any

import orjson

from refute.history import json_text
from refute.history.columns import OPEN, PHASES
from refute.history.error import HistoryError
from refute.history.history import History
from refute.history.pairing import COMPLETIONS, OnBadLine, Pairing
from refute.history.text_source import Chunk, chunks

_PHASE_CODES = {phase.value: code for code, phase in enumerate(PHASES)}
_PLAIN = {int, str, bool, type(None)}
_EVENTS = frozenset({"invoke", *COMPLETIONS})


def read_history(path: str | os.PathLike[str], *, on_bad_line: OnBadLine = "error") -> History:
    """The history of a `history.jsonl`.

    A last line that was cut off is dropped and reported in `completeness`; operations without a
    completion are `info`. Anywhere else a line that cannot be understood, an unmatched completion,
    a duplicate id or two operations of one process in flight raise HistoryError with `file:line`,
    or are counted in `completeness.unreadable_lines` with `on_bad_line="count"`.
    """
    pairing = Pairing(str(path), on_bad_line)
    headed = False
    for chunk in chunks(path):
        if not headed:
            headed = True
            chunk = _without_header(chunk, pairing)
        _add_chunk(chunk, pairing)
    if not headed:
        raise HistoryError("the file is empty", where=str(path))
    return pairing.history()


def _without_header(chunk: Chunk, pairing: Pairing) -> Chunk:
    try:
        header = orjson.loads(chunk.lines[0])
    except orjson.JSONDecodeError:
        header = None
    where = f"{pairing.source}:1"
    if not isinstance(header, dict) or header.get("refute") != "history":
        raise HistoryError(
            "this is not a history of refute: the header line is missing",
            where=where,
            hint='it starts with {"refute":"history","version":1,"clock":"monotonic"}',
        )
    if header.get("version") != 1:
        raise HistoryError(
            f"version {header.get('version')!r} of the history format is not known", where=where
        )
    clock = header.get("clock", "monotonic")
    if clock not in ("monotonic", "wall", "index"):
        raise HistoryError(f"unknown clock {clock!r}", where=where, hint="monotonic, wall or index")
    pairing.clock = clock
    return Chunk(chunk.first + 1, chunk.lines[1:], chunk.unended)


def _add_chunk(chunk: Chunk, pairing: Pairing) -> None:
    """A whole chunk at once; where anything is odd, line by line in order to name the line."""
    try:
        text = b"[" + b",".join(chunk.lines) + b"]"
        events = orjson.loads(text) if chunk.lines else []
        if len(events) == len(chunk.lines):
            values = {type(event.get(name)) for name in ("key", "input", "output") for event in events}
            if not values <= _PLAIN and json_text.has_long_integer(text):
                events = json.loads(text)
            _add_events(events, chunk.first, pairing)
            return
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError, ValueError):
        pass
    for number, line in enumerate(chunk.lines, chunk.first):
        if not line.strip():
            continue
        try:
            event = json_text.loads(line)
        except json.JSONDecodeError as error:
            pairing.unreadable(f"not JSON: {error}", number, chunk)
            continue
        try:
            _add_events([event], number, pairing)
        except KeyError as error:
            pairing.complain(f"missing field: {error.args[0]!r}", number)
        except (TypeError, AttributeError, ValueError) as error:
            pairing.complain(f"bad field: {error}", number)


def _of_type(values: list[Any], kinds: set[type], name: str) -> list[Any]:
    odd = set(map(type, values)) - kinds
    if odd:
        expected = " or ".join(sorted(kind.__name__ for kind in kinds))
        raise TypeError(f"{name} must be {expected}, not {odd.pop().__name__}")
    return values


def _integers(values: list[Any], name: str) -> list[Any]:
    """Integers that arrays of 64 bits can hold; the last one stands for what never ended."""
    _of_type(values, {int}, name)
    if values and not -OPEN < min(values) <= max(values) < OPEN:
        raise ValueError(f"{name} must be an integer of 64 bits")
    return values


def _add_events(events: list[Any], first: int, pairing: Pairing) -> None:
    """Adds events, all or none: everything is looked up before anything is kept."""
    names = [event["event"] for event in events]
    strange = set(names) - _EVENTS
    if strange:
        raise ValueError(f"event must be invoke, ok, fail or info, not {strange.pop()!r}")
    opening = [event for event in events if event["event"] == "invoke"]
    closing = [event for event in events if event["event"] != "invoke"]
    lines = range(first, first + len(events))
    ids = _integers([event["id"] for event in opening], "id")
    processes = _of_type([event["process"] for event in opening], {int, str}, "process")
    kinds = _of_type([event["kind"] for event in opening], {str}, "kind")
    times = _integers([event["time_ns"] for event in opening], "time_ns")
    done = _integers([event["id"] for event in closing], "id")
    done_times = _integers([event["time_ns"] for event in closing], "time_ns")
    opened, closed = pairing.invocations, pairing.completions
    row = len(opened.identity)
    epochs: dict[int, int] = {}
    phases: dict[int, int] = {}
    extras: dict[int, Any] = {}
    nodes = _of_type([event.get("node") for event in opening], {str, type(None)}, "node")
    for number, event in enumerate(opening, row):
        if "epoch" in event or "phase" in event or "extra" in event:
            _read_rare(event, number, epochs, phases, extras)
    errors = {
        number: str(event["error"])
        for number, event in enumerate(closing, len(closed.identity))
        if event.get("error") is not None
    }
    learned = {
        number: _of_type([event["extra"]], {dict}, "extra")[0]
        for number, event in enumerate(closing, len(closed.identity))
        if event.get("extra")
    }
    opened.identity.extend(ids)
    opened.process.extend(processes)
    opened.kind.extend(kinds)
    opened.time.extend(times)
    opened.key.extend([event.get("key") for event in opening])
    opened.input += [event.get("input") for event in opening]
    opened.line.extend(number for number, name in zip(lines, names, strict=True) if name == "invoke")
    if any(node is not None for node in nodes) or opened.node.codes:
        blank = array("i", [-1]) * (row - len(opened.node.codes))
        known = opened.node.table
        opened.node.codes.extend(blank)
        opened.node.codes.extend([-1 if node is None else known[node] for node in nodes])
    opened.epoch |= epochs
    opened.phase |= phases
    opened.extra |= extras
    closed.identity.extend(done)
    closed.time.extend(done_times)
    closed.outcome.extend(COMPLETIONS[event["event"]] for event in closing)
    closed.output += [event.get("output") for event in closing]
    closed.line.extend(number for number, name in zip(lines, names, strict=True) if name != "invoke")
    closed.error |= errors
    closed.extra |= learned


def _read_rare(
    event: dict[str, Any],
    row: int,
    epochs: dict[int, int],
    phases: dict[int, int],
    extras: dict[int, Any],
) -> None:
    if event.get("epoch"):
        epochs[row] = _of_type([event["epoch"]], {int}, "epoch")[0]
    phase = event.get("phase", "main")
    if phase not in _PHASE_CODES:
        raise ValueError(f"phase must be baseline, main or final, not {phase!r}")
    if phase != "main":
        phases[row] = _PHASE_CODES[phase]
    if event.get("extra"):
        extras[row] = _of_type([event["extra"]], {dict}, "extra")[0]
