"""Histories as Jepsen, Knossos, Elle and Maelstrom write them, in EDN or JSON."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from refute.history.columns import PHASES
from refute.history.error import HistoryError
from refute.history.fault import FaultEvent
from refute.history.formats import edn
from refute.history.formats.edn_shapes import ENDS, NEMESIS, STARTS, Shapes
from refute.history.formats.nemesis import Nemesis
from refute.history.history import History
from refute.history.operation import Phase
from refute.history.pairing import COMPLETIONS, Coded, OnBadLine, Pairing
from refute.history.text_source import Chunk, chunks

_READS = frozenset({"read", "r", "get"})
NO_TIME = -1  # what histories that were made and not recorded have for a time
_FINAL = PHASES.index(Phase.FINAL)
_TYPES = frozenset({"invoke", *COMPLETIONS})


@dataclass(slots=True)
class Events:
    """Takes Jepsen's events one by one and joins them, process by process."""

    pairing: Pairing
    open: dict[Any, int] = field(default_factory=dict)
    nemesis: Nemesis = field(default_factory=Nemesis)
    untimed: bool = False
    completed_only: bool = False

    def add(self, kind: Any, process: Any, name: Any, value: Any, time: Any, error: Any, line: int) -> None:
        """One event. Raises ValueError for one that makes no sense."""
        if process == NEMESIS:
            self.nemesis.add(name, value, line if type(time) is not int or time == NO_TIME else time)
            return
        opened, closed = self.pairing.invocations, self.pairing.completions
        if type(time) is not int or time == NO_TIME:
            if time is not None and time != NO_TIME:
                raise ValueError(f"time must be an integer, not {time!r}")
            self.untimed = True
            time = line
        if kind == "invoke":
            self.open[process] = len(opened.identity)  # two in flight are found when all are known
            opened.identity.append(len(opened.identity))
            opened.line.append(line)
            opened.process.append(process)
            opened.kind.append(_kind(name, value))
            opened.input.append(value)
            opened.time.append(time)
            return
        outcome = COMPLETIONS[kind]
        row = self.open.pop(process, -1)
        if row < 0:
            if opened.identity and not self.completed_only:
                raise ValueError(f"unmatched completion: process {process!r} has nothing in flight")
            self.completed_only = True
            self._whole(process, name, value, None, time, outcome, error, line)
            return
        if error is not None:
            closed.error[len(closed.identity)] = error if isinstance(error, str) else edn.dumps(error)
        closed.identity.append(row)
        closed.line.append(line)
        closed.outcome.append(outcome)
        closed.output.append(value)
        closed.time.append(time)

    def _whole(
        self,
        process: Any,
        name: Any,
        value: Any,
        start: int | None,
        end: int,
        outcome: int,
        error: Any,
        line: int,
    ) -> None:
        """An operation whose invocation and completion stand in one record."""
        opened, closed = self.pairing.invocations, self.pairing.completions
        row = len(opened.identity)
        kind = _kind(name, value)
        opened.identity.append(row)
        opened.line.append(2 * line)
        opened.process.append(process)
        opened.kind.append(kind)
        opened.input.append(_asked(kind, value))
        opened.time.append(end if start is None else start)
        if error is not None:
            closed.error[len(closed.identity)] = error if isinstance(error, str) else edn.dumps(error)
        closed.identity.append(row)
        closed.line.append(2 * line + 1)
        closed.outcome.append(outcome)
        closed.output.append(value)
        closed.time.append(end)

    def add_record(self, record: Any, line: int) -> None:
        """One event, or one completed operation, from a map. Raises ValueError."""
        if not isinstance(record, dict):
            raise ValueError(f"expected a map, found {type(record).__name__}")
        first, last = (
            record.get("invoke", record.get("invocation")),
            record.get("completion", record.get("complete")),
        )
        if isinstance(first, dict):
            self.add_record(first, line)
            if isinstance(last, dict):
                self.add_record(last, line)
            return
        kind = record.get("type")
        if kind not in _TYPES:
            raise ValueError(f"type must be invoke, ok, fail or info, not {kind!r}")
        process = record.get("process")
        start = next((record[name] for name in STARTS if isinstance(record.get(name), int)), None)
        end = next((record[name] for name in ENDS if isinstance(record.get(name), int)), None)
        if start is not None and kind != "invoke" and process != NEMESIS:
            self.completed_only = True
            outcome, error = COMPLETIONS[kind], record.get("error")
            value, name = record.get("value"), record.get("f")
            self._whole(process, name, value, start, start if end is None else end, outcome, error, line)
            return
        rows = len(self.pairing.invocations.identity)
        self.add(
            kind, process, record.get("f"), record.get("value"), record.get("time"), record.get("error"), line
        )
        if record.get("final?") is True and len(self.pairing.invocations.identity) > rows:
            self.pairing.invocations.phase[rows] = _FINAL

    def history(self) -> History:
        """The history of all that was added."""
        pairing = self.pairing
        if self.nemesis.count:
            pairing.notes.append(f"{self.nemesis.count} nemesis events are kept as faults, not as operations")
        opened, closed = pairing.invocations, pairing.completions
        if self.untimed:
            pairing.clock = "index"
            opened.time = opened.line[:]
            closed.time = closed.line[:]
            if self.completed_only:
                pairing.clock = "wall"
                pairing.notes.append("no invocation is recorded, so nothing is known of real time")
        _name_the_nameless(pairing)
        _split_tuples(pairing)
        faults = tuple(self.nemesis.events)
        _number_epochs(pairing, faults)
        return replace(pairing.history(), faults=faults)


