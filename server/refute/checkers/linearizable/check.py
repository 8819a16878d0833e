"""The checker `linearizable`: picks the algorithm, runs it within its budget, and explains what it found."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from refute.checkers.catalog import CheckerError
from refute.checkers.linearizable.containers import (
    Counter,
    Multiset,
    PriorityQueue,
    Queue,
    Set,
    Stack,
)
from refute.checkers.linearizable.coordination import Lease, Lock, Transactions
from refute.checkers.linearizable.counter_bounds import out_of_bounds
from refute.checkers.linearizable.explain import (
    bounds_anomaly,
    cut,
    object_anomaly,
    order_anomaly,
    smallest,
    smallest_of,
    unexplained_anomaly,
    unordered_anomaly,
)
from refute.checkers.linearizable.log import Log
from refute.checkers.linearizable.model import Model
from refute.checkers.linearizable.personal import PersonalModel
from refute.checkers.linearizable.prepare import objects, tally
from refute.checkers.linearizable.registers import UNKNOWN, KeyValue, Register
from refute.checkers.linearizable.search import Finding, Timed, search
from refute.checkers.linearizable.sources import NAMED, Sources
from refute.checkers.linearizable.transaction_order import log_refuted, refuted
from refute.checkers.linearizable.unique_values import ALGORITHMS, ASSUMPTION, by_values
from refute.checkers.linearizable.unique_writes import (
    by_zones,
    explained,
    failed_writes,
    only_reads_and_writes,
    seen_only,
)
from refute.checkers.linearizable.whole_reads import grown
from refute.checkers.linearizable.whole_words import grown_anomaly
from refute.checkers.result import Anomaly, Budget, Result
from refute.checkers.spending import BudgetSpentError, Meter
from refute.history import History

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Rows = NDArray[Any]

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


def _decide(history: History, model: Model, rows: Rows, base: Result, meter: Meter) -> Result:
    """The Result by what is fastest for the model; what that leaves open is decided object by object."""
    if isinstance(model, Register) and only_reads_and_writes(history, model, rows):
        way, rows, decided = _by_zones(history, model, rows, base)
    elif isinstance(model, Queue):
        way, rows, decided = _by_values(history, model, rows, base, meter)
    else:
        way, decided = "", None
    if decided is not None:
        return decided
    used = dict.fromkeys([way] if way else [])
    for _, calls in objects(history, model, rows):
        algorithm, found = _one(history, model, calls, meter)
        if found is not None:
            return replace(base, valid=False, anomalies=(found,), algorithm=algorithm)
        used[algorithm] = None
    return replace(
        base,
        valid=True,
        algorithm=" and ".join(used or ["search"]),
        assumptions=(NAMED,) if {"zones", "saturation"} & used.keys() else (),
    )


_Left = tuple[str, "Rows", Result | None]
"""The algorithm, the rows that it leaves to others, and the Result where it decided everything."""


def _by_zones(history: History, model: Register, rows: Rows, base: Result) -> _Left:
    """Registers whose values differ, by zones; keys with repeated values are left to others."""
    import numpy as np

    outcome = by_zones(history, model, rows)
    if outcome is None:
        return "", rows, None
    conflict, repeated = outcome
    result = replace(base, algorithm="zones", assumptions=(NAMED,))
    if conflict is not None:
        key = history.columns.key[conflict[0]]
        ((_, calls),) = objects(history, model, rows[history.columns.key[rows] == key])
        proof = [timed for timed in calls if timed.row in set(conflict)]
        anomaly = explained(history, model, calls, proof)
        found = None if anomaly is None else replace(result, valid=False, anomalies=(anomaly,))
        return "zones", rows, found
    if not repeated:
        return "zones", rows, replace(result, valid=True)
    return "zones", rows[np.isin(history.columns.key[rows], repeated)], None


def _by_values(history: History, model: Queue, rows: Rows, base: Result, meter: Meter) -> _Left:
    """Queues, stacks and priority queues whose values differ; those where they repeat are left to others."""
    algorithm = ALGORITHMS[type(model)]
    rows, anomaly = by_values(history, model, rows, meter)
    result = replace(base, algorithm=algorithm, assumptions=(ASSUMPTION.format(model.name),))
    if anomaly is not None:
        return algorithm, rows, replace(result, valid=False, anomalies=(anomaly,))
    return algorithm, rows, None if len(rows) else replace(result, valid=True)


def _one(history: History, model: Model, calls: list[Timed], meter: Meter) -> tuple[str, Anomaly | None]:
    """How one object was decided, and what is wrong with it."""
    if isinstance(model, Set):
        found = grown(calls, meter.check)
        if found is not None:
            return "graph", grown_anomaly(history, found, calls) if found.pattern else None
    if isinstance(model, Counter):
        bounds = out_of_bounds(calls, model.initial)
        if bounds is not None:
            return "bounds", bounds_anomaly(history, bounds)
    if isinstance(model, Transactions | Log):
        ordered = refuted if isinstance(model, Transactions) else log_refuted
        wrong = ordered(calls, meter.check)
        if wrong is not None:
            return "saturation", unordered_anomaly(history, wrong) if wrong else None
    if isinstance(model, Register) and not any(timed.call.kind == "append" for timed in calls):
        source = Sources(calls, model.initial).unexplained()
        if source is not None:
            failed = failed_writes(history, model, source.calls[-1])
            return "sources", unexplained_anomaly(history, source, failed)
        calls = seen_only(calls)
    finding = search(model, calls, meter)
    return "search", None if finding.valid else _searched(history, model, calls, finding)


def _searched(history: History, model: Model, calls: list[Timed], finding: Finding) -> Anomaly:
    until, window = cut(calls, model, finding)
    plain = isinstance(model, Register) and model.initial is not UNKNOWN
    if plain and not any(timed.call.kind == "append" for timed in until):
        return order_anomaly(history, smallest(model, until, window, model.init()))
    stuck = finding.required[min(finding.stuck, len(finding.required) - 1)]
    return object_anomaly(history, smallest_of(model, until), stuck)


__all__ = ["MODELS", "check_linearizable", "chosen_model"]
