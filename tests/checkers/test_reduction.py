"""What is left of a history is a part of it that fails in the same way, and nothing of it can be spared."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import Any

import pytest

from refute.checkers import Anomaly, Budget, Result, run_check
from refute.checkers.planted import simulated_objects as objects
from refute.checkers.planted.ground import Ground
from refute.checkers.planted.plant import operators_for
from refute.checkers.planted.simulated import Shape
from refute.checkers.planted.simulated_transactions import transactions
from refute.checkers.reduction import Reduction, in_words, part_of, proof_of, reduce_history, same_conflict
from refute.history import History
from tests.session import pictures

SHAPE = Shape(operations=40, clients=3)
CASES: list[tuple[str, Mapping[str, Any], Callable[..., History]]] = [
    ("linearizable", {"model": "register"}, objects.registers),
    ("linearizable", {"model": "queue"}, objects.queues),
    ("sequential", {"model": "register"}, objects.registers),
    ("set-full", {"linearizable": True}, objects.elements),
    ("counter", {}, partial(objects.counters, keys=1, retries=0)),
    ("prefix", {}, partial(objects.elements, kind="append")),
    ("monotonic-reads", {}, objects.replicas),
    ("no-lost-acknowledged-write", {}, objects.registers),
    ("list-append", {}, transactions),
]


def violated(checker: str, options: Mapping[str, Any], make: Callable[..., History]) -> list[History]:
    """Copies with one violation planted in each."""
    found = []
    for seed in range(8):
        history = make(seed, shape=SHAPE)
        ground = Ground(history, checker, options)
        for operator in operators_for(checker, options):
            found += [
                planting.history for planting in itertools.islice(operator.places(ground, Random(seed)), 1)
            ]
    return found


def conflicts(history: History, checker: str, options: Mapping[str, Any]) -> tuple[Anomaly, ...]:
    result = run_check(checker, history, options)
    return result.anomalies if result.valid is False else ()


@pytest.mark.parametrize(("checker", "options", "make"), CASES)
def test_a_reduced_history_is_a_part_that_fails_the_same_way_and_cannot_be_reduced(
    checker: str, options: Mapping[str, Any], make: Callable[..., History]
) -> None:
    reduced = 0
    for history in violated(checker, options, make):
        found = reduce_history(history, checker, options, budget=Budget(30))
        if not isinstance(found, Reduction):
            assert found.valid is not False
            continue
        reduced += 1
        assert found.minimal, found.reason
        assert all(operation in history.operations for operation in found.history.operations)
        again = conflicts(found.history, checker, options)
        assert any(same_conflict(anomaly, found.anomaly) for anomaly in again)
        assert found.anomaly.name in {anomaly.name for anomaly in conflicts(history, checker, options)}
        if len(found.history) == len(proof_of(found.anomaly)):
            continue
        for operation in found.history.operations:
            rest = [other for other in found.history.operations if other is not operation]
            part = conflicts(part_of(history, rest), checker, options)
            assert not any(same_conflict(anomaly, found.anomaly) for anomaly in part), operation
    assert reduced >= 8


def test_the_few_operations_are_found_among_many() -> None:
    history = pictures.stale_read()
    found = reduce_history(history, "linearizable", {"model": "register"})
    assert isinstance(found, Reduction)
    assert [operation.index for operation in found.history.operations] == [0, 2, 5]
    assert in_words(found, len(history)).startswith("3 of 7 operations are enough: read of")


@pytest.mark.parametrize(("checker", "options", "make"), CASES)
def test_a_legal_history_is_not_reduced_to_an_illegal_one(
    checker: str, options: Mapping[str, Any], make: Callable[..., History]
) -> None:
    for seed in range(4):
        found = reduce_history(make(seed, shape=SHAPE), checker, options)
        assert isinstance(found, Result)
        assert found.valid is not False


def test_a_write_whose_read_was_left_out_is_not_another_conflict(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checker that calls any read without its write a stale read: parts must not be accepted for that."""
    history = pictures.stale_read()

    def careless(name: str, part: History, options: object = None, *, budget: object = None) -> Result:
        del options, budget
        written = {operation.input for operation in part.operations if operation.kind == "write"}
        reads = [operation for operation in part.operations if operation.kind == "read"]
        orphans = [operation for operation in reads if operation.output not in written]
        anomalies = [Anomaly("stale read", "nobody wrote it", (read,)) for read in orphans]
        both = tuple(op for op in part.operations if op.index in (2, 5))
        if len(both) == 2 and not orphans:
            anomalies.insert(0, Anomaly("stale read", "2 was acknowledged", both))
        return Result(name, not anomalies, {"operations": len(part)}, tuple(anomalies))

    monkeypatch.setattr("refute.checkers.reduction.run_check", careless)
    found = reduce_history(history, "careless")
    assert isinstance(found, Reduction)
    assert found.anomaly.sentence == "2 was acknowledged"
    assert [operation.index for operation in found.history.operations] == [0, 2, 5]


def test_a_budget_that_ends_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refute.checkers.reduction._MOST_TESTS", 2)
    history = objects.elements(3, shape=SHAPE)
    ground = Ground(history, "set-full", {"linearizable": True})
    needing_more = [
        found
        for operator in operators_for("set-full", {"linearizable": True})
        for planting in itertools.islice(operator.places(ground, Random(1)), 3)
        if isinstance(
            found := reduce_history(planting.history, "set-full", {"linearizable": True}), Reduction
        )
        and not found.minimal
    ]
    assert needing_more
    for found in needing_more:
        assert found.reason == "2 parts were tried"
        assert "It may be reducible further" in in_words(found, len(history))
        assert conflicts(found.history, "set-full", {"linearizable": True})
