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