def _number_epochs(pairing: Pairing, faults: tuple[FaultEvent, ...]) -> None:
    """Tells each operation how often the set of faults had changed when it was invoked."""
    if faults and pairing.clock == "monotonic":
        changes = [event.time_ns for event in faults]
        epochs = (bisect_right(changes, time) for time in pairing.invocations.time)
        pairing.invocations.epoch.update((row, epoch) for row, epoch in enumerate(epochs) if epoch)


def _kind(name: Any, value: Any) -> str:
    if isinstance(name, str):
        return name
    if name is None and isinstance(value, list) and all(isinstance(micro, list) for micro in value):
        return "txn"
    return edn.dumps(name)


def _asked(kind: str, value: Any) -> Any:
    """What was asked, told from what came back: a read asks with nothing."""
    if kind in _READS:
        return None
    if kind == "txn" and isinstance(value, list):
        return [
            [micro[0], micro[1], None]
            if isinstance(micro, list) and len(micro) == 3 and micro[0] == "r"
            else micro
            for micro in value
        ]
    return value


def _name_the_nameless(pairing: Pairing) -> None:
    """Gives every operation without a process one of its own."""
    process = pairing.invocations.process
    if None not in process.table:
        return
    pairing.notes.append("operations without a process count as one each")
    nobody, seen = process.table[None], process.table.values_seen
    named = [f"p{row}" if code == nobody else seen[code] for row, code in enumerate(process.codes)]
    pairing.invocations.process = Coded()
    pairing.invocations.process.extend(named)


def _split_tuples(pairing: Pairing) -> None:
    """Takes `[key value]` apart where every operation is of that form and reads ask with `[key nil]`."""
    opened, closed = pairing.invocations, pairing.completions
    reads = False
    reading = [kind in _READS for kind in opened.kind.table.values_seen]
    for kind, value in zip(opened.kind.codes, opened.input, strict=True):
        if type(value) is not list or len(value) != 2:
            break
        if reading[kind]:
            if value[1] is not None:
                break
            reads = True
    else:
        if reads:
            keys = [value[0] for value in opened.input]
            opened.key.extend(keys)
            opened.input = [value[1] for value in opened.input]
            for place, row in enumerate(closed.identity):
                value = closed.output[place]
                if type(value) is list and len(value) == 2 and value[0] == keys[row]:
                    closed.output[place] = value[1]
            return
    opened.key.extend([None] * len(opened.identity))


def read_edn(path: str | os.PathLike[str], *, on_bad_line: OnBadLine = "error") -> History:
    """A Jepsen history in EDN: a map a line, or one vector of maps."""
    events = Events(Pairing(str(path), on_bad_line))
    shapes = Shapes()
    for chunk in chunks(path):
        if chunk.first == 1 and chunk.lines[0].lstrip()[:1] in (b"[", b"("):
            return _whole_file(path, events, lambda text: edn.loads(text.decode()))
        _each_line(chunk, events, lambda line: edn.loads(line.decode()), shapes)
    return events.history()


def read_json(path: str | os.PathLike[str], *, on_bad_line: OnBadLine = "error") -> History:
    """A Jepsen history in JSON: an object a line, or one array of objects."""
    events = Events(Pairing(str(path), on_bad_line))
    for chunk in chunks(path):
        if chunk.first == 1 and chunk.lines[0].lstrip()[:1] == b"[":
            return _whole_file(path, events, orjson.loads)
        _each_line(chunk, events, orjson.loads)
    return events.history()


