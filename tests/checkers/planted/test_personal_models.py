"""What is planted in histories of a model that a person wrote is a violation, and is noticed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

import pytest

from refute.checkers import run_check
from refute.checkers.linearizable.personal import PersonalModel
from refute.checkers.planted import operators_for, plant
from refute.checkers.planted import simulated_objects as simulated
from refute.checkers.planted.ground import Ground
from refute.checkers.planted.on_personal_models import follow
from refute.checkers.planted.simulated import Shape
from refute.history import History, Operation, Outcome

from ..test_linearizable import history, op
from .test_object_soundness import counter, real_time, register, some_order


class Register:
    init = None
    by_key = True

    def step(self, state: Any, operation: Operation) -> tuple[bool, Any]:
        return register(state, operation)


class Counter:
    init = 0
    by_key = True

    def step(self, state: Any, operation: Operation) -> tuple[bool, Any]:
        return counter(state, operation)


class Queue:
    init = ()
    by_key = True

    def step(self, state: Any, operation: Operation) -> tuple[bool, Any]:
        if operation.kind == "enqueue":
            return True, (*state, operation.input)
        known = operation.outcome is Outcome.OK
        if not state:
            return not known or operation.output is None, state
        return not known or operation.output == state[0], state[1:]


class Anything:
    init = None

    def step(self, state: Any, operation: Operation) -> tuple[bool, Any]:
        return True, state


CASES: list[tuple[type, Callable[..., History]]] = [
    (Register, simulated.registers),
    (Counter, partial(simulated.counters, retries=0)),
    (Queue, simulated.queues),
]


@pytest.mark.parametrize(("model", "make"), CASES)
def test_what_is_planted_for_a_personal_model_is_noticed(model: type, make: Callable[..., History]) -> None:
    for seed in range(2):
        whole = make(seed, shape=Shape(operations=2_000))
        report = plant(whole, "linearizable", {"model": model}, seed=seed, time_limit_s=None)
        assert report.missed == ()
        assert report.tried >= 8, report


@pytest.mark.parametrize(
    ("model", "make", "step"), [(*CASES[0], register), (*CASES[1], counter)], ids=["register", "counter"]
)
def test_what_is_planted_for_a_personal_model_is_a_violation(
    model: type, make: Callable[..., History], step: Any
) -> None:
    found = 0
    for seed in range(60):
        whole = make(seed, shape=Shape(operations=12, clients=3, info=0.04, fail=0.03), keys=1)
        assert some_order(whole, step, real_time)
        ground = Ground(whole, "linearizable", {"model": model})
        for operator in operators_for("linearizable", {"model": model}):
            for planting in operator.places(ground, Random(seed)):
                assert not some_order(planting.history, step, real_time), (operator.name, planting.sentence)
                found += 1
    assert found > 300


@pytest.mark.parametrize(("model", "make"), CASES)
def test_following_every_order_agrees_with_the_checker(model: type, make: Callable[..., History]) -> None:
    seen = []
    for seed in range(150):
        rng = Random(seed)
        whole = make(seed, shape=Shape(operations=rng.randint(4, 14), clients=4, info=0.1))
        outputs = [o.output for o in whole.operations]
        spoilt = History(
            [
                o
                if rng.random() < 0.9 or o.outcome is not Outcome.OK
                else Operation(
                    o.index, o.process, o.kind, o.key, o.input, rng.choice(outputs), o.outcome, o.invoked_ns,
                    o.completed_ns,
                )
                for o in whole.operations
            ]
        )  # fmt: skip
        ends = follow(PersonalModel(model), spoilt.operations).values()
        none_left = any(end.refuted for end in ends)
        if not none_left and any(end.until_ns < 2**63 - 1 for end in ends):
            continue  # too many orders to follow them all
        assert run_check("linearizable", spoilt, {"model": model}).valid is not none_left
        seen.append(none_left)
    assert min(seen.count(True), seen.count(False)) > 20, seen


def test_a_model_that_forbids_nothing_proves_nothing() -> None:
    report = plant(simulated.registers(1), "linearizable", {"model": Anything}, seed=1)
    assert report.proves_nothing
    assert "the model forbids" in report.reason


def test_orders_are_followed_only_as_far_as_they_can_be() -> None:
    crowd = history(*(op(process, "write", process, 0, 100) for process in range(40)))
    (end,) = follow(PersonalModel(Register), crowd.operations).values()
    assert not end.refuted
    assert end.until_ns < 0
