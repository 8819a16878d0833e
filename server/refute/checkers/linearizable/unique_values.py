"""Queues, stacks and priority queues through which every value passes once: decided without a search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from refute.checkers.linearizable.container_words import container_anomaly, crowded_anomaly
from refute.checkers.linearizable.containers import PriorityQueue, Queue, Stack
from refute.checkers.linearizable.fifo import forbidden
from refute.checkers.linearizable.fifo_columns import decide as decide_fifo
from refute.checkers.linearizable.least_first import queue_cores
from refute.checkers.linearizable.lifo import stack_cores
from refute.checkers.linearizable.passages import Forbidden, Paired, Sweep, paired, passages
from refute.checkers.linearizable.prepare import objects
from refute.checkers.linearizable.search import Timed
from refute.checkers.linearizable.unseen_takes import Decision, decide
from refute.checkers.minimal import SHRINK, minimise
from refute.checkers.result import Anomaly
from refute.checkers.spending import BudgetSpentError, Meter
from refute.history import History, Operation, hashable
from refute.history.columns import FAIL

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ASSUMPTION = "the values put into a {} differ, so each take names its put"
_SWEEPS: dict[type[Queue], Sweep] = {Stack: stack_cores, PriorityQueue: queue_cores}
ALGORITHMS: dict[type[Queue], str] = {Queue: "patterns", Stack: "nesting", PriorityQueue: "order of values"}
"""How each of them is decided where its values differ."""


def by_values(
    history: History, model: Queue, rows: NDArray[np.int64], meter: Meter
) -> tuple[NDArray[np.int64], Anomaly | None]:
    """The rows of the containers that remain to be searched, and the anomaly of one that is wrong."""
    import numpy as np

    keys = history.columns.key[rows]
    order = np.argsort(keys, kind="stable")
    left = []
    for part in np.split(rows[order], np.nonzero(np.diff(keys[order]))[0] + 1):
        if not len(part):
            continue
        plain = decide_fifo(history, model, part) if type(model) is Queue else None
        if plain is True:
            continue
        answer = _one(history, model, part, meter) if plain is False or type(model) is not Queue else False
        if isinstance(answer, Anomaly):
            return part, answer
        if not answer:
            left.append(part)
    return np.sort(np.concatenate(left)) if left else rows[:0], None


def _one(history: History, model: Queue, rows: NDArray[np.int64], meter: Meter) -> Anomaly | bool:
    """The anomaly of one container; True where it is linearizable, False where that is not decided here."""
    ((_, calls),) = objects(history, model, rows)
    found = forbidden(calls) if type(model) is Queue else paired(calls)
    if isinstance(found, Forbidden):
        return container_anomaly(history, found, _failed_puts(history, model, found.calls[0]))
    if found is None:
        return False
    found = _by_size(found) if type(model) is PriorityQueue else found
    if found is None:
        return False
    sweep = _SWEEPS[type(model)]
    decision = _decided(found, sweep, meter)
    if decision is None or decision.valid:
        return decision is not None
    proof = _smallest(found, decision, sweep, meter)
    return crowded_anomaly(history, model.name, proof)


def _by_size(found: Paired) -> Paired | None:
    """From the smallest value to the greatest; None where they have no order."""
    try:
        values = sorted(found.values, key=lambda pair: pair[0].call.input)
    except TypeError:
        return None
    return Paired(values, found.lost, found.empties)


def _decided(found: Paired, sweep: Sweep, meter: Meter) -> Decision | None:
    import numpy as np

    lost = np.sort(np.array([take.start for take in found.lost], dtype=np.int64))
    return decide(passages(found), sweep, lost, meter.check)


def _smallest(found: Paired, decision: Decision, sweep: Sweep, meter: Meter) -> Paired:
    """The values of a decision that have no order together, with the takes that are too few for them."""
    values = sorted({value for core in decision.cores for value in core.values})
    empties = sorted({empty for core in decision.cores for empty in core.empties})
    lost = sorted(found.lost, key=lambda take: take.start)[: decision.takes]
    items = [*(("value", one) for one in values), *(("empty", one) for one in empties)]

    def kept(some: Any) -> Paired:
        return Paired(
            [found.values[one] for kind, one in some if kind == "value"],
            lost,
            [found.empties[one] for kind, one in some if kind == "empty"],
        )

    def fails(some: Any) -> bool:
        try:
            decided = _decided(kept(some), sweep, meter)
        except BudgetSpentError:
            return False
        return decided is not None and not decided.valid

    return kept(minimise(items, fails, SHRINK))


def _failed_puts(history: History, model: Queue, take: Timed) -> list[Operation]:
    """The failed operations that would have put what this one took."""
    columns = history.columns
    failed = (columns.outcome == FAIL) & (columns.key == columns.key[take.row])
    found = (history.operations[row] for row in failed.nonzero()[0].tolist())
    return [
        operation
        for operation in found
        if model.kinds.get(operation.kind) == "put" and hashable(operation.input) == take.call.output
    ]
