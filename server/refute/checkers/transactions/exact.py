"""Serializability and snapshot isolation of register transactions, decided exactly for small histories."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

from refute.checkers.catalog import CheckerError
from refute.checkers.real_time import interval_reduction
from refute.checkers.result import Anomaly, Budget, Result
from refute.checkers.spending import BudgetSpentError, Meter
from refute.checkers.transactions.anomalies import definition
from refute.checkers.transactions.answer import answer, model_named
from refute.checkers.transactions.findings import Findings
from refute.checkers.transactions.polygraph import Choice, Edge, Polygraph
from refute.checkers.transactions.register_columns import INITIAL, RegisterColumns, register_columns
from refute.checkers.transactions.register_reads import judge_registers
from refute.checkers.transactions.timeline import OK
from refute.checkers.transactions.words import named
from refute.history import History

LEVELS = {"none": "", "session": "-process", "real-time": "-realtime"}
MOST_TRANSACTIONS, MOST_CHOICES = 3000, 150_000
_ALGORITHM = (
    "polygraph search with transitive closure (Papadimitriou 1979; Tan et al. 2020; Huang et al. 2023)"
)


def check_serializable_exact(history: History, *, budget: Budget, order: str = "none") -> Result:
    """Whether some serial order explains every read of a register history; exact, exponential at worst.

    `order` is `none`, `session` (each process keeps its order) or `real-time` (strict). Past the budget
    or beyond 3000 transactions the answer is unknown. Raises CheckerError for another order.
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
    result = answer(name, findings, model, consumed, _ALGORITHM, levels=levels, spent=spent)
    details = {
        key: result.details[key]
        for key in ("model", "anomalies", "ruled_out", "edges")
        if key in result.details
    }
    return Result(
        name, result.valid, consumed, result.anomalies, result.assumptions, result.ignored, result.reason,
        _ALGORITHM, {**details, "proof": proof},
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
    graph = _polygraph(columns, live, meter, snapshot=snapshot, level=level)
    if graph is None:
        findings.doubts.append(
            f"{len(live)} transactions are too many for an exact search (at most {MOST_TRANSACTIONS}, and "
            f"{MOST_CHOICES} pairs of writers)"
        )
        return ""
    if graph.solve(meter.check) is not None:
        kind = "an order of snapshots and commits" if snapshot else "a serial order"
        return f"{kind} of {len(live)} transactions explains every read"
    name = "not-snapshot-isolated" if snapshot else "not-serializable"
    core = _core(columns, live, meter, snapshot=snapshot, level=level)
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


def _core(
    columns: RegisterColumns, live: list[int], meter: Meter, *, snapshot: bool, level: str
) -> list[int]:
    """Fewer transactions that still cannot be ordered: each is left out once, in what time allows."""
    core = list(live)
    left_s = meter.left.time_limit_s
    until_s = meter.elapsed_s + (2.0 if left_s is None else min(2.0, left_s / 2))
    for txn in reversed(live):
        if meter.elapsed_s > until_s or len(live) > 300:
            break
        rest = [one for one in core if one != txn]
        kept = set(rest)
        if any(
            not is_write and columns.writer[version] == txn
            for one in rest
            for is_write, version in columns.micro[one]
        ):
            continue
        try:
            graph = _polygraph(columns, rest, meter, snapshot=snapshot, level=level)
            if graph is not None and kept and graph.solve(meter.check) is None:
                core = rest
        except BudgetSpentError:  # it is decided, whatever else could be left out
            break
    return core


def _polygraph(
    columns: RegisterColumns, live: Iterable[int], meter: Meter, *, snapshot: bool, level: str
) -> Polygraph | None:
    """What is known of the order of these transactions, and the choices; None where it is too large."""
    live = list(live)
    if len(live) > MOST_TRANSACTIONS:
        return None
    node = {txn: place for place, txn in enumerate(live)}
    width = 2 if snapshot else 1
    operations, outcome = columns.timeline.operations, columns.timeline.outcome

    def start(txn: int) -> int:
        return width * node[txn]

    def commit(txn: int) -> int:
        return width * node[txn] + width - 1

    known: list[Edge] = [(start(txn), commit(txn)) for txn in live] if snapshot else []
    if level == "-process":
        sessions = zip(columns.timeline.session_source, columns.timeline.session_target, strict=True)
        known += [(commit(a), start(b)) for a, b in sessions if a in node and b in node]
    elif level == "-realtime":
        ended = {txn: operations[txn].completed_ns if outcome[txn] == OK else None for txn in live}
        intervals = [(operations[txn].invoked_ns, ended[txn], txn) for txn in live]
        known += [(commit(a), start(b)) for a, b in interval_reduction(intervals)]

    readers: dict[int, set[int]] = {}
    writers: dict[int, dict[int, int]] = {}  # by key: transaction -> its last version
    for txn in live:
        for is_write, version in columns.micro[txn]:
            if is_write:
                writers.setdefault(columns.key[version], {})[txn] = version
            elif outcome[txn] == OK:
                readers.setdefault(version, set()).add(txn)
    for version, seen_by in readers.items():
        writer = columns.writer[version]
        for reader in seen_by:
            if writer == INITIAL:
                later = writers.get(columns.key[version], {})
                known += [(start(reader), commit(other)) for other in later if other != reader]
            elif writer != reader:
                known.append((commit(writer), start(reader)))
    choices: list[Choice] = []
    for versions in writers.values():
        for (a, first), (b, second) in combinations(versions.items(), 2):
            meter.check()
            if not snapshot and first not in readers and second not in readers:
                continue
            choices.append(
                tuple(
                    (
                        (commit(before), start(after)),
                        *(
                            (start(reader), commit(after))
                            for reader in readers.get(version, ())
                            if reader not in (before, after)
                        ),
                    )
                    for before, version, after in ((a, first, b), (b, second, a))
                )  # type: ignore[arg-type]
            )
        if len(choices) > MOST_CHOICES:
            return None
    return Polygraph(width * len(live), known, choices, _hint(columns, live, snapshot=snapshot))


def _hint(columns: RegisterColumns, live: list[int], *, snapshot: bool) -> list[int]:
    """Where time suggests that the nodes stand: around the middle of a transaction, or at its ends."""
    hint: list[int] = []
    for txn in live:
        operation = columns.timeline.operations[txn]
        end = operation.invoked_ns if operation.completed_ns is None else operation.completed_ns
        hint += [operation.invoked_ns, end] if snapshot else [operation.invoked_ns + end]
    return hint
