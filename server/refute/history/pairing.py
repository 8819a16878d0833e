"""Joins invocations with their completions and lays the operations out as columns."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from refute.history.columns import FAIL, INFO, OK, OPEN, Codes, Columns, OperationTable
from refute.history.error import HistoryError
from refute.history.history import Completeness, History
from refute.history.text_source import Chunk

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OnBadLine = Literal["error", "count"]
COMPLETIONS: Mapping[str, int] = {"ok": OK, "fail": FAIL, "info": INFO}


class Coded:
    """A column of few distinct values, kept as codes."""

    __slots__ = ("codes", "table")

    def __init__(self) -> None:
        self.codes = array("i")
        self.table = Codes()

    def append(self, value: Any) -> None:
        """Adds one value."""
        self.codes.append(self.table.of(value))

    def extend(self, values: Sequence[Any]) -> None:
        """Adds many values."""
        self.codes.extend(self.table.encode(values))

    def pad(self, size: int) -> NDArray[np.int32]:
        """The codes, with -1 for what was never given, up to that size."""
        import numpy as np

        codes = np.full(size, -1, dtype=np.int32)
        codes[: len(self.codes)] = np.frombuffer(self.codes, dtype=np.int32)
        return codes


def _integers() -> array[int]:
    return array("q")


@dataclass(slots=True)
class Invocations:
    """Columns of the events that open operations, in file order; `node` may be shorter than the rest."""

    identity: array[int] = field(default_factory=_integers)
    line: array[int] = field(default_factory=_integers)
    process: Coded = field(default_factory=Coded)
    kind: Coded = field(default_factory=Coded)
    key: Coded = field(default_factory=Coded)
    input: list[Any] = field(default_factory=list)
    time: array[int] = field(default_factory=_integers)
    node: Coded = field(default_factory=Coded)
    epoch: dict[int, int] = field(default_factory=dict)
    phase: dict[int, int] = field(default_factory=dict)
    extra: dict[int, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(slots=True)
class Completions:
    """Columns of the events that close operations, in file order; `outcome` is a code."""

    identity: array[int] = field(default_factory=_integers)
    line: array[int] = field(default_factory=_integers)
    outcome: bytearray = field(default_factory=bytearray)
    output: list[Any] = field(default_factory=list)
    time: array[int] = field(default_factory=_integers)
    error: dict[int, str] = field(default_factory=dict)
    extra: dict[int, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(slots=True)
class Pairing:
    """What a reader has seen so far, and the history that follows from it."""

    source: str
    on_bad_line: OnBadLine = "error"
    clock: Literal["monotonic", "wall", "index"] = "monotonic"
    invocations: Invocations = field(default_factory=Invocations)
    completions: Completions = field(default_factory=Completions)
    dropped_partial_line: bool = False
    bad: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def complain(self, what: str, line: int, hint: str | None = None) -> None:
        """Raises HistoryError at that line, or counts it where the caller asked to go on."""
        if self.on_bad_line == "error":
            raise HistoryError(what, where=f"{self.source}:{line}", hint=hint)
        self.bad[what.partition(":")[0]] += 1

    def unreadable(self, what: str, line: int, chunk: Chunk) -> None:
        """Complains of a line; one that was cut off at the end of the file is noted and left out."""
        if chunk.unended and line == chunk.first + len(chunk.lines) - 1 and line > 1:
            self.dropped_partial_line = True
            self.notes.append(f"line {line} was cut off and is left out")
        else:
            self.complain(what, line)

    def history(self) -> History:
        """The history: operations sorted by invocation, the open ones `info`. O(n log n).

        Raises HistoryError for a duplicate id, an unmatched completion, a completion that precedes
        its invocation, or two operations of one process in flight at once.
        """
        import numpy as np

        opened, closed = self.invocations, self.completions
        size = len(opened.identity)
        ids = _array(opened.identity)
        order = np.argsort(ids, kind="stable")
        ranked = ids[order]
        alive = np.ones(size, dtype=bool)
        for twin in np.nonzero(ranked[1:] == ranked[:-1])[0].tolist():
            row = int(order[twin + 1])
            self.complain(
                f"duplicate id: operation {opened.identity[row]} was invoked before", opened.line[row]
            )
            alive[row] = False
        if not alive.all():
            order = order[alive[order]]
            ranked = ids[order]

        closing, lines, opening = _array(closed.identity), _array(closed.line), _array(opened.line)
        place = np.searchsorted(ranked, closing)
        place[place == len(ranked)] = 0
        matched = ranked[place] == closing if len(ranked) else np.zeros(len(closing), dtype=bool)
        target = order[place] if len(ranked) else place
        if len(ranked):
            matched &= opening[target] < lines
        for row in np.nonzero(~matched)[0].tolist():
            self.complain(
                f"unmatched completion: operation {closed.identity[row]} was not invoked before",
                closed.line[row],
                "an invoke event with the same id must stand above it",
            )
        rows = np.nonzero(matched)[0]
        completion = np.full(size, -1, dtype=np.int64)
        completion[target[rows][::-1]] = rows[::-1]
        if len(rows) and np.bincount(target[rows]).max() > 1:
            for row in rows.tolist():
                if completion[target[row]] != row:
                    self.complain(
                        f"completed twice: operation {closed.identity[row]} has a completion already",
                        closed.line[row],
                    )

        open_rows = completion < 0
        process = opened.process.pad(size)
        self._one_at_a_time(process, opening, completion, lines, alive)

        times = _array(opened.time)
        finished = np.full(size, OPEN, dtype=np.int64)
        finished[~open_rows] = _array(closed.time)[completion[~open_rows]]
        for row in np.nonzero(alive & (finished < times))[0].tolist():
            self.complain(
                f"time runs backwards: operation {opened.identity[row]} completed at {finished[row]} ns, "
                f"before its invocation at {times[row]} ns",
                closed.line[int(completion[row])],
            )
            finished[row] = OPEN
            open_rows[row] = True
        outcome = np.full(size, INFO, dtype=np.int8)
        outcome[~open_rows] = np.frombuffer(closed.outcome, dtype=np.int8)[completion[~open_rows]]

        keep = np.nonzero(alive)[0]
        keep = keep[np.argsort(times[keep], kind="stable")]
        columns = self._columns(keep, process, times, finished, outcome, completion, open_rows)
        count = int(open_rows[keep].sum())
        return History(
            OperationTable(columns),
            completeness=Completeness(
                open_operations=count,
                dropped_partial_line=self.dropped_partial_line,
                unreadable_lines=sum(self.bad.values()),
                notes=(*self.notes, *(f"{number} × {what}" for what, number in sorted(self.bad.items()))),
            ),
            clock=self.clock,
            source=self.source,
        )

    def _one_at_a_time(self, process: Any, opening: Any, completion: Any, lines: Any, alive: Any) -> None:
        import numpy as np

        closing = np.full(len(process), OPEN, dtype=np.int64)
        closing[completion >= 0] = lines[completion[completion >= 0]]
        rows = np.lexsort((opening, process))
        rows = rows[alive[rows]]
        clash = (process[rows[1:]] == process[rows[:-1]]) & (closing[rows[:-1]] > opening[rows[1:]])
        for place in np.nonzero(clash)[0].tolist():
            first, second = int(rows[place]), int(rows[place + 1])
            opened = self.invocations
            name = opened.process.table.values_seen[process[second]]
            self.complain(
                f"two operations in flight: process {name!r} invoked "
                f"{opened.identity[second]} while its operation of line {opened.line[first]} was open",
                opened.line[second],
                "a process has one operation in flight: complete the first one, or use another process",
            )

    def _extra(self, completion: Any) -> Mapping[int, Mapping[str, Any]]:
        """The further fields of each operation: those of its invocation and those that came back."""
        sent, learned = self.invocations.extra, self.completions.extra
        if not learned:
            return sent
        merged = dict(sent)
        for row, answer in enumerate(completion.tolist()):
            if answer in learned:
                merged[row] = {**sent.get(row, {}), **learned[answer]}
        return merged

    def _columns(
        self,
        keep: Any,
        process: Any,
        times: Any,
        finished: Any,
        outcome: Any,
        completion: Any,
        open_rows: Any,
    ) -> Columns:
        import numpy as np

        opened, closed = self.invocations, self.completions
        size = len(keep)
        errors = Codes()
        if not opened.key.codes:
            opened.key.extend([None] * len(times))
        epoch = np.zeros(len(times), dtype=np.int32)
        phase = np.ones(len(times), dtype=np.int8)
        error = np.full(len(times), -1, dtype=np.int32)
        if opened.epoch:
            epoch[list(opened.epoch)] = list(opened.epoch.values())
        if opened.phase:
            phase[list(opened.phase)] = list(opened.phase.values())
        if closed.error:
            coded = np.full(len(closed.identity), -1, dtype=np.int32)
            coded[list(closed.error)] = errors.encode(list(closed.error.values()))
            error[~open_rows] = coded[completion[~open_rows]]
        answers = completion[keep]
        answers[open_rows[keep]] = -1
        extra: Mapping[int, Mapping[str, Any]] = self._extra(completion)
        if extra:
            position = np.empty(len(times), dtype=np.int64)
            position[keep] = np.arange(size)
            alive = set(keep.tolist()) if size != len(times) else None
            extra = {
                int(position[row]): value for row, value in extra.items() if alive is None or row in alive
            }
        return Columns(
            process=process[keep],
            processes=opened.process.table.values_seen,
            kind=opened.kind.pad(len(times))[keep],
            kinds=opened.kind.table.values_seen,
            key=opened.key.pad(len(times))[keep],
            keys=opened.key.table.values_seen,
            input=_taken(opened.input, keep),
            output=_taken(closed.output, answers),
            outcome=outcome[keep],
            invoked=times[keep],
            completed=finished[keep],
            error=error[keep],
            errors=errors.values_seen,
            node=opened.node.pad(len(times))[keep],
            nodes=opened.node.table.values_seen,
            epoch=epoch[keep],
            phase=phase[keep],
            extra=extra,
        )


def _array(column: array[int]) -> NDArray[np.int64]:
    import numpy as np

    return np.frombuffer(column, dtype=np.int64) if column else np.zeros(0, dtype=np.int64)


def _taken(values: list[Any], rows: NDArray[np.int64]) -> list[Any]:
    """The values at those rows, None where a row is negative."""
    import numpy as np

    column = np.fromiter(values, dtype=object, count=len(values))
    if len(rows) and rows.min() < 0:
        column = np.append(column, np.array([None], dtype=object))
    return column[rows].tolist()  # type: ignore[no-any-return]
