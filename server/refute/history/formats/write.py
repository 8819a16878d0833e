"""Writes a history so that other tools can read it: our own event lines, and Jepsen's EDN."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from refute.history.error import HistoryError
from refute.history.events import HEADER
from refute.history.formats import edn
from refute.history.formats.jepsen import WALL_CLOCK
from refute.history.history import History
from refute.history.operation import Operation, Outcome, Phase


def _events(history: History) -> Iterator[tuple[int, bool, int, Operation]]:
    """Invocations and completions in the order of their times; at equal times invocations first.

    A process that completes and invokes in one nanosecond still does the one before the other.
    """
    events: list[tuple[int, int, int, Operation]] = []
    ends: dict[Any, int] = {}
    for place, operation in enumerate(history.operations):
        early = ends.get(operation.process) == operation.invoked_ns
        events.append((operation.invoked_ns, 2 if early else 0, place, operation))
        if operation.completed_ns is not None:
            ends[operation.process] = operation.completed_ns
            late = 3 if early and operation.completed_ns == operation.invoked_ns else 1
            events.append((operation.completed_ns, late, place, operation))
    events.sort(key=lambda event: event[:3])
    for time, order, place, operation in events:
        yield time, order in (0, 2), place, operation


def write_jsonl(history: History, path: str | os.PathLike[str]) -> None:
    """Writes the event log that `read_history` reads. Raises HistoryError where it cannot.

    A process goes on under another name after an operation that never completed: that one stays open.
    """
    left_open: Counter[Any] = Counter()

    def name(process: Any) -> Any:
        return f"{process}.{left_open[process]}" if left_open[process] else process

    def lines() -> Iterator[bytes]:
        yield orjson.dumps({**HEADER, "clock": history.clock}, option=orjson.OPT_APPEND_NEWLINE)
        options = orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS
        for time, opens, place, operation in _events(history):
            event: dict[str, Any]
            if opens:
                event = {
                    "event": "invoke",
                    "id": place,
                    "process": name(operation.process),
                    "kind": operation.kind,
                }
                event |= {"key": operation.key, "input": operation.input, "time_ns": time}
                event |= {"node": operation.node, "epoch": operation.epoch}
                if operation.phase is not Phase.MAIN:
                    event["phase"] = operation.phase.value
                if operation.extra:
                    event["extra"] = dict(operation.extra)
                left_open[operation.process] += operation.completed_ns is None
            else:
                event = {"event": operation.outcome.value, "id": place, "output": operation.output}
                event |= {"error": operation.error, "time_ns": time}
            yield orjson.dumps(event, option=options, default=list)

    _write(path, lines())


def write_edn(history: History, path: str | os.PathLike[str]) -> None:
    """Writes a Jepsen history, a map a line; a key goes with its value as `[key value]`.

    Where the times are of several clocks a comment says so. Jepsen gives a process whose operation is
    `info` up for good, so its later operations get a new number here. Raises HistoryError where the file
    cannot be written.
    """
    keyed = any(operation.key is not None for operation in history.operations)
    numbers: dict[Any, int] = {}

    def value(operation: Operation, plain: Any) -> str:
        if operation.kind == "txn" and isinstance(plain, (list, tuple)):
            return "[" + " ".join(_micro(micro) for micro in plain) + "]"
        return edn.dumps([operation.key, plain] if keyed else plain)

    def lines() -> Iterator[bytes]:
        if history.clock == "wall":
            yield WALL_CLOCK + b"\n"
        next_number = 0
        for index, (time, opens, _, operation) in enumerate(_events(history)):
            if operation.process not in numbers:
                numbers[operation.process] = next_number
                next_number += 1
            number = numbers[operation.process]
            if opens:
                kind, text = "invoke", value(operation, operation.input)
                if operation.completed_ns is None:
                    del numbers[operation.process]
            else:
                kind = operation.outcome.value
                answered = operation.outcome is Outcome.OK and operation.output is not None
                text = value(operation, operation.output if answered else operation.input)
                if operation.outcome is Outcome.INFO:
                    del numbers[operation.process]
            clock = f", :time {time}" if history.clock != "index" else ""
            error = f", :error {edn.dumps(operation.error)}" if not opens and operation.error else ""
            name = edn.dumps(operation.kind, keyword=True)
            fields = f":type :{kind}, :f {name}, :value {text}, :process {number}"
            yield f"{{{fields}{clock}{error}, :index {index}}}\n".encode()

    _write(path, lines())


def _micro(micro: Any) -> str:
    if isinstance(micro, (list, tuple)) and micro and isinstance(micro[0], str):
        name, *parts = micro
        return f"[{' '.join([edn.dumps(name, keyword=True), *map(edn.dumps, parts)])}]"
    return edn.dumps(micro)


def _write(path: str | os.PathLike[str], lines: Iterator[bytes]) -> None:
    try:
        with Path(path).open("wb") as file:
            file.writelines(lines)
    except OSError as error:
        raise HistoryError(f"cannot write: {error.strerror}", where=Path(path)) from None