def _add_sheet(rows: Iterator[tuple[int, tuple[bytes, ...]]], shapes: Shapes, events: Events) -> int:
    """Adds events from what is left of `rows`; the number of the first line that is not plain, or 0.

    This is `Events.add`, unrolled: most of the time of reading a long history is spent here.
    """
    values, names = shapes.values, shapes.names
    opened, closed, running = events.pairing.invocations, events.pairing.completions, events.open
    process_code, kind_code = opened.process.table, opened.kind.table
    for number, (kind, name, who, text, when) in rows:
        if not kind:
            return number
        try:
            process, value, time = values[who], _value(text, values), int(when)
        except edn.EdnError:
            return number
        if process == NEMESIS or time == NO_TIME or (kind == b"invoke") is (process in running):
            return number
        if kind == b"invoke":
            row = running[process] = len(opened.identity)
            opened.identity.append(row)
            opened.line.append(number)
            opened.process.codes.append(process_code[process])
            opened.kind.codes.append(kind_code[names[name]])
            opened.input.append(value)
            opened.time.append(time)
        else:
            closed.identity.append(running.pop(process))
            closed.line.append(number)
            closed.outcome.append(COMPLETIONS[names[kind]])
            closed.output.append(value)
            closed.time.append(time)
    return 0


def _value(text: bytes, values: edn.Values) -> Any:
    """A value by its text; numbers, and pairs that end with one, without a look into the table."""
    if text.isdigit():
        return int(text)
    if text[:1] == b"[":
        key, _, rest = text[1:-1].partition(b" ")
        if rest.isdigit():
            return [values[key], int(rest)]
        if rest == b"nil":
            return [values[key], None]
    return values[text]


def _add_shaped(chunk: Chunk, start: int, shapes: Shapes, events: Events) -> int:
    """Adds events from line `start` on by their shapes; the number of the first that is not plain, or 0."""
    lines = chunk.lines
    for number in range(start, chunk.first + len(lines)):
        line = lines[number - chunk.first]
        for fits, places in shapes.shapes:
            match = fits(line)
            if match is not None and places[4]:
                rows = iter([(number, match.group(*places))])
                if _add_sheet(rows, shapes, events):
                    return number
                break
        else:
            return number
    return 0


def _each_line(
    chunk: Chunk, events: Events, parse: Callable[[bytes], Any], shapes: Shapes | None = None
) -> None:
    last = chunk.first + len(chunk.lines) - 1
    number = chunk.first
    sheet = None if shapes is None else shapes.sheet(chunk.lines)
    rows = None if sheet is None else enumerate(sheet, chunk.first)
    while number <= last:
        line = chunk.lines[number - chunk.first]
        try:
            if shapes is not None:
                if rows is None:
                    number = _add_shaped(chunk, number, shapes, events)
                else:
                    number = _add_sheet(rows, shapes, events)
                if not number:
                    return
                line = chunk.lines[number - chunk.first]
                shapes.learn(line)
            if line.strip() and line.lstrip()[:1] != b";":
                _add_parsed(line, number, events, parse)
        except (edn.EdnError, orjson.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
            if chunk.unended and number == last and number > 1:
                events.pairing.dropped_partial_line = True
                events.pairing.notes.append(f"line {number} was cut off and is left out")
            else:
                events.pairing.complain(f"cannot be read: {error}", number)
        number += 1


def _add_parsed(line: bytes, number: int, events: Events, parse: Callable[[bytes], Any]) -> None:
    record = parse(line)
    try:
        events.add_record(record, number)
    except ValueError as error:
        events.pairing.complain(str(error), number)


def _whole_file(path: str | os.PathLike[str], events: Events, parse: Callable[[bytes], Any]) -> History:
    lines = [line for chunk in chunks(path) for line in chunk.lines]
    try:
        records = parse(b"\n".join(lines))
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise HistoryError(f"cannot be read: {error}", where=f"{path}:{line}") from None
    if not isinstance(records, list):
        raise HistoryError("expected a list of operations", where=str(path))
    number = 0
    numbers = _starts(lines)
    for record in records:
        number = next(numbers, number + 1)
        try:
            events.add_record(record, number)
        except ValueError as error:
            events.pairing.complain(str(error), number)
    return events.history()


def _starts(lines: Iterable[bytes]) -> Iterator[int]:
    """The lines on which a record begins, where there is one a line."""
    return (number for number, line in enumerate(lines, 1) if b"{" in line)
