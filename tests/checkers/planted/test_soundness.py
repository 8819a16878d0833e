"""What is planted is a violation: every copy of a small history is refuted by trying everything."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import Any

import pytest

from refute.checkers import Result
from refute.checkers.planted import operators_for, plant
from refute.checkers.planted import simulated_objects as simulated
from refute.checkers.planted.ground import Ground
from refute.checkers.planted.simulated import Shape
from refute.checkers.planted.simulated_transactions import transactions
from refute.history import History, Operation, Outcome

SMALL = Shape(operations=14, clients=3, info=0.08, fail=0.05)


def end(operation: Operation) -> int:
    if operation.outcome is Outcome.OK and operation.completed_ns is not None:
        return operation.completed_ns
    return 2**62


def step(state: Any, operation: Operation) -> tuple[bool, Any]:
    """One operation of a register: whether it may happen in this state, and the state after it."""
    known = operation.outcome is Outcome.OK
    if operation.kind == "read":
        return (not known or state == operation.output), state
    if operation.kind == "cas":
        expected, value = operation.input
        return (state == expected, value) if state == expected or known else (True, state)
    return True, None if operation.kind == "delete" else operation.input


def linearizable(operations: Iterable[Operation]) -> bool:
    """Tries every order that real time allows, with every choice of what is unknown."""
    calls = [o for o in operations if o.outcome is not Outcome.FAIL]
    sure = frozenset(n for n, o in enumerate(calls) if o.outcome is Outcome.OK)
    seen: set[tuple[frozenset[int], Any]] = set()
    todo: list[tuple[frozenset[int], Any]] = [(frozenset(), None)]
    while todo:
        done, state = todo.pop()
        if sure <= done:
            return True
        if (done, state) in seen:
            continue
        seen.add((done, state))
        horizon = min(end(o) for n, o in enumerate(calls) if n not in done)
        for number, operation in enumerate(calls):
            if number not in done and operation.invoked_ns <= horizon:
                possible, after = step(state, operation)
                if possible:
                    todo.append((done | {number}, after))
    return False


def register_is_linearizable(history: History) -> bool:
    by_key: dict[Any, list[Operation]] = {}
    for operation in history.operations:
        by_key.setdefault(operation.key, []).append(operation)
    return all(map(linearizable, by_key.values()))


def register_plantings(seeds: Iterable[int]) -> Counter[str]:
    found: Counter[str] = Counter()
    for seed in seeds:
        history = simulated.registers(seed, SMALL, keys=1 + seed % 2, compare=0.1, deletes=0.05)
        assert register_is_linearizable(history)
        ground = Ground(history, "linearizable", {"model": "cas-register"})
        for operator in operators_for("linearizable", {"model": "cas-register"}):
            for planting in itertools.islice(operator.places(ground, Random(seed)), 2):
                assert not register_is_linearizable(planting.history), (operator.name, planting.sentence)
                found[operator.name] += 1
    return found


def test_every_violation_planted_in_a_register_is_one() -> None:
    found = register_plantings(range(300))
    assert set(found) == {o.name for o in operators_for("linearizable", {"model": "cas-register"})}
    assert found.total() > 1_000


@pytest.mark.nightly
def test_every_violation_planted_in_a_register_is_one_at_length() -> None:
    assert register_plantings(range(20_000)).total() > 50_000


def serializable(history: History) -> bool:
    """Tries every serial order of the transactions, with every choice of what is unknown."""
    calls = [o for o in history.operations if o.outcome is not Outcome.FAIL]
    sure = frozenset(n for n, o in enumerate(calls) if o.outcome is Outcome.OK)
    seen: set[Any] = set()
    todo: list[tuple[frozenset[int], tuple[tuple[Any, tuple[Any, ...]], ...]]] = [(frozenset(), ())]
    while todo:
        done, lists = todo.pop()
        if sure <= done:
            return True
        if (done, lists) in seen:
            continue
        seen.add((done, lists))
        for number, operation in enumerate(calls):
            after = run(dict(lists), operation) if number not in done else None
            if after is not None:
                todo.append((done | {number}, tuple(sorted(after.items(), key=repr))))
    return False


def run(lists: dict[Any, tuple[Any, ...]], operation: Operation) -> dict[Any, tuple[Any, ...]] | None:
    known = operation.outcome is Outcome.OK
    for function, key, value in operation.output if known else operation.input:
        if function == "append":
            lists[key] = (*lists.get(key, ()), value)
        elif known and tuple(value or ()) != lists.get(key, ()):
            return None
    return lists


def list_plantings(seeds: Iterable[int]) -> Counter[str]:
    found: Counter[str] = Counter()
    shape = Shape(operations=9, clients=3, info=0.05, fail=0.02)
    for seed in seeds:
        history = transactions(seed, shape, keys=2, most=3)
        assert serializable(history)
        ground = Ground(history, "list-append", {})
        for operator in operators_for("list-append", {}):
            for planting in itertools.islice(operator.places(ground, Random(seed)), 2):
                assert not serializable(planting.history), (operator.name, planting.sentence)
                found[operator.name] += 1
    return found


def test_every_violation_planted_in_lists_is_one() -> None:
    found = list_plantings(range(100))
    assert set(found) == {o.name for o in operators_for("list-append", {})}


@pytest.mark.nightly
def test_every_violation_planted_in_lists_is_one_at_length() -> None:
    assert list_plantings(range(3_000)).total() > 10_000


def test_a_copy_of_one_object_is_all_that_a_large_history_costs() -> None:
    history = simulated.registers(1, Shape(operations=4_000, clients=5), keys=40)
    largest = 0

    def measure(name: str, copy: History, options: Any) -> Any:
        nonlocal largest
        largest = max(largest, len(copy.operations))
        return Result(name, False)

    plant(history, "linearizable", {"model": "register"}, seed=1, check=measure)
    assert 0 < largest < 400
