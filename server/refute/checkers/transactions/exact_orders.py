"""Which transactions have no order: as constraints on registers, solved exactly, and cut down to a few."""

from __future__ import annotations

from itertools import combinations

from refute.checkers.real_time import interval_reduction
from refute.checkers.spending import BudgetSpentError, Meter
from refute.checkers.transactions.polygraph import Choice, Edge, Polygraph
from refute.checkers.transactions.register_columns import INITIAL, RegisterColumns
from refute.checkers.transactions.register_order import Refuted, RegisterOrder
from refute.checkers.transactions.schedule import Read
from refute.checkers.transactions.timeline import OK

MOST_TRANSACTIONS, MOST_CHOICES = 3000, 150_000
MOST_SERIAL = 20_000
"""The closure of so many transactions takes 100 MB."""
_MOST_EXPLAINED = 300


def smallest(
    columns: RegisterColumns, live: list[int], meter: Meter, *, snapshot: bool, level: str
) -> list[int]:
    """Fewer transactions that still cannot be ordered: each is left out once, in what time allows."""
    core = list(live)
    left_s = meter.left.time_limit_s
    until_s = meter.elapsed_s + (2.0 if left_s is None else min(2.0, left_s / 2))
    for txn in reversed(live):
        if meter.elapsed_s > until_s or len(live) > _MOST_EXPLAINED:
            break
        rest = [one for one in core if one != txn]
        if any(txn in columns.read_from(one) for one in rest):
            continue
        try:
            if rest and refuted(columns, rest, meter, snapshot=snapshot, level=level):
                core = rest
        except BudgetSpentError:  # it is decided, whatever else could be left out
            break
    return core


def with_writers(columns: RegisterColumns, some: list[int]) -> list[int]:
    """With those whose writes they read, and so on, where that stays small: they explain themselves."""
    closed, todo = set(some), list(some)
    while todo and len(closed) <= _MOST_EXPLAINED:
        further = columns.read_from(todo.pop()) - closed
        closed |= further
        todo += further
    return sorted(closed if not todo else some)


def refuted(
    columns: RegisterColumns, live: list[int], meter: Meter, *, snapshot: bool, level: str
) -> list[int] | None:
    """Of these transactions some that have no order, none where all have one; None where they are too many.

    What was read of a transaction that is not among them is not asked for.
    """
    if snapshot:
        graph = _polygraph(columns, live, meter, level)
        if graph is None:
            return None
        return [] if graph.solve(meter.check) is not None else live
    found = _register_order(columns, live, level).solve(meter.check)
    return [live[node] for node in found.nodes] if isinstance(found, Refuted) else []


def _register_order(columns: RegisterColumns, live: list[int], level: str) -> RegisterOrder:
    """What is to be ordered one after the other."""
    node = {txn: place for place, txn in enumerate(live)}
    outcome = columns.timeline.outcome
    writers: dict[int, dict[int, None]] = {}
    for txn in live:
        for is_write, version in columns.micro[txn]:
            if is_write:
                writers.setdefault(columns.key[version], {})[node[txn]] = None
    keys = {key: place for place, key in enumerate(writers)}
    known = _between(columns, live, level)
    reads: dict[Read, None] = {}
    for txn in live:
        for is_write, version in columns.micro[txn] if outcome[txn] == OK else ():
            key, writer = columns.key[version], columns.writer[version]
            if is_write or writer == txn:
                continue
            if writer == INITIAL:
                known += [(node[txn], other) for other in writers.get(key, ()) if other != node[txn]]
            elif writer in node:
                reads[Read(node[txn], keys[key], node[writer])] = None
    hint = _hint(columns, live, snapshot=False)
    return RegisterOrder(len(live), known, [list(some) for some in writers.values()], list(reads), hint)


def _between(columns: RegisterColumns, live: list[int], level: str) -> list[Edge]:
    """The order beyond data, as edges between the places of transactions."""
    node = {txn: place for place, txn in enumerate(live)}
    operations, outcome = columns.timeline.operations, columns.timeline.outcome
    if level == "-process":
        timeline = columns.timeline
        previous = dict(zip(timeline.session_target, timeline.session_source, strict=True))
        edges = []
        for txn in live:
            earlier = previous.get(txn)
            while earlier is not None and earlier not in node:
                earlier = previous.get(earlier)
            if earlier is not None:
                edges.append((node[earlier], node[txn]))
        return edges
    if level == "-realtime":
        ended = {txn: operations[txn].completed_ns if outcome[txn] == OK else None for txn in live}
        intervals = [(operations[txn].invoked_ns, ended[txn], node[txn]) for txn in live]
        return list(interval_reduction(intervals))
    return []


def _polygraph(columns: RegisterColumns, live: list[int], meter: Meter, level: str) -> Polygraph | None:
    """What is known of the order of snapshots and commits, and the choices; None where it is too large."""
    node = {txn: place for place, txn in enumerate(live)}
    outcome = columns.timeline.outcome

    def start(txn: int) -> int:
        return 2 * node[txn]

    def commit(txn: int) -> int:
        return 2 * node[txn] + 1

    known: list[Edge] = [(start(txn), commit(txn)) for txn in live]
    known += [(2 * a + 1, 2 * b) for a, b in _between(columns, live, level)]

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
            elif writer != reader and writer in node:
                known.append((commit(writer), start(reader)))
    choices: list[Choice] = []
    for versions in writers.values():
        for (a, first), (b, second) in combinations(versions.items(), 2):
            meter.check()
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
    return Polygraph(2 * len(live), known, choices, _hint(columns, live, snapshot=True))


def _hint(columns: RegisterColumns, live: list[int], *, snapshot: bool) -> list[int]:
    """Where time suggests that the nodes stand: around the middle of a transaction, or at its ends."""
    hint: list[int] = []
    for txn in live:
        operation = columns.timeline.operations[txn]
        end = operation.invoked_ns if operation.completed_ns is None else operation.completed_ns
        hint += [operation.invoked_ns, end] if snapshot else [operation.invoked_ns + end]
    return hint
