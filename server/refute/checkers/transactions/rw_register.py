"""Isolation of register transactions: the order of versions is inferred, and what it leaves open is searched.

Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies from Experimental Observations" (2020).
"""

from __future__ import annotations

from typing import Any

from refute.checkers.result import Budget, Result
from refute.checkers.spending import BudgetSpentError, Meter
from refute.checkers.transactions.answer import answer, cycle_anomaly, model_named
from refute.checkers.transactions.append_columns import hashable
from refute.checkers.transactions.cycles import Cycles, find_cycles
from refute.checkers.transactions.exact import consumed_of, doubts_of, gaps_of
from refute.checkers.transactions.findings import Findings
from refute.checkers.transactions.register_columns import RegisterColumns, register_columns
from refute.checkers.transactions.register_reads import judge_registers
from refute.checkers.transactions.register_versions import (
    Inference,
    RegisterDependencies,
    open_keys,
    register_dependencies,
)
from refute.checkers.transactions.register_words import RegisterReasons
from refute.checkers.transactions.settle import settle
from refute.checkers.transactions.views import judge_views
from refute.history import History, Operation

_NAME = "rw-register"
_ALGORITHM = "dependency graph from inferred version orders (Kingsbury and Alvaro 2020)"


def check_rw_register(
    history: History,
    *,
    budget: Budget,
    model: str = "serializable",
    writes_follow_reads: bool = True,
    sequential_keys: bool = False,
    linearizable_keys: bool = False,
    accept_inferred: bool = False,
) -> Result:
    """Which anomalies a register history has, and whether `model` forbids one of them.

    The anomalies are those that the inferred version orders show. Where these leave something open,
    their absence proves nothing yet: then read atomic and monotonic atomic view are decided by their
    axioms, and for the others a serial order (or one of snapshots) is looked for. The answer is True
    only with such a proof, else unknown; `accept_inferred` makes it True with the assumption said.
    Raises CheckerError for a model that does not exist.
    """
    wanted = model_named(model)
    inference = Inference(True, writes_follow_reads, sequential_keys, linearizable_keys)
    findings, columns, cycles, spent, proof = Findings(), RegisterColumns(), Cycles(), "", ""
    findings.assumptions += inference.sentences()
    meter = Meter(budget)
    levels = {}
    if history.clock == "wall":
        levels["-realtime"] = "times are of several clocks, so real-time order is no evidence"
    real_time = history.clock != "wall"
    found: RegisterDependencies | None = None
    open_count = 0
    try:
        columns = register_columns(history, findings, meter)
        doubts_of(columns, findings)
        judge_registers(columns, findings, gaps=gaps_of(history, findings))
        found = register_dependencies(columns, inference, findings, meter, real_time=real_time)
        open_count = open_keys(columns, found.successors)
        find_cycles(found.graph, meter, cycles)
    except BudgetSpentError as error:
        spent = str(error)
    if found is not None:
        _name_cycles(columns, found, cycles, findings)
        if not spent and not findings.doubts and wanted.level not in levels:
            try:
                proof = settle(
                    columns, found.graph, wanted, open_count, findings, meter, accept=accept_inferred
                )
            except BudgetSpentError as error:
                spent = str(error)
    result = answer(_NAME, findings, wanted, consumed_of(columns), _ALGORITHM, levels=levels, spent=spent)
    result.details["proof"] = proof  # type: ignore[index]
    result.details["keys_with_open_version_order"] = open_count  # type: ignore[index]
    return result


def _name_cycles(
    columns: RegisterColumns, found: RegisterDependencies, cycles: Cycles, findings: Findings
) -> None:
    reason = RegisterReasons(columns, found.successors)
    operations = columns.timeline.operations
    for cycle in cycles.found:
        if findings.wants(cycle.name):
            findings.anomalies.append(cycle_anomaly(cycle, operations, reason))
    findings.undecided |= cycles.undecided

    def sees(micro: Any, writer: Operation) -> bool:
        return any(
            function == "w" and key == micro[1] and hashable(value) == hashable(micro[2])
            for function, key, value in writer.input
        )

    def misses(micro: Any, writer: Operation) -> bool:
        return not sees(micro, writer) and any(
            function == "w" and key == micro[1] for function, key, _ in writer.input
        )

    judge_views(cycles, operations, misses, sees, findings)
