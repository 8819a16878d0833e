"""Stacks and priority queues whose values differ: decided without a search, unseen takes and all."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from refute.checkers import Budget, run_check
from refute.checkers.linearizable import unseen_takes
from refute.checkers.planted import simulated_objects
from refute.checkers.planted.simulated import Shape
from refute.checkers.result import Result
from refute.history import History, Operation, Outcome
from tests.checkers import brute_force, plain_objects, small_histories
from tests.checkers.nightly import many
from tests.checkers.test_linearizable import check

KINDS = {"stack": ("push", "pop"), "priority-queue": ("insert", "delete-min")}
MODELS = sorted(KINDS)


def put(value: int, start: int, end: int | None, outcome: str = "ok") -> Operation:
    return Operation(0, f"p{value}", "put", None, value, None, Outcome(outcome), start, end)


def take(value: int | None, start: int, end: int | None, outcome: str = "ok") -> Operation:
    return Operation(0, f"t{start}", "take", None, None, value, Outcome(outcome), start, end)


def lost(start: int) -> Operation:
    return take(None, start, None, "info")


def asked(model: str, *operations: Operation) -> Result:
    result = check(*operations, model=model)
    assert "search" not in result.algorithm
    return result


HAND_MADE: list[tuple[str, bool, list[Operation]]] = [
    ("stack", True, [put(1, 0, 1), put(2, 2, 3), take(2, 4, 5), take(1, 6, 7)]),
    ("stack", False, [put(1, 0, 1), put(2, 2, 3), take(1, 4, 5), take(2, 6, 7)]),
    ("stack", True, [put(1, 0, 3), put(2, 2, 4), take(1, 5, 6), take(2, 7, 8)]),
    ("stack", True, [put(1, 0, 1), put(2, 2, 3), take(1, 4, 6), take(2, 5, 7)]),
    ("stack", False, [put(1, 0, 1), put(2, 2, 3), take(1, 4, 5)]),
    ("stack", True, [put(1, 0, 1), put(2, 2, 3), take(2, 4, 5)]),
    # One that may never have been put is no hindrance; one that was taken was put.
    ("stack", True, [put(1, 0, 1), put(2, 2, 3, "info"), take(1, 4, 5)]),
    ("stack", True, [put(1, 0, 1), put(2, 2, 3, "info"), take(1, 4, 5), take(2, 6, 7)]),
    # An unseen take may have taken what is missing, if it began in time; but only one value.
    ("stack", True, [put(1, 0, 1), put(2, 2, 3), lost(4), take(1, 5, 6)]),
    ("stack", False, [put(1, 0, 1), put(2, 2, 3), take(1, 5, 6), lost(7)]),
    ("stack", False, [put(1, 0, 1), put(2, 2, 3), put(3, 2, 3), lost(4), take(1, 5, 6)]),
    ("stack", True, [put(1, 0, 1), put(2, 2, 3), put(3, 2, 3), lost(4), lost(4), take(1, 5, 6)]),
    # Empty.
    ("stack", True, [put(1, 0, 5), take(None, 1, 2), take(1, 6, 7)]),
    ("stack", False, [put(1, 0, 1), take(None, 2, 3), take(1, 4, 5)]),
    ("stack", False, [put(1, 0, 1), put(2, 2, 3), take(2, 4, 9), take(None, 5, 8), take(1, 10, 11)]),
    ("stack", True, [put(1, 0, 1), lost(2), take(None, 3, 4)]),
    ("stack", False, [put(1, 0, 1), take(None, 3, 4), lost(5)]),
    # Any two of these have an order, all three have none.
    ("stack", False, [
        put(3, 0, 2), put(2, 1, 4), put(1, 3, 7), take(3, 5, 6), take(2, 8, 9), take(1, 10, 11),
    ]),
    ("stack", True, [put(3, 0, 2), put(2, 1, 4), take(3, 5, 6), take(2, 8, 9)]),
    ("stack", True, [put(2, 1, 4), put(1, 3, 7), take(2, 8, 9), take(1, 10, 11)]),
    ("stack", True, [put(3, 0, 2), put(1, 3, 7), take(3, 5, 6), take(1, 10, 11)]),
    ("priority-queue", True, [put(2, 0, 1), put(1, 2, 3), take(1, 4, 5), take(2, 6, 7)]),
    ("priority-queue", False, [put(2, 0, 1), put(1, 2, 3), take(2, 4, 5), take(1, 6, 7)]),
    ("priority-queue", True, [put(2, 0, 1), put(1, 2, 6), take(2, 4, 5), take(1, 7, 8)]),
    ("priority-queue", False, [put(2, 0, 1), put(1, 2, 3), take(2, 4, 5)]),
    ("priority-queue", True, [put(2, 0, 1), put(1, 2, 3), lost(4), take(2, 5, 6)]),
    ("priority-queue", False, [put(2, 0, 1), put(1, 2, 3), take(2, 4, 5), lost(6)]),
    ("priority-queue", True, [put(2, 0, 1), put(1, 2, 3, "info"), take(2, 4, 5)]),
    # 1 and 2 take turns in being smaller than 3, and one of them is always there.
    ("priority-queue", False, [
        put(1, 0, 1), put(3, 0, 1), put(2, 4, 5), take(1, 6, 7), take(3, 2, 9), take(2, 10, 11),
    ]),
    ("priority-queue", True, [
        put(1, 0, 1), put(3, 0, 1), put(2, 4, 7), take(1, 5, 6), take(3, 2, 9), take(2, 10, 11),
    ]),
    # What an unseen take has removed must have been the smallest.
    ("priority-queue", False, [put(1, 0, 1), put(2, 2, 3), lost(4), take(None, 5, 6)]),
    ("priority-queue", True, [put(1, 0, 1), put(2, 2, 3), lost(4), lost(4), take(None, 5, 6)]),
    ("priority-queue", False, [put(1, 0, 1), take(None, 2, 3), take(1, 4, 5)]),
]  # fmt: skip


@pytest.mark.parametrize(("model", "holds", "operations"), HAND_MADE)
def test_what_must_pass_and_what_must_fail(model: str, holds: bool, operations: list[Operation]) -> None:
    result = asked(model, *operations)
    assert result.valid is holds
    if not holds:
        (anomaly,) = result.anomalies
        assert check(*anomaly.operations, model=model).valid is False


def test_the_reason_is_told_with_the_values() -> None:
    crossed = [put(1, 0, 1), put(2, 2, 3), take(1, 4, 5), take(2, 6, 7)]
    (anomaly,) = asked("stack", *crossed, put(3, 8, 9), take(3, 10, 11)).anomalies
    assert anomaly.sentence == "2 was put after 1 and was still there when 1 was taken"
    assert [one.input or one.output for one in anomaly.operations] == [1, 2, 1, 2]
    (anomaly,) = asked("priority-queue", put(1, 0, 1), put(5, 2, 3), take(5, 4, 5)).anomalies
    assert anomaly.name == "lost or reordered"
    assert anomaly.sentence == "5 was taken although 1, which is smaller, was inside"
    (anomaly,) = asked("stack", put(1, 0, 1), take(None, 2, 3)).anomalies
    assert anomaly.name == "false empty"
    few = [put(1, 0, 1), put(2, 2, 3), put(3, 2, 3), lost(4), take(1, 5, 6)]
    assert "too few takes are unknown" in asked("stack", *few).anomalies[0].sentence


@pytest.mark.parametrize("model", MODELS)
def test_repeated_values_are_searched(model: str) -> None:
    result = check(put(1, 0, 1), put(1, 2, 3), take(1, 4, 5), model=model)
    assert result.valid is True
    assert result.algorithm.endswith("and search")


def crowded(seed: int, model: str) -> History:
    """Much at the same time, many unseen takes, and some takes exchanged."""
    rng = random.Random(seed)
    asks, takes = KINDS[model]
    fresh = list(range(1, 12))
    rng.shuffle(fresh)
    share = rng.choice([0.5, 0.6])

    def make(rng: random.Random) -> tuple[str, Any, Any]:
        return (asks, None, fresh.pop()) if rng.random() < share else (takes, None, None)

    made = small_histories.history(
        rng, make, lambda *now: plain_objects.run(model, *now), lambda rng, kind, output: output,
        initial=(), size=rng.randint(4, 9), clients=rng.randint(2, 5),
        unknown=rng.choice([0.1, 0.25, 0.4]), failed=0.0, spoilt=0.0,
    )  # fmt: skip
    operations = list(made.operations)
    answered = [n for n, one in enumerate(operations) if one.kind == takes and one.outcome is Outcome.OK]
    if len(answered) > 1 and rng.random() < 0.7:
        one, other = rng.sample(answered, 2)
        first, second = operations[one], operations[other]
        operations[one] = replace(first, output=second.output)
        operations[other] = replace(second, output=first.output)
    if answered and rng.random() < 0.2:
        chosen = rng.choice(answered)
        operations[chosen] = replace(operations[chosen], output=None)
    return History(operations)


def try_many(model: str, seeds: range) -> dict[bool, int]:
    seen = {True: 0, False: 0}
    step = plain_objects.step(model)
    for seed in seeds:
        history = crowded(seed, model)
        if not any(one.outcome is Outcome.OK for one in history.operations):
            continue
        result = run_check("linearizable", history, {"model": model})
        truth = brute_force.linearizable(history.operations, [()], step)
        assert result.valid is truth, (model, seed, result, list(history.operations))
        assert "search" not in result.algorithm, (model, seed)
        seen[truth] += 1
        if not truth:
            proof = result.anomalies[0].operations
            assert not brute_force.linearizable(proof, [()], step), (model, seed, proof)
    return seen


@pytest.mark.parametrize("model", MODELS)
def test_crowded_histories_agree_with_every_order(model: str) -> None:
    seen = try_many(model, range(400))
    assert min(seen.values()) > 50, seen


@many()
@pytest.mark.parametrize("model", MODELS)
def test_very_many_crowded_histories_agree_with_every_order(model: str, seeds: range) -> None:
    seen = try_many(model, seeds)
    assert min(seen.values()) > 500, seen


@pytest.mark.parametrize(("model", "order"), [("stack", "lifo"), ("priority-queue", "least")])
def test_whole_histories_of_realistic_shape_are_decided(model: str, order: str) -> None:
    history = simulated_objects.queues(3, Shape(operations=2_000, clients=8), order=order)
    result = run_check("linearizable", history, {"model": model}, budget=Budget(60.0, None))
    assert result.valid is True
    assert "search" not in result.algorithm


def test_where_too_many_choices_are_open_the_search_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unseen_takes, "_MOST_TRIES", 0)
    result = check(put(1, 0, 1), put(2, 2, 3), lost(4), take(1, 5, 6), model="stack")
    assert result.valid is True
    assert result.algorithm == "nesting and search"
