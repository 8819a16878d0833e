"""Bounded staleness: lags in milliseconds and versions, against all pairs of writes."""

from __future__ import annotations

import random

import pytest

from refute.checkers import CheckerError, run_check
from refute.history import History, Outcome

from .nightly import how_often, many
from .scribe import Scribe

MS = 1_000_000


def three_writes() -> Scribe:
    write = Scribe()
    for value in (1, 2, 3):
        write(1, "write", 10 * value * MS, (10 * value + 1) * MS, key="x", value=value)
    return write


def test_a_lag_counts_from_the_acknowledgement_of_the_first_newer_write() -> None:
    history = three_writes()(2, "read", 50 * MS, 51 * MS, key="x", out=1).history()
    assert run_check("bounded-staleness", history, {"max_ms": 29}).valid is True
    result = run_check("bounded-staleness", history, {"max_ms": 28})
    assert result.valid is False
    assert [o.input for o in result.anomalies[0].operations] == [1, 2, None]
    assert result.details["worst"]["ms"] == 29


def test_versions_behind_are_counted() -> None:
    history = three_writes()(2, "read", 50 * MS, 51 * MS, key="x", out=1).history()
    assert run_check("bounded-staleness", history, {"max_versions": 2}).valid is True
    assert run_check("bounded-staleness", history, {"max_versions": 1}).valid is False


def test_a_bound_is_needed() -> None:
    with pytest.raises(CheckerError, match="bound"):
        run_check("bounded-staleness", three_writes().history())


def test_without_one_clock_there_are_no_milliseconds() -> None:
    history = three_writes()(2, "read", 50 * MS, 51 * MS, key="x", out=3).history(clock="index")
    assert run_check("bounded-staleness", history, {"max_ms": 5}).valid == "unknown"
    assert run_check("bounded-staleness", history, {"max_versions": 0}).valid is True


def truth(history: History, max_ms: float, max_versions: int) -> bool:
    writes = [o for o in history.operations if o.kind == "write"]
    sure = [o for o in writes if o.outcome is Outcome.OK]
    for read in (o for o in history.operations if o.kind == "read"):
        seen = next((o for o in writes if o.input == read.output), None)
        end = -1 if seen is None else (seen.completed_ns or 0) if seen in sure else 2**62
        newer = [o for o in sure if o.invoked_ns > end and (o.completed_ns or 0) < read.invoked_ns]
        lag = max((read.invoked_ns - (o.completed_ns or 0) for o in newer), default=0)
        if lag / 1e6 > max_ms or len(newer) > max_versions:
            return True
    return False


def compared(rng: random.Random) -> bool:
    write = Scribe()
    values = list(range(1, rng.randint(2, 6)))
    for value in values:
        start = rng.randrange(40)
        outcome = rng.choice(["ok", "ok", "ok", "info"])
        write(value, "write", start * MS, (start + rng.randint(1, 9)) * MS, value=value, outcome=outcome)
    for process in range(10, 10 + rng.randint(1, 3)):
        start = rng.randrange(60)
        write(process, "read", start * MS, (start + 1) * MS, out=rng.choice([None, *values]))
    history = write.history()
    bounds = {"max_ms": rng.randint(0, 40), "max_versions": rng.randint(0, 3)}
    wrong = truth(history, **bounds)
    assert (run_check("bounded-staleness", history, bounds).valid is False) is wrong
    return wrong


def test_lags_agree_with_all_pairs() -> None:
    assert min(how_often(compared, range(3_000))) > 300


@many()
def test_lags_agree_with_all_pairs_at_length(seeds: range) -> None:
    assert min(how_often(compared, seeds)) > 400
