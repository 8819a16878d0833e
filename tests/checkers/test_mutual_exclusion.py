"""Mutual exclusion: two holders, interleaved writes, fencing tokens, against all pairs of tenures."""

from __future__ import annotations

import random

import pytest

from refute.checkers import CheckerError, run_check
from refute.history import History, Outcome

from .nightly import how_often, many
from .scribe import Scribe


def names(scribe: Scribe, **options: object) -> set[str]:
    return {a.name for a in run_check("mutual-exclusion", scribe.history(), options).anomalies}


def test_two_holders_at_once() -> None:
    write = Scribe()(1, "acquire", 0, 1, key="l")(2, "acquire", 2, 3, key="l")(1, "release", 5, 6, key="l")
    result = run_check("mutual-exclusion", write.history())
    assert result.valid is False
    assert result.anomalies[0].name == "two-holders"
    assert [o.kind for o in result.anomalies[0].operations] == ["acquire", "release", "acquire"]


def test_one_after_the_other() -> None:
    write = Scribe()(1, "acquire", 0, 1, key="l")(1, "release", 2, 6, key="l")(2, "acquire", 3, 4, key="l")
    assert run_check("mutual-exclusion", write.history()).valid is True


def test_locks_of_different_names_have_nothing_to_do_with_each_other() -> None:
    write = Scribe()(1, "acquire", 0, 1, key="a")(2, "acquire", 2, 3, key="b")(1, "release", 5, 6, key="a")
    assert run_check("mutual-exclusion", write.history()).valid == "unknown"


def test_a_holder_that_was_never_heard_of_again_may_have_lost_its_session() -> None:
    write = Scribe()(1, "acquire", 0, 1, key="l")(2, "acquire", 20, 21, key="l")
    assert names(write) == set()
    assert names(write(1, "write", 30, 31, key="x", value=1)) == {"two-holders"}


def test_a_lease_runs_out() -> None:
    ms = 1_000_000
    write = Scribe()(1, "acquire", 0, ms, key="l")(2, "acquire", 20 * ms, 21 * ms, key="l")
    write(1, "release", 30 * ms, 31 * ms, key="l")
    assert names(write) == {"two-holders"}
    assert names(write, lease_ms=15) == set()


def test_a_paused_holder_writes_between_the_writes_of_the_next() -> None:
    write = Scribe()(1, "acquire", 0, 1, key="l", out=1)(1, "write", 2, 3, key="x", value="a", token=1)
    write(2, "acquire", 10, 11, key="l", out=2)(2, "write", 12, 13, key="x", value="b", token=2)
    assert names(write, mode="fenced") == set()
    write(1, "write", 14, 15, key="x", value="c", token=1)
    assert names(write, mode="fenced") == {"stale-token-accepted"}
    assert names(write) == {"two-holders", "interleaved-writes"}


def test_tokens_grow_and_are_given_once() -> None:
    write = Scribe()(1, "acquire", 0, 1, key="l", out=2)(1, "write", 2, 3, key="x", token=2)
    assert names(write(2, "acquire", 4, 5, key="l", out=1), mode="fenced") == {"token-order"}
    assert names(write(3, "acquire", 6, 7, key="l", out=2), mode="fenced") == {
        "token-order",
        "duplicate-token",
    }


def test_without_tokens_nothing_is_fenced() -> None:
    write = Scribe()(1, "acquire", 0, 1, key="l")(2, "acquire", 2, 3, key="l")
    assert run_check("mutual-exclusion", write.history(), {"mode": "fenced"}).valid == "unknown"
    with pytest.raises(CheckerError, match="mutex or fenced"):
        run_check("mutual-exclusion", write.history(), {"mode": "other"})


def truth(history: History) -> bool:
    """Some acquire that succeeded while another process had certainly got the lock and not let go."""
    tenures = []
    for a in history.operations:
        if a.kind != "acquire" or a.outcome is not Outcome.OK:
            continue
        begin = until = a.completed_ns or 0
        for o in (o for o in history.operations if o.process == a.process and o.index > a.index):
            if o.kind == "acquire" and o.outcome is Outcome.OK:
                break
            if o.kind == "release" and o.outcome is not Outcome.FAIL:
                until = max(until, o.invoked_ns)
                break
            if o.outcome is Outcome.OK:
                until = o.completed_ns or 0
        tenures.append((a.process, begin, until))
    return any(p != q and begin <= other < until for p, begin, until in tenures for q, other, _ in tenures)


def compared(rng: random.Random) -> bool:
    write = Scribe()
    for process in range(rng.randint(2, 3)):
        clock = rng.randrange(12)
        for _ in range(rng.randint(1, 4)):
            clock += rng.randint(1, 6)
            end = clock + rng.randint(1, 3)
            kind = rng.choice(["acquire", "release", "write"])
            outcome = rng.choice(["ok", "ok", "ok", "info", "fail"])
            write(process, kind, clock, end, key="x" if kind == "write" else "l", outcome=outcome)
            clock = end
    history = write.history()
    wrong = truth(history)
    assert ("two-holders" in {a.name for a in run_check("mutual-exclusion", history).anomalies}) is wrong
    return wrong


def test_tenures_agree_with_all_pairs() -> None:
    assert min(how_often(compared, range(3_000))) > 150


@many()
def test_tenures_agree_with_all_pairs_at_length(seeds: range) -> None:
    assert min(how_often(compared, seeds)) > 200
