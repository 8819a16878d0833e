"""Read committed, read atomic and causal consistency of register transactions in sessions."""

from __future__ import annotations

from collections.abc import Iterable

from refute.checkers.result import Budget, Result, Validity
from refute.checkers.spending import BudgetSpentError, Meter
from refute.checkers.transactions.commit_order import (
    Demand,
    ExternalReads,
    causal_demands,
    external_reads,
    read_atomic_demands,
    read_committed_demands,
)
from refute.checkers.transactions.exact import consumed_of, doubts_of, gaps_of
from refute.checkers.transactions.findings import Findings
from refute.checkers.transactions.graph import PROCESS, WR, WW, Dependencies, DependencyBuilder, on_cycles
from refute.checkers.transactions.paths import Edge, Paths
from refute.checkers.transactions.register_columns import INITIAL, RegisterColumns, register_columns
from refute.checkers.transactions.register_reads import judge_registers
from refute.checkers.transactions.words import named, shown
from refute.history import History

_ALGORITHM = "least commit order by axioms (Biswas and Enea 2019; Moldrup and Pavlogiannis 2025)"
_FORBIDDEN = ("G1a", "G1b", "garbage-read", "own-write-missed", "unrepeatable-read", "causality-cycle",
              "commit-order-cycle")  # fmt: skip
_ANCHORS = 32


def check_read_committed(history: History, *, budget: Budget) -> Result:
    """Read committed by the axiom of Biswas and Enea (2019); exact, O(n^(3/2)).

    What a transaction has read from another, its later reads may not contradict: so this is stronger
    than Adya's PL-2, which looks at single reads and cycles.
    """
    return _check("read-committed", history, budget)


def check_read_atomic(history: History, *, budget: Budget) -> Result:
    """Read atomic: the writes of a transaction are seen together or not at all; exact, O(n^(3/2))."""
    return _check("read-atomic", history, budget)


def check_causal(history: History, *, budget: Budget) -> Result:
    """Causal consistency of transactions in sessions; exact, O(n k log n) for k sessions."""
    return _check("causal", history, budget)


def _check(level: str, history: History, budget: Budget) -> Result:
    findings, columns, spent = Findings(), RegisterColumns(), ""
    meter = Meter(budget)
    findings.assumptions.append("initial state: every key begins unwritten and reads as nil")
    try:
        # What the levels say of reads within a transaction differs, so those are judged here.
        columns = register_columns(history, Findings(), meter)
        findings.ignored.update(_ignored(history, columns))
        doubts_of(columns, findings)
        if findings.ignored["malformed transactions"]:
            count = findings.ignored["malformed transactions"]
            findings.doubts.append(f"{count} transactions have a shape that cannot be read")
        judge_registers(columns, findings, gaps=gaps_of(history, findings))
        external = external_reads(columns)
        _judge_within(columns, external, findings, atomic=level != "read-committed")
        if not external.unrepeatable or level == "read-committed":
            judge_order(level, columns, external, findings, meter)
    except BudgetSpentError as error:
        spent = str(error)
    forbidden = tuple(anomaly for anomaly in findings.anomalies if anomaly.name in _FORBIDDEN)
    reasons = [spent] if spent else list(findings.doubts)
    valid: Validity = False if forbidden else "unknown" if reasons else True
    details = {
        "anomalies": {name: count for name, count in findings.counts.items() if name in _FORBIDDEN},
        "edges": [edge for anomaly in forbidden[:1] for edge in anomaly.details.get("edges", ())],
        "also": [
            {"name": anomaly.name, "sentence": anomaly.sentence}
            for anomaly in findings.anomalies
            if anomaly not in forbidden
        ],
    }
    return Result(
        level,
        valid,
        consumed_of(columns),
        forbidden,
        tuple(findings.assumptions),
        dict(findings.ignored),
        "" if valid is True else "; ".join(reasons),
        _ALGORITHM,
        details,
    )


def _ignored(history: History, columns: RegisterColumns) -> dict[str, int]:
    others: dict[str, int] = {}
    for operation in history.operations:
        if operation.kind != "txn":
            others[f"kind {operation.kind}"] = others.get(f"kind {operation.kind}", 0) + 1
    malformed = len(history.operations) - sum(others.values()) - len(columns.timeline.operations)
    return {**others, "malformed transactions": malformed} if malformed else others


