"""Jepsen's events: checks them, joins them process by process, and makes a history of them."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field, replace
from itertools import compress
from typing import Any

from refute.history.columns import OPEN, PHASES
from refute.history.fault import FaultEvent
from refute.history.formats import edn
from refute.history.formats.event_columns import (
    ENDS,
    EVENT_TYPES,
    NEMESIS,
    NO_TIME,
    STARTS,
    TIMES_FROM,
    EventColumns,
    turns_of,
)
from refute.history.formats.nemesis import Nemesis
from refute.history.history import History
from refute.history.operation import Phase
from refute.history.pairing import COMPLETIONS, Coded, Pairing

_READS = frozenset({"read", "r", "get"})
_PROCESS_TYPES = (int, str, type(None))
_FINAL = PHASES.index(Phase.FINAL)


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
        if time is not None:
            _check_time(time)
        if process == NEMESIS:
            self.nemesis.add(name, value, line if time is None or time == NO_TIME else time)
            return
        opened, closed = self.pairing.invocations, self.pairing.completions
        if type(process) not in _PROCESS_TYPES:
            raise ValueError(f"process must be an integer or a name, not {process!r:.40}")
        if time is None or time == NO_TIME:
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
            closed.error[len(closed.identity)] = _told(error)
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
            closed.error[len(closed.identity)] = _told(error)
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
        if not isinstance(kind, str) or kind not in EVENT_TYPES:
            raise ValueError(f"type must be invoke, ok, fail or info, not {kind!r:.40}")
        process = record.get("process")
        start = next((record[name] for name in STARTS if isinstance(record.get(name), int)), None)
        end = next((record[name] for name in ENDS if isinstance(record.get(name), int)), None)
        if start is not None and kind != "invoke" and process != NEMESIS:
            _check_time(start)
            _check_time(start if end is None else end)
            if type(process) not in _PROCESS_TYPES:
                raise ValueError(f"process must be an integer or a name, not {process!r:.40}")
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

    def add_columns(self, events: EventColumns) -> bool:
        """Takes all of these events, or none where a process does not invoke and complete by turns."""
        if NEMESIS in events.process:
            clients = [place for place, process in enumerate(events.process) if process != NEMESIS]
            taken = self.add_columns(events.at(clients))
            if taken:
                self._add_nemesis(events)
            return taken
        turns = None if self.completed_only else turns_of(events, self.open)
        if turns is None:
            return False
        import numpy as np

        opened, closed = self.pairing.invocations, self.pairing.completions
        time, line = np.array(events.time, dtype=np.int64), np.array(events.line, dtype=np.int64)
        self.untimed |= NO_TIME in events.time
        rows = len(opened.identity) + np.cumsum(turns.opens) - 1
        within = turns.invocation >= 0
        rows[within] = rows[turns.invocation[within]]
        rows[turns.before >= 0] = turns.before[turns.before >= 0]
        for place in turns.last.tolist():
            if turns.opens[place]:
                self.open[events.process[place]] = int(rows[place])
            else:
                self.open.pop(events.process[place], None)

        opens, closes = turns.opens.tolist(), (~turns.opens).tolist()
        opened.identity.frombytes(rows[turns.opens].tobytes())
        opened.line.frombytes(line[turns.opens].tobytes())
        opened.process.extend(list(compress(events.process, opens)))
        asked = list(compress(events.value, opens))
        calls = list(compress(events.name, opens))
        opened.kind.extend(list(map(_kind, calls, asked)) if None in calls else calls)
        opened.input += asked
        opened.time.frombytes(time[turns.opens].tobytes())
        errors = enumerate(compress(events.error, closes), len(closed.identity))
        closed.error.update((place, _told(error)) for place, error in errors if error is not None)
        closed.identity.frombytes(rows[~turns.opens].tobytes())
        closed.line.frombytes(line[~turns.opens].tobytes())
        closed.outcome.extend(map(COMPLETIONS.__getitem__, compress(events.kind, closes)))
        closed.output.extend(compress(events.value, closes))
        closed.time.frombytes(time[~turns.opens].tobytes())
        return True

    def _add_nemesis(self, events: EventColumns) -> None:
        rows = zip(events.process, events.name, events.value, events.time, events.line, strict=True)
        for process, name, value, time, line in rows:
            if process == NEMESIS:
                self.nemesis.add(name, value, line if time == NO_TIME else time)

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


def _check_time(time: Any) -> None:
    if type(time) is not int or not TIMES_FROM <= time < OPEN:
        raise ValueError(f"time must be an integer of 64 bits, not {time!r:.40}")


def _told(error: Any) -> str:
    return error if isinstance(error, str) else edn.dumps(error)


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
    asked = opened.input
    if set(map(type, asked)) == {list} and set(map(len, asked)) == {2}:
        reading = [kind in _READS for kind in opened.kind.table.values_seen]
        reads = [value[1] for kind, value in zip(opened.kind.codes, asked, strict=True) if reading[kind]]
        if reads and reads.count(None) == len(reads):
            keys = [value[0] for value in asked]
            opened.key.extend(keys)
            opened.input = [value[1] for value in asked]
            closed.output = [
                value[1] if type(value) is list and len(value) == 2 and value[0] == keys[row] else value
                for row, value in zip(closed.identity, closed.output, strict=True)
            ]
            return
    opened.key.extend([None] * len(asked))
