"""Picks the operations of a history that a model consumes, object by object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from refute.checkers.linearizable.model import Model
from refute.checkers.linearizable.search import NEVER, Timed
from refute.history import History, Operation, Outcome
from refute.history.columns import FAIL, INFO, OK, OPEN, OUTCOMES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(slots=True)
class Tally:
    """What was consumed and what was passed over, in the words of a Result.

    `strange` are the kinds that the model does not know and that touched a key which it judges: they
    may have changed what it reads, so neither answer would be honest.
    """

    consumed: Counter[str] = field(default_factory=Counter)
    ignored: Counter[str] = field(default_factory=Counter)
    strange: list[str] = field(default_factory=list)


def tally(history: History, model: Model) -> tuple[Tally, NDArray[np.int64]]:
    """Counts, and the rows that the model consumes (failed operations are not among them)."""
    import numpy as np

    columns = history.columns
    known = np.array([kind in model.kinds for kind in columns.kinds], dtype=bool)
    consumed = known[columns.kind] if len(columns) else np.zeros(0, dtype=bool)
    counts = Tally()
    for code in np.unique(columns.kind[~consumed]).tolist():
        counts.ignored[f"kind {columns.kinds[code]!r} is not one of the {model.name} model's"] = int(
            (columns.kind == code).sum()
        )
    failed = consumed & (columns.outcome == FAIL)
    if failed.any():
        counts.ignored["failed: it has no effect"] = int(failed.sum())
    used = consumed & ~failed
    rows = np.nonzero(used)[0]
    touched = ~consumed & (columns.outcome != FAIL) & np.isin(columns.key, columns.key[rows])
    counts.strange = [columns.kinds[code] for code in np.unique(columns.kind[touched]).tolist()]
    counts.consumed["operations"] = len(rows)
    counts.consumed["ok"] = int((columns.outcome[rows] == OK).sum())
    counts.consumed["info"] = int((columns.outcome[rows] == INFO).sum())
    counts.consumed["keys"] = len(np.unique(columns.key[rows]))
    return counts, rows


def interval(columns: Any, rows: Any) -> tuple[Any, Any]:
    """Starts (even) and ends (odd) of those rows; what may happen at any later time ends at NEVER.

    An operation that is invoked in the nanosecond in which another completes overlaps it: clocks
    are not that exact, and to call it later would make up an order that nobody saw.
    """
    import numpy as np

    start = columns.invoked[rows] * 2
    end = np.full(len(rows), NEVER, dtype=np.int64)
    sure = (columns.outcome[rows] == OK) & (columns.completed[rows] != OPEN)
    end[sure] = columns.completed[rows][sure] * 2 + 1
    return start, end


def objects(history: History, model: Model, rows: Any) -> Iterator[tuple[Any, list[Timed]]]:
    """Each independent object's key and calls, in the order of the keys' first appearance."""
    columns = history.columns
    start, end = interval(columns, rows)
    parts: dict[int, list[Timed]] = {}
    keys = columns.key[rows].tolist() if model.by_key else [0] * len(rows)
    row_list, processes = rows.tolist(), columns.process[rows].tolist()
    kinds, kind_names, inputs, outputs = columns.kind, columns.kinds, columns.input, columns.output
    outcomes = columns.outcome
    for row, key, begin, finish, process in zip(
        row_list, keys, start.tolist(), end.tolist(), processes, strict=True
    ):
        outcome = OUTCOMES[outcomes[row]]
        call = model.call(
            Operation(
                row,
                columns.processes[process],
                kind_names[kinds[row]],
                columns.keys[columns.key[row]],
                inputs[row],
                outputs[row],
                Outcome.INFO if finish == NEVER else outcome,
                0,
                None,
                extra=columns.extra.get(row, _NOTHING),
            )
        )
        if call is not None:
            parts.setdefault(key, []).append(Timed(call, begin, finish, row))
    for key, calls in parts.items():
        for part in _independent(model, calls):
            yield (columns.keys[key] if model.by_key else None), part


def _independent(model: Model, calls: list[Timed]) -> Iterator[list[Timed]]:
    """The parts of an object that do not touch one another (the elements of a set, say)."""
    tell = model.split([timed.call for timed in calls])
    if tell is None:
        yield calls
        return
    parts: dict[Any, list[Timed]] = {}
    for timed in calls:
        parts.setdefault(tell(timed.call), []).append(timed)
    yield from parts.values()


_NOTHING: dict[str, Any] = {}
