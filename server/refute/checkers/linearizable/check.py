"""The checker `linearizable`: picks the algorithm, runs it within its budget, and explains what it found."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from refute.checkers.catalog import CheckerError
from refute.checkers.linearizable.containers import (
    Counter,
    Log,
    Multiset,
    PriorityQueue,
    Queue,
    Set,
    Stack,
)
from refute.checkers.linearizable.coordination import Lease, Lock, Transactions
from refute.checkers.linearizable.explain import (
    cut,
    object_anomaly,
    order_anomaly,
    smallest,
    smallest_of,
    unexplained_anomaly,
)
from refute.checkers.linearizable.model import Model
from refute.checkers.linearizable.personal import PersonalModel
from refute.checkers.linearizable.prepare import interval, objects, tally
from refute.checkers.linearizable.registers import UNKNOWN, KeyValue, Register
from refute.checkers.linearizable.search import NEVER, Finding, Timed, search
from refute.checkers.linearizable.sources import Sources, produced
from refute.checkers.linearizable.unique_values import ALGORITHMS, ASSUMPTION, by_values
from refute.checkers.linearizable.zones import zones
from refute.checkers.result import Anomaly, Budget, Result
from refute.checkers.spending import BudgetSpentError, Meter
from refute.history import History, Operation, hashable
from refute.history.columns import FAIL, OK

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAME = "linearizable"
MODELS: Mapping[str, type[Model]] = {
    "register": Register,
    "cas-register": Register,
    "kv": KeyValue,
    "counter": Counter,
    "set": Set,
    "multiset": Multiset,
    "queue": Queue,
    "stack": Stack,
    "priority-queue": PriorityQueue,
    "log": Log,
    "lock": Lock,
    "lease": Lease,
    "transactions": Transactions,
}


def check_linearizable(
    history: History,
    *,
    budget: Budget,
    model: Any = "register",
    initial: Any = None,
    unknown_initial: bool = False,
) -> Result:
    """Whether each object's operations have an order that keeps real time and that the model allows.

    `initial` is what a register holds before its first write; with `unknown_initial` it is whatever
    the first read says. Invalid results name the anomaly and carry the few operations that prove it.
    """
    meter = Meter(budget)
    chosen = chosen_model(model, initial, unknown_initial)
    counts, rows = tally(history, chosen)
    base = Result(NAME, "unknown", dict(counts.consumed), ignored=dict(counts.ignored))
    if counts.strange:
        kinds = ", ".join(map(repr, counts.strange))
        return replace(
            base,
            reason=f"operations of kind {kinds} touch the same keys, and the {chosen.name} model "
            "does not know what they do",
        )
    if not counts.consumed["ok"] and counts.consumed["info"]:
        return replace(base, reason="no operation was answered, so nothing could be seen")
    if history.clock == "wall":
        return _without_real_time(history, budget, base, chosen, initial, unknown_initial)
    try:
        result = _decide(history, chosen, rows, base, meter)
    except BudgetSpentError as spent:
        return replace(base, reason=str(spent), algorithm="search")
    lost = history.completeness.unreadable_lines
    if lost:
        return replace(
            result, valid="unknown", reason=f"{lost} lines of the history could not be read; they may matter"
        )
    return result


def _without_real_time(
    history: History, budget: Budget, base: Result, model: Model, initial: Any, unknown_initial: bool
) -> Result:
    """Where several clocks gave the times: what is not even sequential is not linearizable."""
    from refute.checkers.linearizable.sequential import check_sequential

    reason = "the times are of several clocks, so the order between processes is not known"
    if not isinstance(model, Register):
        return replace(base, reason=reason)
    weaker = check_sequential(
        history, budget=budget, model=model, initial=initial, unknown_initial=unknown_initial
    )
    if weaker.valid is False:
        return replace(weaker, checker=NAME, assumptions=(f"{reason}; each process's own order is",))
    return replace(base, reason=f"{reason}; each process's own order shows nothing wrong")


def chosen_model(model: Any, initial: Any = None, unknown_initial: bool = False) -> Model:
    """The model of that name, or the one that a person wrote (a class with `init` and `step`).

    Raises CheckerError for a name that is not known and for options that the model does not take.
    """
    if isinstance(model, Model):
        return model
    if not isinstance(model, str):
        return PersonalModel(model)
    if model not in MODELS:
        near = difflib.get_close_matches(model, MODELS, n=2)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(MODELS)}"
        raise CheckerError(f"there is no model {model!r}", hint=hint)
    kind = MODELS[model]
    if issubclass(kind, Register):
        return kind(UNKNOWN if unknown_initial else initial)
    if issubclass(kind, Counter) and not unknown_initial:
        return kind(initial)
    if unknown_initial or initial is not None:
        raise CheckerError(f"model {model} takes no initial value", hint="it begins empty")
    return kind()


def _decide(history: History, model: Model, rows: NDArray[Any], base: Result, meter: Meter) -> Result:
    import numpy as np

    algorithms: list[str] = []
    assumptions: list[str] = []
    if isinstance(model, Register) and _only_reads_and_writes(history, model, rows):
        outcome = _by_zones(history, model, rows)
        if outcome is not None:
            conflict_rows, repeated = outcome
            algorithms.append("zones")
            assumptions.append("the values written to a key differ, so each read names its write")
            if conflict_rows is not None:
                key = history.columns.key[conflict_rows[0]]
                rows_of_key = rows[history.columns.key[rows] == key]
                ((_, calls),) = objects(history, model, rows_of_key)
                wanted = set(conflict_rows)
                proof = [timed for timed in calls if timed.row in wanted]
                anomaly = _explained(history, model, calls, proof)
                if anomaly is not None:
                    return replace(
                        base,
                        valid=False,
                        anomalies=(anomaly,),
                        algorithm="zones",
                        assumptions=tuple(assumptions),
                    )
            if not repeated and conflict_rows is None:
                return replace(base, valid=True, algorithm="zones", assumptions=tuple(assumptions))
            if conflict_rows is None:
                rows = rows[np.isin(history.columns.key[rows], repeated)]
    if isinstance(model, Queue):
        algorithm, assumption = ALGORITHMS[type(model)], ASSUMPTION.format(model.name)
        rows, answer = by_values(history, model, rows, meter)
        if isinstance(answer, Anomaly):
            return replace(
                base, valid=False, anomalies=(answer,), algorithm=algorithm, assumptions=(assumption,)
            )
        algorithms.append(algorithm)
        if not len(rows):
            return replace(base, valid=True, algorithm=algorithm, assumptions=(assumption,))
    algorithms.append("search")
    for _, calls in objects(history, model, rows):
        if isinstance(model, Register) and not any(timed.call.kind == "append" for timed in calls):
            found = Sources(calls, model.initial).unexplained()
            if found is not None:
                anomaly = unexplained_anomaly(history, found, _failed_writes(history, model, found.calls[-1]))
                return replace(base, valid=False, anomalies=(anomaly,), algorithm="sources")
            calls = _seen_only(calls)
        finding = search(model, calls, meter)
        if not finding.valid:
            return replace(
                base, valid=False, anomalies=(_searched(history, model, calls, finding),), algorithm="search"
            )
    return replace(
        base,
        valid=True,
        algorithm=" and ".join(algorithms),
        assumptions=() if "zones" not in algorithms else tuple(assumptions),
    )


def _only_reads_and_writes(history: History, model: Register, rows: NDArray[Any]) -> bool:
    import numpy as np

    kinds = np.unique(history.columns.kind[rows]).tolist()
    return {model.kinds[history.columns.kinds[kind]] for kind in kinds} <= {"read", "write"}


def _by_zones(
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


def _seen_only(calls: Sequence[Timed]) -> list[Timed]:
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


def _failed_writes(history: History, model: Register, observation: Timed) -> list[Operation]:
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


def _explained(history: History, model: Register, calls: list[Timed], proof: list[Timed]) -> Anomaly | None:
    """The anomaly behind a conflict of zones; None where an unknown initial value may explain it."""
    if model.initial is UNKNOWN:
        return None
    found = Sources(calls, model.initial).unexplained()
    if found is not None:
        return unexplained_anomaly(history, found, _failed_writes(history, model, found.calls[-1]))
    return order_anomaly(history, smallest(model, calls, proof, model.initial))


def _searched(history: History, model: Model, calls: list[Timed], finding: Finding) -> Anomaly:
    until, window = cut(calls, model, finding)
    plain = isinstance(model, Register) and model.initial is not UNKNOWN
    if plain and not any(timed.call.kind == "append" for timed in until):
        return order_anomaly(history, smallest(model, until, window, model.init()))
    stuck = finding.required[min(finding.stuck, len(finding.required) - 1)]
    return object_anomaly(history, smallest_of(model, until), stuck)


__all__ = ["MODELS", "check_linearizable", "chosen_model"]
