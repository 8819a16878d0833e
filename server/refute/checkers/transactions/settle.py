"""What inferred orders of versions leave open, settled for one isolation model: proved or refuted."""

from __future__ import annotations

from dataclasses import replace

from refute.checkers.result import Budget
from refute.checkers.spending import BudgetSpentError, Meter
from refute.checkers.transactions.anomalies import definition
from refute.checkers.transactions.commit_order import external_reads
from refute.checkers.transactions.exact import prove
from refute.checkers.transactions.findings import Findings
from refute.checkers.transactions.graph import Dependencies
from refute.checkers.transactions.models import IsolationModel, closure
from refute.checkers.transactions.register_columns import RegisterColumns
from refute.checkers.transactions.replay import serial_order
from refute.checkers.transactions.weak import judge_order

# Without circular information flow some order of the versions always fits these.
_NO_ORDER = ("read-uncommitted", "read-committed")
# The axiom that decides a model, and the anomaly that every order of the versions then has. Read committed
# by its axiom is what Bailis et al. call monotonic atomic view: what was seen of a transaction binds later
# reads. Sessions play no part in either.
_AXIOMS = {
    "monotonic-atomic-view": ("read-committed", "G-monotonic"),
    "read-atomic": ("read-atomic", "fractured-read"),
}
# Snapshot isolation forbids all that these do, so a proof of it proves them; its absence says nothing.
_WEAKER_THAN_SNAPSHOTS = ("cursor-stability", "consistent-view")
_SERIAL_SHARE = 0.25  # of the time: a serial order proves the weaker models, too, and is found sooner


def settle(
    columns: RegisterColumns,
    graph: Dependencies,
    model: IsolationModel,
    open_count: int,
    findings: Findings,
    meter: Meter,
    *,
    accept: bool,
) -> str:
    """Proves or refutes what the inferred orders of `open_count` keys leave open; gives the proof in words.

    An anomaly or a doubt is added to the findings where there is no proof. `accept` makes an assumption
    of the doubt. Raises BudgetSpentError.
    """
    proof = _settled(columns, graph, model, open_count, findings, meter, accept=accept)
    if proof:  # what the model forbids is not there, whatever the search for cycles left undecided
        findings.undecided -= {name for name in findings.undecided if closure([name]) & model.forbids}
    return proof


def _settled(
    columns: RegisterColumns,
    graph: Dependencies,
    model: IsolationModel,
    open_count: int,
    findings: Findings,
    meter: Meter,
    *,
    accept: bool,
) -> str:
    if closure(findings.counts) & model.forbids or model.name.endswith(_NO_ORDER):
        return ""
    axiom = _AXIOMS.get(model.name)
    if axiom and (open_count or findings.undecided):
        return _decide(columns, findings, meter, *axiom)
    if not open_count:
        return ""
    if serial_order(columns, graph, model.level) is not None:
        return f"a serial order of {len(columns.timeline.operations)} transactions explains every read"
    doubts = list(findings.doubts)
    proof = _search(columns, model, findings, meter)
    if proof or closure(findings.counts) & model.forbids:
        return proof
    findings.doubts[:] = doubts
    sentence = (
        f"the inferred order of versions shows no anomaly that {model.name} forbids, but it leaves the order "
        f"open for {open_count} keys, and no order of the transactions was found that explains every read"
    )
    if accept:
        findings.assumptions.append(f"inference suffices: {sentence}")
    else:
        findings.doubts.append(sentence)
    return ""


def _decide(columns: RegisterColumns, findings: Findings, meter: Meter, level: str, name: str) -> str:
    """By the axiom, exactly: a commit order orders the versions, and an order of versions is part of one."""
    external, found = external_reads(columns), Findings()
    judge_order(level, columns, external, found, meter, sessions=False)
    if not found.counts:
        return f"a commit order satisfies the axiom of {level} (Biswas and Enea 2019)"
    for anomaly in found.anomalies:
        if findings.wants(name):
            details = {**anomaly.details, "definition": definition(name)}
            findings.anomalies.append(replace(anomaly, name=name, details=details))
    return ""


def _search(columns: RegisterColumns, model: IsolationModel, findings: Findings, meter: Meter) -> str:
    """Looks for an order that proves the model; adds an anomaly only where its absence is one."""
    snapshot = model.name.endswith("snapshot-isolation")
    weaker = model.name.endswith(_WEAKER_THAN_SNAPSHOTS)
    if snapshot or weaker:
        left_s = meter.left.time_limit_s
        share = Budget(None if left_s is None else left_s * _SERIAL_SHARE, meter.budget.memory_limit_bytes)
        try:
            proof = prove(columns, Findings(), Meter(share), snapshot=False, level=model.level)
        except BudgetSpentError:
            proof = ""
        if proof:
            return proof
    elif "not-serializable" not in model.forbids:
        return ""
    found = Findings() if weaker else findings
    return prove(columns, found, meter, snapshot=snapshot or weaker, level=model.level)
