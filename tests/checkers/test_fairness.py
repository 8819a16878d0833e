"""Fairness: each formula at its bound, groups that prove nothing, and weights."""

from __future__ import annotations

import pytest

from refute.checkers import CheckerError, run_check
from refute.checkers.fairness import jain
from refute.history import FaultEvent, FaultPhase, History

from .scribe import Scribe

MS = 1_000_000


def served(**counts: int) -> Scribe:
    """Twenty requests of each group, of which so many succeed."""
    write = Scribe()
    for group, count in counts.items():
        for number in range(20):
            outcome = "ok" if number < count else "fail"
            at = number * 10 * MS
            write(f"{group}-{number}", "get", at, at + MS, outcome=outcome, group=group)
    return write


def valid(scribe: Scribe, **options: object) -> object:
    return run_check("fairness", scribe.history(), options).valid


def test_the_ratio_of_most_to_least() -> None:
    assert valid(served(a=20, b=10), max_min_ratio=2) is True
    assert valid(served(a=20, b=9), max_min_ratio=2) is False
    assert valid(served(a=20, b=0), max_min_ratio=1000) is False


def test_jains_index() -> None:
    assert jain([1.0, 1.0, 1.0]) == pytest.approx(1)
    assert jain([1.0, 0.0, 0.0, 0.0]) == pytest.approx(1 / 4)
    assert jain([0.0]) is None
    assert valid(served(a=20, b=20), min_jain=0.99) is True
    assert valid(served(a=20, b=5), min_jain=0.9) is False


def test_shares_by_weight() -> None:
    assert valid(served(a=20, b=10), share_tolerance=0.1) is False
    assert valid(served(a=20, b=10), share_tolerance=0.1, weights={"a": 2, "b": 1}) is True
    assert valid(served(a=20, b=10), max_min_ratio=1.1, weights={"a": 2, "b": 1}) is True


def test_starvation_is_the_longest_wait_for_any_answer() -> None:
    write = served(a=20, b=20)(99, "get", 1000 * MS, 1300 * MS, group="a")
    assert valid(write, max_starvation_ms=300) is True
    result = run_check("fairness", write.history(), {"max_starvation_ms": 299})
    assert result.valid is False
    assert result.anomalies[0].name == "starvation"
    assert result.details["starvation_ms"]["a"] == 300


def test_a_group_that_does_not_ask_does_not_starve() -> None:
    write = served(a=20, b=20)(99, "get", 9000 * MS, 9001 * MS, group="a")
    assert valid(write, max_starvation_ms=50) is True


def test_one_group_or_too_few_requests_prove_nothing() -> None:
    assert valid(served(a=20), max_min_ratio=2) == "unknown"
    assert valid(served(a=20, b=20), max_min_ratio=2, groups=["a", "b", "c"]) == "unknown"
    assert valid(served(a=20, b=20), max_min_ratio=2, min_operations=21) == "unknown"
    assert valid(served(a=0, b=0), min_jain=0.5) == "unknown"


def test_a_bound_is_needed() -> None:
    with pytest.raises(CheckerError, match="bound"):
        run_check("fairness", served(a=20, b=20).history())


def test_cost_is_what_was_used() -> None:
    write = Scribe()
    for number in range(20):
        write(f"a{number}", "get", number, number + 1, group="a", cost=10)
        write(f"b{number}", "get", number, number + 1, group="b", cost=1)
    assert valid(write, max_min_ratio=2) is True
    assert valid(write, max_min_ratio=2, measure="cost") is False


def test_only_the_time_under_a_fault_may_count() -> None:
    write = Scribe()
    for number in range(40):
        for group in "ab":
            outcome = "fail" if group == "b" and number >= 20 else "ok"
            write(f"{group}{number}", "get", number * MS, number * MS + 1, group=group, outcome=outcome)
    history = write.history()
    events = [
        FaultEvent("f1", phase, at * MS, "proxy", "partition", ("n1",), 1)
        for phase, at in ((FaultPhase.APPLIED, 20), (FaultPhase.HEALED, 50))
    ]
    history = History(history.operations, tuple(events))
    assert run_check("fairness", history, {"max_min_ratio": 3}).valid is True
    assert run_check("fairness", history, {"max_min_ratio": 3, "during": "fault"}).valid is False
    assert run_check("fairness", history, {"max_min_ratio": 3, "during": "healthy"}).valid is True
