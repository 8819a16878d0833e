"""Serializability and snapshot isolation of register transactions, decided exactly for small histories."""

from __future__ import annotations

from refute.checkers.catalog import CheckerError
from refute.checkers.result import Anomaly, Budget, Result
from refute.checkers.spending import BudgetSpentError, Meter
from refute.checkers.transactions.anomalies import definition
from refute.checkers.transactions.answer import answer, model_named
from refute.checkers.transactions.exact_orders import (
    MOST_CHOICES,
    MOST_SERIAL,
    MOST_TRANSACTIONS,
    refuted,
    smallest,
    with_writers,
)
from refute.checkers.transactions.findings import Findings
from refute.checkers.transactions.register_columns import RegisterColumns, register_columns
from refute.checkers.transactions.register_reads import judge_registers
from refute.checkers.transactions.words import named
from refute.history import History

LEVELS = {"none": "", "session": "-process", "real-time": "-realtime"}
_SERIAL = "saturation, then a search with transitive closure (Papadimitriou 1979; Biswas and Enea 2019)"
_SNAPSHOT = (
    "polygraph search with transitive closure (Papadimitriou 1979; Tan et al. 2020; Huang et al. 2023)"
)


def check_serializable_exact(history: History, *, budget: Budget, order: str = "none") -> Result:
    """Whether some serial order explains every read of a register history; exact, exponential at worst.

    `order` is `none`, `session` (each process keeps its order) or `real-time` (strict). Past the budget
    or beyond 20,000 transactions the answer is unknown. Raises CheckerError for another order.
    """
    return _check("serializable-exact", history, budget, order, snapshot=False)


def check_snapshot_isolation_exact(history: History, *, budget: Budget, order: str = "none") -> Result:
    """Whether some order of snapshots and commits explains every read; exact, exponential at worst.

    Snapshot isolation as in Cerone and Gotsman 2016: reads come from one snapshot, and of two
    transactions that overlap only one writes a key. `order` as for `check_serializable_exact`.
    """
    return _check("snapshot-isolation-exact", history, budget, order, snapshot=True)


def _check(name: str, history: History, budget: Budget, order: str, *, snapshot: bool) -> Result:
    if order not in LEVELS:
        raise CheckerError(f"there is no order {order!r}", hint=f"there are: {', '.join(LEVELS)}")
    base = "snapshot-isolation" if snapshot else "serializable"
    prefix = {"none": "", "session": "strong-session-", "real-time": "strong-"}[order]
    model = model_named(prefix + base)
    findings, columns, spent, proof = Findings(), RegisterColumns(), "", ""
    meter = Meter(budget)
    algorithm = _SNAPSHOT if snapshot else _SERIAL
    levels = {}
    if history.clock == "wall":
        levels["-realtime"] = "times are of several clocks, so real-time order is no evidence"
    try:
        columns = register_columns(history, findings, meter)
        judge_registers(columns, findings, gaps=gaps_of(history, findings))
        doubts_of(columns, findings)
        if not findings.counts and not findings.doubts and model.level not in levels:
            proof = prove(columns, findings, meter, snapshot=snapshot, level=LEVELS[order])
    except BudgetSpentError as error:
        spent = str(error)
    consumed = consumed_of(columns)
    findings.assumptions.insert(0, "initial state: every key begins unwritten and reads as nil")
    # What was decided is this model; nothing is said of others unless this one settles them.
    result = answer(name, findings, model, consumed, algorithm, levels=levels, spent=spent)
    details = {
        key: result.details[key]
        for key in ("model", "anomalies", "ruled_out", "edges")
        if key in result.details
    }
    return Result(
        name, result.valid, consumed, result.anomalies, result.assumptions, result.ignored, result.reason,
        algorithm, {**details, "proof": proof},
    )  # fmt: skip


def consumed_of(columns: RegisterColumns) -> dict[str, int]:
    """What was looked at."""
    return {
        **columns.timeline.counts(),
        "keys": len(columns.keys),
        "writes": columns.writes,
        "reads": columns.reads,
    }


def gaps_of(history: History, findings: Findings) -> str:
    """Why writes may be missing in what was read, in words; empty where none are."""
    lost = history.completeness.unreadable_lines
    malformed = findings.ignored["malformed transactions"]
    parts = [f"{lost} unreadable lines"] if lost else []
    parts += [f"{malformed} malformed transactions"] if malformed else []
    return ", ".join(parts)


def doubts_of(columns: RegisterColumns, findings: Findings) -> None:
    """Adds what keeps a register history from being judged, and what is assumed of any."""
    findings.assumptions += columns.timeline.remarks()
    findings.assumptions.append("an unknown transaction happened if and only if something of it was read")
    if columns.retried:
        findings.assumptions.append(
            f"{columns.retried} values were written again after a failed attempt: the attempt that did not "
            "fail is taken as the writer"
        )
    for key, why in list(columns.ambiguous.items())[:1]:
        findings.doubts.append(
            f"{len(columns.ambiguous)} keys were left out because their versions cannot be told apart, the "
            f"first: {columns.keys[key]} ({why})"
        )
    if columns.timeline.operations and not columns.reads:
        findings.doubts.append("no committed transaction read anything, so nothing could be seen")


def prove(columns: RegisterColumns, findings: Findings, meter: Meter, *, snapshot: bool, level: str) -> str:
    """Searches for an order; gives words on it, or adds an anomaly, or a doubt where it is too large.

    The history must have no anomaly of single reads and no ambiguous key.
    """
    live = [txn for txn, happened in enumerate(columns.happened()) if happened]
    most = MOST_TRANSACTIONS if snapshot else MOST_SERIAL
    wrong = refuted(columns, live, meter, snapshot=snapshot, level=level) if len(live) <= most else None
    if wrong is None:
        pairs = f", and {MOST_CHOICES} pairs of writers" if snapshot else ""
        findings.doubts.append(
            f"{len(live)} transactions are too many for an exact search (at most {most}{pairs})"
        )
        return ""
    if not wrong:
        kind = "an order of snapshots and commits" if snapshot else "a serial order"
        return f"{kind} of {len(live)} transactions explains every read"
    name = "not-snapshot-isolated" if snapshot else "not-serializable"
    core = smallest(columns, with_writers(columns, wrong), meter, snapshot=snapshot, level=level)
    who = [columns.timeline.operations[txn] for txn in core]
    findings.counts[name] += 1
    findings.anomalies.append(
        Anomaly(
            name,
            f"{', '.join(map(named, who[:12]))}{' and more' if len(who) > 12 else ''}: {definition(name)}"
            f"{_respecting(level)}.",
            tuple(who),
            {"definition": definition(name)},
        )
    )
    return ""


def _respecting(level: str) -> str:
    return {"": "", "-process": ", each process in its order", "-realtime": ", in real-time order"}[level]
