"""Registers: by zones where the values written differ, and what no write explains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from refute.checkers.linearizable.explain import order_anomaly, smallest, unexplained_anomaly
from refute.checkers.linearizable.prepare import interval
from refute.checkers.linearizable.registers import UNKNOWN, Register
from refute.checkers.linearizable.search import NEVER, Timed
from refute.checkers.linearizable.sources import Sources, produced
from refute.checkers.linearizable.zones import zones
from refute.checkers.result import Anomaly
from refute.history import History, Operation, hashable
from refute.history.columns import FAIL, OK

if TYPE_CHECKING:
    from numpy.typing import NDArray


def only_reads_and_writes(history: History, model: Register, rows: NDArray[Any]) -> bool:
    """Whether no call of these rows is a compare-and-set or an append: what zones can judge."""
    import numpy as np

    kinds = np.unique(history.columns.kind[rows]).tolist()
    return {model.kinds[history.columns.kinds[kind]] for kind in kinds} <= {"read", "write"}


def by_zones(
    history: History, model: Register, rows: NDArray[Any]
) -> tuple[tuple[int, ...] | None, tuple[int, ...]] | None:
    """The rows of a conflict (None: there is none) and the keys left out; None where zones do not apply."""
    import numpy as np

    columns = history.columns
    write_kind = np.array([model.kinds.get(kind) == "write" for kind in columns.kinds], dtype=bool)
    writes = write_kind[columns.kind[rows]]
    useful = writes | (columns.outcome[rows] == OK)
    rows, writes = rows[useful], writes[useful]
    if not len(rows):
        return None, ()
    inputs, outputs = columns.input, columns.output
    values = [
        inputs[row] if write else outputs[row]
        for row, write in zip(rows.tolist(), writes.tolist(), strict=True)
    ]
    coded, initial = _coded(values, model)
    start, end = interval(columns, rows)
    found = zones(columns.key[rows].astype(np.int64), coded, writes, start, end, initial)
    if found.conflict is None:
        return None, found.repeated
    return tuple(int(rows[place]) for place in found.conflict.rows), found.repeated


def _coded(values: list[Any], model: Register) -> tuple[NDArray[Any], int]:
    """Integers that are equal where the values are, and that of the initial value (-1: not known)."""
    import numpy as np

    if set(map(type, values)) == {int}:
        try:
            plain = np.array(values, dtype=np.int64)
        except OverflowError:
            plain = None
        if plain is not None and plain.min() > 0:
            if model.initial is UNKNOWN:
                return plain, -1
            if not isinstance(model.initial, int):
                return plain, 0
    codes: dict[Any, int] = {}
    first = -1
    if model.initial is not UNKNOWN:
        first = codes.setdefault(model.initial, 0)
    coded = [codes.setdefault(hashable(value), len(codes)) for value in values]
    return np.array(coded, dtype=np.int64), first


def seen_only(calls: Sequence[Timed]) -> list[Timed]:
    """Without the unknown writes whose value no call looks for.

    In w(1) unknown, w(2), r=2 nobody can tell whether w(1) happened, so the order without it is an
    order of the whole. A compare-and-set that is known to have missed looks at every value that is
    not the one it expected: cas(0, 5) missed, with w(1) unknown and nothing else, proves w(1).
    """
    if any(timed.call.kind == "cas" and timed.call.known and not timed.call.output for timed in calls):
        return list(calls)
    sought: set[Any] = set()
    for timed in calls:
        if timed.call.kind == "read":
            sought.add(timed.call.output)
        elif timed.call.kind == "cas":
            sought.add(timed.call.input[0])
    return [timed for timed in calls if timed.end != NEVER or (produced(timed) or (None,))[0] in sought]


def failed_writes(history: History, model: Register, observation: Timed) -> list[Operation]:
    """The failed operations that would have written what this one saw."""
    columns = history.columns
    saw = observation.call.output if observation.call.kind == "read" else observation.call.input[0]
    key = columns.key[observation.row]
    found = []
    for row in ((columns.outcome == FAIL) & (columns.key == key)).nonzero()[0].tolist():
        operation = history.operations[row]
        kind, value = model.kinds.get(operation.kind), operation.input
        if kind == "cas" and isinstance(value, (list, tuple)) and value:
            value = value[-1]
        elif kind != "write":
            continue
        if hashable(value) == saw:
            found.append(operation)
    return found


def explained(history: History, model: Register, calls: list[Timed], proof: list[Timed]) -> Anomaly | None:
    """The anomaly behind a conflict of zones; None where an unknown initial value may explain it."""
    if model.initial is UNKNOWN:
        return None
    found = Sources(calls, model.initial).unexplained()
    if found is not None:
        return unexplained_anomaly(history, found, failed_writes(history, model, found.calls[-1]))
    return order_anomaly(history, smallest(model, calls, proof, model.initial))
