"""Sequential consistency of registers: each process's own order, and no clock."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from refute.checkers import Budget, CheckerError, run_check
from refute.checkers.planted import plant, simulated_objects
from refute.checkers.planted.simulated import Shape
from refute.history import History, Outcome, Phase
from tests.checkers import brute_force
from tests.checkers.nightly import many
from tests.checkers.test_linearizable import explosive, history, op
from tests.checkers.test_linearizable_fuzz import small


def try_many(flavour: str, seeds: range) -> dict[bool, int]:
    seen = {True: 0, False: 0}
    for seed in seeds:
        tried = small(random.Random(seed), flavour)
        result = run_check("sequential", tried)
        if result.valid == "unknown":
            assert not any(one.outcome is Outcome.OK for one in tried.operations), (seed, result)
            continue
        truth = brute_force.linearizable(
            tried.operations, [frozenset()], brute_force.registers, brute_force.in_its_process
        )
        assert result.valid is truth, (seed, result, list(tried.operations))
        seen[truth] += 1
        if not truth:
            (anomaly,) = result.anomalies
            assert not brute_force.linearizable(
                anomaly.operations, [frozenset()], brute_force.registers, brute_force.in_its_process
            ), (seed, anomaly)
    return seen


@pytest.mark.parametrize("flavour", ["unique", "repeated", "cas", "unique-cas"])
def test_fast_and_slow_agree_on_small_histories(flavour: str) -> None:
    seen = try_many(flavour, range(3000))
    assert min(seen.values()) > 100, seen


def test_unknown_compare_and_sets_that_may_see_each_other_end() -> None:
    try_many("cas", range(27_109, 27_110))


@many()
@pytest.mark.parametrize("flavour", ["unique", "repeated", "cas", "unique-cas"])
def test_fast_and_slow_agree_on_very_many_small_histories(flavour: str, seeds: range) -> None:
    seen = try_many(flavour, seeds)
    assert min(seen.values()) > 400, seen


def check(*operations: Any, **more: Any) -> Any:
    return run_check("sequential", history(*operations, **more))


def test_a_stale_read_by_another_process_is_allowed() -> None:
    stale = (op(0, "write", 1, 0, 1), op(0, "write", 2, 2, 3), op(1, "read", 1, 10, 11))
    assert check(*stale).valid is True
    assert check(*stale, clock="wall").valid is True
    assert run_check("linearizable", history(*stale)).valid is False


def test_two_processes_that_miss_each_others_writes_are_not() -> None:
    result = check(
        op(0, "write", 1, 0, 1, key="x"), op(0, "read", None, 2, 3, key="y"),
        op(1, "write", 1, 0, 1, key="y"), op(1, "read", None, 2, 3, key="x"),
        op(2, "write", 7, 0, 1, key="z"), op(2, "read", 7, 2, 3, key="z"),
    )  # fmt: skip
    assert result.valid is False
    assert len(result.anomalies[0].operations) == 4


@pytest.mark.parametrize("make", [simulated_objects.registers, simulated_objects.replicas])
def test_histories_of_realistic_shape_are_decided(make: Callable[..., History]) -> None:
    made = make(2, Shape(operations=1_000, clients=8))
    whole = History([one for one in made.operations if one.phase is not Phase.FINAL])
    result = run_check("sequential", whole, budget=Budget(60.0, None))
    assert (result.valid, result.algorithm) == (True, "saturation")
    assert result.assumptions
    report = plant(whole, "sequential", seed=1, time_limit_s=None)
    assert report.tried >= 5
    assert report.noticed == report.tried


def test_an_answer_that_nobody_wrote_is_named() -> None:
    result = check(op(0, "write", 1, 0, 1), op(1, "read", 7, 2, 3))
    assert result.valid is False
    assert result.anomalies[0].name == "garbage read"
    failed = check(op(0, "write", 7, 0, 1, "fail"), op(1, "read", 7, 2, 3))
    assert failed.anomalies[0].name == "aborted read"


def test_repeated_values_are_searched() -> None:
    twice = (op(0, "write", 1, 0, 1), op(0, "write", 1, 2, 3), op(1, "read", 1, 4, 5))
    assert check(*twice).algorithm == "search"
    assert check(*twice[1:]).algorithm == "saturation"


def test_an_unknown_compare_and_set_saw_what_it_expected_if_it_happened() -> None:
    swap = op(1, "cas", [1, 2], 0, 1, "info")
    seen = op(2, "read", 2, 4, 5)
    assert check(op(0, "write", 1, 2, 3), swap, seen).valid is True
    assert check(swap, seen).valid is False
    # Who reads 2 knows that 1 had been written, so that 1 came after what its writer saw before.
    assert check(
        op(0, "read", 2, 0, 1), op(0, "write", 1, 2, 3), swap, op(2, "read", 2, 4, 5)
    ).valid is False  # fmt: skip


def test_a_process_that_overlaps_itself_has_no_order() -> None:
    result = check(op(0, "write", 1, 0, 10), op(0, "read", 1, 5, 12))
    assert result.valid == "unknown"
    assert "process 0 had two operations in flight" in result.reason


def test_a_budget_ends_in_unknown_and_other_models_are_refused() -> None:
    result = run_check("sequential", explosive(40), budget=Budget(0.3, None))
    assert result.valid == "unknown"
    assert "time limit" in result.reason
    with pytest.raises(CheckerError, match="for registers"):
        run_check("sequential", explosive(5), {"model": "queue"})
