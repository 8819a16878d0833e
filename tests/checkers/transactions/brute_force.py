"""Slow, obvious checkers: serial orders and snapshots by enumeration, dependency cycles by definition."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations, permutations, product
from typing import Any

from refute.history import History, Operation, Outcome


def _subsets(items: list[Operation]) -> Iterator[tuple[Operation, ...]]:
    return chain.from_iterable(combinations(items, size) for size in range(len(items) + 1))


def _worlds(history: History) -> Iterator[list[Operation]]:
    """Every set of transactions that may have happened."""
    sure = [op for op in history.operations if op.outcome is Outcome.OK]
    unsure = [op for op in history.operations if op.outcome is Outcome.INFO]
    for some in _subsets(unsure):
        yield [*sure, *some]


def _micro(op: Operation) -> list[Any]:
    return op.output if op.outcome is Outcome.OK else op.input


def _agrees(op: Operation, state: dict[str, Any]) -> bool:
    """Runs a transaction on a state; False where a read that was answered saw something else."""
    for function, key, value in _micro(op):
        if function == "append":
            state[key] = [*state.get(key, []), value]
        elif function == "w":
            state[key] = value
        elif op.outcome is Outcome.OK:
            have = state.get(key, [] if isinstance(value, list) else None)
            if have != value:
                return False
    return True


def _precedes(first: Operation, second: Operation, order: str) -> bool:
    """Whether the first must come before the second by session or in real time."""
    if first.outcome is not Outcome.OK or first.completed_ns is None:
        return False
    if order == "realtime":
        return first.completed_ns < second.invoked_ns
    return order == "process" and first.process == second.process and first.invoked_ns < second.invoked_ns


def serializable(history: History, order: str = "") -> bool:
    """Whether some serial order of what may have happened explains every read."""
    for world in _worlds(history):
        for serial in permutations(world):
            if any(_precedes(b, a, order) for a, b in combinations(serial, 2)):
                continue
            state: dict[str, Any] = {}
            if all(_agrees(op, state) for op in serial):
                return True
    return False


def snapshot_isolated(history: History, order: str = "") -> bool:
    """Whether snapshots and commits can be interleaved so that every read is explained.

    A transaction reads from the state at its start; two that overlap do not write the same key. With
    an order, what must come before commits before the other starts.
    """
    for world in _worlds(history):
        if not world:
            return True
        writes = [{key for function, key, _ in _micro(op) if function != "r"} for op in world]
        stack: list[tuple[tuple[int, ...], dict[int, Any], frozenset[int], dict[str, Any]]] = [
            ((), {}, frozenset(), {})
        ]
        while stack:
            started, views, committed, state = stack.pop()
            if len(committed) == len(world):
                return True
            for txn, op in enumerate(world):
                if txn in committed:
                    continue
                if txn not in started:
                    if any(
                        _precedes(before, op, order) and other not in committed
                        for other, before in enumerate(world)
                    ):
                        continue
                    view = dict(state)
                    if _agrees(op, view):
                        stack.append(((*started, txn), {**views, txn: (view, committed)}, committed, state))
                else:
                    view, then = views[txn]
                    since = committed - then
                    if any(writes[txn] & writes[other] for other in since):
                        continue
                    after = {**state, **{key: view[key] for key in writes[txn]}}
                    stack.append((started, views, committed | {txn}, after))
    return False


def append_anomalies(history: History) -> set[str]:
    """Every class of cycles of a list-append history, by its definition; None of the other anomalies.

    Only for histories whose reads of a key are prefixes of one another.
    """
    order: dict[str, list[int]] = {}
    writer: dict[tuple[str, int], Operation] = {}
    for op in history.operations:
        for function, key, value in _micro(op):
            if function == "append":
                writer[key, value] = op
            elif op.outcome is Outcome.OK and len(value) > len(order.get(key, [])):
                order[key] = value
    happened = [op for op in history.operations if op.outcome is Outcome.OK]
    for key, values in order.items():
        for value in values:
            op = writer.get((key, value))
            if op and op.outcome is Outcome.INFO and op not in happened:
                happened.append(op)

    def place(key: str, value: int) -> float:
        values = order.get(key, [])
        return values.index(value) if value in values else float("inf")

    kinds: dict[tuple[int, int], set[str]] = {}
    for a, first in enumerate(happened):
        for b, second in enumerate(happened):
            if a == b:
                continue
            found = kinds.setdefault((a, b), set())
            for function, key, value in _micro(first):
                for other, same, after in _micro(second):
                    if key != same:
                        continue
                    if function == other == "append" and place(key, value) < place(key, after):
                        found.add("ww")
                    read = other == "r" and second.outcome is Outcome.OK
                    if function == "append" and read and value in after:
                        found.add("wr")
                    read = function == "r" and first.outcome is Outcome.OK
                    if read and other == "append" and after not in value and place(key, after) >= len(value):
                        found.add("rw")
            if _precedes(first, second, "process"):
                found.add("process")
            if _precedes(first, second, "realtime"):
                found.add("realtime")
    names: set[str] = set()
    for size in range(2, len(happened) + 1):
        for nodes in permutations(range(len(happened)), size):
            if nodes[0] != min(nodes):
                continue
            steps = [kinds[nodes[i], nodes[(i + 1) % size]] for i in range(size)]
            for chosen in product(*steps):
                names.add(_class(chosen))
    return names


def _class(kinds: tuple[str, ...]) -> str:
    anti = kinds.count("rw")
    if all(kind in ("process", "realtime") for kind in kinds):
        raise AssertionError("time runs in a circle")
    if anti > 1:
        adjacent = any(kinds[i] == kinds[i - 1] == "rw" for i in range(len(kinds)))
        name = "G2-item" if adjacent else "G-nonadjacent"
    else:
        name = "G-single" if anti else "G1c" if "wr" in kinds else "G0"
    if "realtime" in kinds:
        return name + "-realtime"
    return name + ("-process" if "process" in kinds else "")


def weakly_consistent(history: History, level: str, *, sessions: bool = True) -> bool:
    """Read committed, read atomic or causal by the axioms of Biswas and Enea, over all commit orders.

    Where t3 reads a key from t1, every other t2 that wrote the key and is visible to the read commits
    before t1. Visible: seen by an earlier read of t3 (read committed); before t3 in its session or read
    by t3 (read atomic); before t3 by any number of those steps (causal). Without `sessions` the order of
    a process binds nobody.
    """
    ops = [op for op in history.operations if op.outcome is not Outcome.FAIL]
    final: dict[tuple[str, Any], int] = {}
    keys_of: list[set[str]] = []
    for number, op in enumerate(ops):
        last = {key: value for function, key, value in _micro(op) if function == "w"}
        keys_of.append(set(last))
        final.update(dict.fromkeys(last.items(), number))
    reads: list[list[tuple[str, int]]] = [[] for _ in ops]  # (key, writer), -1 for the initial state
    for number, op in enumerate(ops):
        own: dict[str, Any] = {}
        for function, key, value in _micro(op):
            if function == "w":
                own[key] = value
            elif op.outcome is not Outcome.OK:
                continue
            elif key in own:
                if value != own[key]:
                    return False
            elif value is None:
                reads[number].append((key, -1))
            elif final.get((key, value), number) == number:
                return False
            else:
                reads[number].append((key, final[key, value]))
        if level != "read-committed" and len(set(reads[number])) != len({key for key, _ in reads[number]}):
            return False
    direct = {
        (a, b)
        for a, first in enumerate(ops)
        for b, second in enumerate(ops)
        if sessions and _precedes(first, second, "process")
    } | {(writer, b) for b, seen in enumerate(reads) for _, writer in seen if writer >= 0}
    visible = set(direct)
    while level == "causal":
        more = {(a, d) for a, b in visible for c, d in visible if b == c} - visible
        if not more:
            break
        visible |= more
    if any(a == b for a, b in visible):
        return False
    for order in permutations(range(len(ops))):
        place = {number: at for at, number in enumerate(order)} | {-1: -1}
        if any(place[a] >= place[b] for a, b in direct):
            continue
        good = True
        for reader, seen in enumerate(reads):
            for at, (key, writer) in enumerate(seen):
                if level == "read-committed":
                    before = {other for _, other in seen[:at] if other >= 0}
                else:
                    before = {a for a, b in visible if b == reader}
                good = good and all(
                    place[other] < place[writer]
                    for other in before
                    if key in keys_of[other] and other != writer
                )
        if good:
            return True
    return False