def _judge_within(
    columns: RegisterColumns, external: ExternalReads, findings: Findings, *, atomic: bool
) -> None:
    operations = columns.timeline.operations
    for txn, version in external.selfless:
        if findings.wants("own-write-missed"):
            findings.show(
                "own-write-missed",
                f"{named(operations[txn])} read {columns.named(version)}, which its own writes contradict.",
                [operations[txn]],
            )
    for txn, key in external.unrepeatable if atomic else ():
        if findings.wants("unrepeatable-read"):
            findings.show(
                "unrepeatable-read",
                f"{named(operations[txn])} read {shown(columns.keys[key])} from two transactions.",
                [operations[txn]],
            )


def judge_order(
    level: str,
    columns: RegisterColumns,
    external: ExternalReads,
    findings: Findings,
    meter: Meter,
    *,
    sessions: bool = True,
) -> None:
    """Adds an anomaly where no commit order satisfies the axiom of the level; exact.

    Without `sessions` the order of a process binds nobody (not for causal consistency, which is about
    sessions). Raises BudgetSpentError.
    """
    count = len(columns.timeline.operations)
    builder = DependencyBuilder(count)
    if sessions:
        builder.add(columns.timeline.session_source, columns.timeline.session_target, PROCESS)
    flow = {(writer, reader) for reader, reads in enumerate(external.reads) for _, writer in reads} - {
        (INITIAL, reader) for reader in range(count)
    }
    builder.add([edge[0] for edge in flow], [edge[1] for edge in flow], WR)
    causal = builder.build()
    if bool(on_cycles(causal).any()):
        _show(causal, "causality-cycle", columns, external, {}, findings)
        return
    demands: Iterable[Demand]
    if level == "read-committed":
        demands = read_committed_demands(external, meter)
    elif level == "read-atomic":
        demands = read_atomic_demands(columns, external, meter, sessions=sessions)
    else:
        demands = causal_demands(columns, external, meter)
    why: dict[tuple[int, int], tuple[int, int]] = {}
    for first, then, reader, key in demands:
        if then == INITIAL:
            _initial(columns, findings, first, reader, key)
        else:
            why.setdefault((first, then), (reader, key))
    builder.add([pair[0] for pair in why], [pair[1] for pair in why], WW)
    meter.check()
    whole = builder.build()
    if bool(on_cycles(whole).any()):
        _show(whole, "commit-order-cycle", columns, external, why, findings)


def _initial(columns: RegisterColumns, findings: Findings, first: int, reader: int, key: int) -> None:
    if findings.wants("commit-order-cycle"):
        operations = columns.timeline.operations
        one, other = operations[first], operations[reader]
        findings.show(
            "commit-order-cycle",
            f"{named(other)} found {shown(columns.keys[key])} unwritten, although it sees {named(one)}, "
            "which wrote it.",
            [one, other],
            {"edges": [[other.index, one.index, "rw", f"key {shown(columns.keys[key])}"]]},
        )


def _show(
    graph: Dependencies,
    name: str,
    columns: RegisterColumns,
    external: ExternalReads,
    why: dict[tuple[int, int], tuple[int, int]],
    findings: Findings,
) -> None:
    """The shortest of the cycles through some edges."""
    part = graph.select(on_cycles(graph))
    paths = Paths(part)
    best: tuple[Edge, ...] = ()
    order = [place for place, kind in enumerate(part.kind.tolist()) if kind == (WW if why else WR)]
    for place in order[:: max(1, len(order) // _ANCHORS)]:
        walk, _ = paths.back((int(part.source[place]), int(part.kind[place]), int(part.target[place])))
        if walk and (not best or len(walk) < len(best)):
            best = tuple(walk)
    findings.counts[name] += 1
    operations = columns.timeline.operations
    clauses, edges, who = [], [], [operations[source] for source, _, _ in best]
    for source, kind, target in best:
        first, second = operations[source], operations[target]
        if kind == PROCESS:
            clause, label, tag = (
                f"{named(first)} precedes {named(second)} in its process",
                "session",
                "process",
            )
        elif kind == WR:
            key = shown(next(columns.keys[key] for key, writer in external.reads[target] if writer == source))
            clause, label, tag = f"{named(second)} read {key} from {named(first)}", f"key {key}", "wr"
        else:
            reader, number = why[source, target]
            key = shown(columns.keys[number])
            clause = (
                f"{named(operations[reader])} read {key} from {named(second)} although it saw "
                f"{named(first)}, which wrote {key} too, so {named(first)} must commit before {named(second)}"
            )
            label, tag = f"key {key}: read by {named(operations[reader])}", "ww"
            who.append(operations[reader])
        clauses.append(clause)
        edges.append([first.index, second.index, tag, label])
    unique = {operation.index: operation for operation in who}
    findings.show(name, f"{'; '.join(clauses)}: a cycle.", unique.values(), {"edges": edges})
