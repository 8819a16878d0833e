"""Isolation of list-append transactions: every read of a list shows the order in which it was written.

Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from Experimental Observations" (2020).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refute.checkers.result import Budget, Result
from refute.checkers.spending import BudgetSpentError, Meter
from refute.checkers.transactions.answer import answer, cycle_anomaly, model_named
from refute.checkers.transactions.append_columns import AppendColumns, append_columns
from refute.checkers.transactions.append_words import AppendReasons
from refute.checkers.transactions.cycles import Cycles, find_cycles
from refute.checkers.transactions.findings import Findings
from refute.checkers.transactions.single_reads import judge_reads
from refute.checkers.transactions.version_order import VersionOrder, append_dependencies, version_order
from refute.checkers.transactions.views import judge_views
from refute.checkers.transactions.words import named, shown
from refute.history import History, Operation

_NAME = "list-append"
_ALGORITHM = "dependency graph of list-append, strongly connected components (Kingsbury and Alvaro 2020)"


def check_list_append(history: History, *, budget: Budget, model: str = "serializable") -> Result:
    """Which anomalies a list-append history has, and whether `model` forbids one of them.

    Exact for serializability and what is weaker: the order of the versions of each key is read off,
    and what was never read is placed only as far as the reads force it. O(n log n) in the
    micro-operations and the lengths of what they read, but for G-single where there are other cycles
    with anti-dependencies (bounded; see `find_cycles`). Raises CheckerError for an unknown model.
    """
    wanted = model_named(model)
    meter = Meter(budget)
    try:
        return _check(history, wanted.name, meter, plain=True)
    except TypeError:  # some key or element is a list or a map
        return _check(history, wanted.name, meter, plain=False)


def _check(history: History, model: str, meter: Meter, *, plain: bool) -> Result:
    findings, columns, cycles, spent = Findings(), AppendColumns(), Cycles(), ""
    order: VersionOrder | None = None
    try:
        columns = append_columns(history, findings, meter, plain=plain)
        meter.check()
        order = version_order(columns, findings)
        meter.check()
        judge_reads(columns, order, findings, gaps=_gaps(history, findings))
        meter.check()
        graph, unordered = append_dependencies(columns, order, real_time=history.clock != "wall")
        meter.check()
        find_cycles(graph, meter, cycles, unordered)
    except BudgetSpentError as error:
        spent = str(error)
    if order is not None and cycles.found:
        reason = AppendReasons(columns, order)
        for cycle in cycles.found:
            if findings.wants(cycle.name):
                anomaly = cycle_anomaly(cycle, columns.operations, reason)
                findings.anomalies.append(anomaly)
        judge_views(cycles, columns.operations, *_view_of(), findings)
    findings.undecided |= cycles.undecided
    _doubts(columns, findings)
    consumed = {
        **columns.timeline.counts(),
        "keys": len(columns.keys),
        "appends": len(columns.append_value),
        "reads": len(columns.read_lists),
    }
    levels = {}
    if history.clock == "wall":
        levels["-realtime"] = "times are of several clocks, so real-time order is no evidence"
    return answer(_NAME, findings, model_named(model), consumed, _ALGORITHM, levels=levels, spent=spent)


def _view_of() -> tuple[Callable[[Any, Operation], bool], Callable[[Any, Operation], bool]]:
    """Whether a read misses an append of a transaction, and whether it sees one."""

    def appended(micro: Any, writer: Operation) -> list[Any]:
        return [value for function, key, value in writer.input if function == "append" and key == micro[1]]

    def misses(micro: Any, writer: Operation) -> bool:
        return any(value not in (micro[2] or ()) for value in appended(micro, writer))

    def sees(micro: Any, writer: Operation) -> bool:
        return any(value in (micro[2] or ()) for value in appended(micro, writer))

    return misses, sees


def _gaps(history: History, findings: Findings) -> str:
    """Why writes may be missing in what was read, in words; empty where none are."""
    lost = history.completeness.unreadable_lines
    malformed = findings.ignored["malformed transactions"]
    parts = [f"{lost} unreadable lines"] if lost else []
    parts += [f"{malformed} malformed transactions"] if malformed else []
    return ", ".join(parts)


def _doubts(columns: AppendColumns, findings: Findings) -> None:
    findings.assumptions.insert(0, "an unknown transaction happened if and only if something of it was read")
    if columns.retried:
        findings.assumptions.append(
            f"{columns.retried} values were appended again after a failed attempt: the attempt that did not "
            "fail is taken as the writer"
        )
    if columns.null_reads:
        findings.assumptions.append(f"{columns.null_reads} reads that returned nothing count as empty lists")
    if columns.ambiguous:
        key, (first, second) = next(iter(columns.ambiguous.items()))
        one, other = (columns.operations[columns.append_txn[append]] for append in (first, second))
        findings.doubts.append(
            f"{len(columns.ambiguous)} keys were left out because a value was appended twice, the first: "
            f"{shown(columns.append_value[first])} to {shown(columns.keys[key])} by {named(one)} and "
            f"{named(other)}"
        )
    if columns.operations and not columns.read_lists:
        findings.doubts.append("no committed transaction read anything, so nothing could be seen")
