"""Service levels: kept, broken or too close to call; waiting that a stalled client hides; recovery."""

from __future__ import annotations

import random

import numpy as np
import pytest

from refute.checkers import CheckerError, run_check
from refute.checkers.slo import _percentile
from refute.history import FaultEvent, FaultPhase, History

from .scribe import Scribe

MS = 1_000_000


def load(count: int = 1000, slow: float = 0.0, failed: float = 0.0, seed: int = 1) -> Scribe:
    """One request a millisecond that takes 5 ms, or 100 ms where it is slow."""
    rng = random.Random(seed)
    write = Scribe()
    for number in range(count):
        took = 100 if rng.random() < slow else 5
        outcome = "fail" if rng.random() < failed else "ok"
        write(number, "get", number * MS, (number + took) * MS, outcome=outcome)
    return write


def valid(scribe: Scribe, **options: object) -> object:
    return run_check("slo", scribe.history(), options).valid


def test_a_percentile_is_kept_broken_or_too_close_to_call() -> None:
    assert valid(load(slow=0.001), percentiles={"p99": 50}) is True
    assert valid(load(slow=0.05), percentiles={"p99": 50}) is False
    assert valid(load(slow=0.01), percentiles={"p99": 50}) == "unknown"


def test_the_proof_is_the_slow_operations() -> None:
    result = run_check("slo", load(slow=0.05).history(), {"percentiles": {99: 50}})
    assert result.anomalies[0].operations
    assert all((o.completed_ns or 0) - o.invoked_ns == 100 * MS for o in result.anomalies[0].operations)


def test_an_answer_that_never_came_is_slower_than_any_limit() -> None:
    write = load()
    for number in range(100):
        write(f"u{number}", "get", number * MS, (number + 1) * MS, outcome="info")
    assert valid(write, percentiles={"p95": 1_000_000}) is False


def test_what_waited_behind_a_stalled_client_counts() -> None:
    """A stall of one second: the client sends the next requests late, each of them fast."""
    write, hidden = Scribe(), Scribe()
    for number in range(1000):
        scheduled = number * 10 * MS
        start = max(scheduled, 3000 * MS) if 2000 * MS <= scheduled < 3000 * MS else scheduled
        write(number, "get", start, start + MS, scheduled_ns=scheduled)
        hidden(number, "get", start, start + MS)
    assert valid(write, percentiles={"p95": 100}) is False
    result = run_check("slo", hidden.history(), {"percentiles": {"p95": 100}})
    assert result.valid is True
    assert "scheduled_ns" in result.assumptions[0]


def test_no_error_in_a_few_requests_is_no_proof_of_none() -> None:
    assert valid(load(count=150), max_error_rate=0.01) == "unknown"
    assert valid(load(count=1000), max_error_rate=0.01) is True
    assert valid(load(count=1000, failed=0.05), max_error_rate=0.01) is False


def test_throughput_is_measured_in_successes_a_second() -> None:
    assert valid(load(count=3000), min_throughput_per_s=900) is True
    assert valid(load(count=3000), min_throughput_per_s=1100) is False


def faulty(recovered_after_ms: int) -> History:
    write = Scribe()
    for number in range(2000):
        broken = 500 <= number < 1000 + recovered_after_ms
        write(number, "get", number * MS, (number + 1) * MS, outcome="fail" if broken else "ok")
    events = [
        FaultEvent("f1", phase, at * MS, "proxy", "partition", ("n1",), 1)
        for phase, at in ((FaultPhase.APPLIED, 500), (FaultPhase.HEALED, 1000))
    ]
    return History(write.history().operations, tuple(events))


def test_recovery_runs_from_the_heal_to_the_first_of_twenty_good_answers() -> None:
    result = run_check("slo", faulty(200), {"max_recovery_ms": 201})
    assert result.valid is True
    assert result.details["levels"]["recovery_ms"] == [201]
    assert run_check("slo", faulty(200), {"max_recovery_ms": 200}).valid is False
    assert run_check("slo", faulty(2000), {"max_recovery_ms": 200}).valid is False


def test_a_run_that_ends_amid_good_answers_may_have_recovered() -> None:
    """Too few answers came to make twenty in a row, but the first good one was in time."""
    few = [o for o in faulty(100).operations if o.invoked_ns < 900 * MS or o.invoked_ns % (100 * MS) == 0]
    history = History(few[: len(few) - 3], faulty(100).faults)
    result = run_check("slo", history, {"max_recovery_ms": 150})
    assert result.valid == "unknown"
    assert "too soon after a heal" in result.reason
    assert run_check("slo", history, {"max_recovery_ms": 50}).valid is False


def test_a_recovery_has_no_longer_than_until_the_next_fault() -> None:
    once = faulty(600)
    again = [FaultEvent("f2", FaultPhase.APPLIED, 1100 * MS, "proxy", "partition", ("n1",), 2)]
    healed = [FaultEvent("f2", FaultPhase.HEALED, 1500 * MS, "proxy", "partition", ("n1",), 3)]
    twice = History(once.operations, (*once.faults, *again, *healed))
    result = run_check("slo", twice, {"max_recovery_ms": 200})
    assert result.valid == "unknown"
    assert result.details["levels"]["recovery_ms"] == [None, 101]


def test_without_a_heal_there_is_no_recovery_to_measure() -> None:
    assert valid(load(), max_recovery_ms=5) == "unknown"


def test_a_level_and_times_are_needed() -> None:
    with pytest.raises(CheckerError, match="level"):
        run_check("slo", load().history())
    with pytest.raises(CheckerError, match="between 0 and 100"):
        run_check("slo", load().history(), {"percentiles": {100: 5}})
    history = load().history(clock="index")
    assert run_check("slo", history, {"percentiles": {99: 50}}).valid == "unknown"
    assert valid(load(count=50), percentiles={99: 50}) == "unknown"


def test_the_same_seed_gives_the_same_intervals() -> None:
    options = {"percentiles": {"p90": 50}, "max_error_rate": 0.5, "min_throughput_per_s": 1}
    history = load(slow=0.1, failed=0.1).history()
    first, second = (run_check("slo", history, options).details for _ in range(2))
    assert first == second


def test_drawing_ranks_is_drawing_whole_resamples() -> None:
    """The shortcut for the percentile gives the interval that resampling every value gives."""
    rng = np.random.default_rng(1)
    values = np.sort(rng.exponential(size=400))
    _, low, high = _percentile(values, 90, 0.025, 20_000, rng)
    rank = int(np.ceil(0.9 * 400)) - 1
    resampled = np.sort(rng.choice(values, (4000, 400)), axis=1)[:, rank]
    slow_low, slow_high = np.quantile(resampled, [0.025, 0.975])
    assert low == pytest.approx(slow_low, rel=0.05)
    assert high == pytest.approx(slow_high, rel=0.05)


def test_an_interval_of_95_percent_holds_the_truth_about_that_often() -> None:
    rng = np.random.default_rng(2)
    truth = -np.log(0.1)
    held = 0
    for _ in range(400):
        _, low, high = _percentile(np.sort(rng.exponential(size=300)), 90, 0.025, 1000, rng)
        held += low <= truth <= high
    assert 0.9 <= held / 400 <= 0.99
