"""Limits of time and memory, told by work that is counted: no clock and no machine decides these tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest

from refute.checkers import Budget, run_check
from refute.checkers.linearizable import check, sequential
from refute.checkers.linearizable.check import MODELS
from refute.checkers.result import Result
from refute.checkers.spending import BudgetSpentError, Meter
from refute.checkers.transactions import exact
from refute.history import History

from .explosive import CASES

SEARCHES = [case for case in CASES if not case[1].endswith("exact")]
EXACT = [case for case in CASES if case[1].endswith("exact")]
LIMIT = 20_000
"""How much work a search may do."""
LOOK = 32
"""The work that goes into what a search does between two looks at its limits, steps of the model apart."""


class Work:
    """A second and a byte for each step that a model takes, and LOOK of them between two looks."""

    def __init__(self, look: int = 0) -> None:
        self.done, self._look = 0, look

    def clock(self) -> float:
        self.done += self._look
        return float(self.done)

    def resident(self) -> int:
        return self.done


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    counted = Work(LOOK)
    for kind in {owner for model in MODELS.values() for owner in model.__mro__ if "step" in vars(owner)}:
        real = kind.step

        def step(self: Any, state: Any, call: Any, *, real: Callable[..., Any] = real) -> Any:
            counted.done += 1
            return real(self, state, call)

        monkeypatch.setattr(kind, "step", step)
    for module in (check, sequential):
        metered = partial(Meter, clock=counted.clock, resident=counted.resident)
        monkeypatch.setattr(module, "Meter", metered)
    return counted


@pytest.mark.parametrize(("limit", "unit"), [("time", "s"), ("memory", "MB")])
@pytest.mark.parametrize(("name", "checker", "options", "make"), SEARCHES, ids=[case[0] for case in SEARCHES])
def test_a_search_that_explodes_ends_within_a_tenth_of_its_limit(
    work: Work,
    name: str,
    checker: str,
    options: Mapping[str, Any],
    make: Callable[[], History],
    limit: str,
    unit: str,
) -> None:
    budget = Budget(LIMIT, None) if limit == "time" else Budget(None, LIMIT)
    result: Result = run_check(checker, make(), options, budget=budget)
    assert result.valid == "unknown"
    amount = LIMIT if limit == "time" else LIMIT / 1e6
    assert result.reason == f"the {limit} limit of {amount:g} {unit} is used up"
    assert LIMIT < work.done <= 1.1 * LIMIT


@pytest.mark.parametrize(("name", "checker", "options", "make"), EXACT, ids=[case[0] for case in EXACT])
def test_constraint_solving_looks_at_its_limit_often(
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    checker: str,
    options: Mapping[str, Any],
    make: Callable[[], History],
) -> None:
    looks = Work(1)
    monkeypatch.setattr(exact, "Meter", partial(Meter, clock=looks.clock))
    result = run_check(checker, make(), options, budget=Budget(1000.0, None))
    assert result.valid == "unknown"
    assert result.reason == "the time limit of 1000 s is used up"
    assert looks.done < 1100


def test_a_meter_names_the_limit_that_was_passed_first() -> None:
    work = Work()
    meter = Meter(Budget(10.0, 1_000_000), clock=work.clock, resident=lambda: 500_000 * work.done)
    meter.check()
    work.done = 2
    meter.check()
    work.done = 3
    with pytest.raises(BudgetSpentError, match="memory limit of 1 MB"):
        meter.check()
    work.done = 11
    with pytest.raises(BudgetSpentError, match="time limit of 10 s"):
        meter.check()


def test_what_was_held_before_is_not_the_checks() -> None:
    work = Work()
    work.done = 7_000
    meter = Meter(Budget(None, 5_000), clock=work.clock, resident=work.resident)
    work.done = 12_000
    meter.check()
    work.done = 12_001
    with pytest.raises(BudgetSpentError):
        meter.check()
