"""Set-full and g-set: what becomes of each element, against looking at every read for every element."""

from __future__ import annotations

import random
from collections import Counter

from refute.checkers import run_check
from refute.history import History, Outcome

from .nightly import many
from .scribe import Scribe


def names(scribe: Scribe, checker: str = "set-full", **options: object) -> set[str]:
    return {a.name for a in run_check(checker, scribe.history(), options).anomalies}


def test_an_acknowledged_element_that_later_reads_lack_is_lost() -> None:
    write = Scribe()(1, "add", 0, 1, value=1)(2, "read", 2, 3, out=[1])
    assert run_check("set-full", write.history()).valid is True
    assert names(write(2, "read", 4, 5, out=[])) == {"lost"}


def test_an_element_that_was_seen_once_is_known_even_if_its_add_timed_out() -> None:
    write = Scribe()(1, "add", 0, None, value=1, outcome="info")(2, "read", 2, 3, out=[1])
    assert names(write(2, "read", 4, 5, out=[])) == {"lost"}


def test_a_read_that_lags_is_a_violation_only_where_that_is_promised() -> None:
    write = Scribe()(1, "add", 0, 1, value=1)(2, "read", 2, 3, out=[])(2, "read", 4, 5, out=[1])
    result = run_check("set-full", write.history())
    assert result.valid is True
    assert result.details["stale"] == 1
    assert names(write, linearizable=True) == {"stale-read"}


def test_a_concurrent_read_may_lack_it() -> None:
    write = Scribe()(1, "add", 0, 5, value=1)(2, "read", 2, 3, out=[])(2, "read", 6, 7, out=[1])
    assert names(write, linearizable=True) == set()


def test_an_element_that_nobody_looked_for_leaves_it_open() -> None:
    write = Scribe()(1, "add", 0, 1, value=1)(2, "read", 2, 3, out=[1])(1, "add", 4, 5, value=2)
    result = run_check("set-full", write.history())
    assert result.valid == "unknown"
    assert "never looked for" in result.reason


def test_doubles_and_strangers_are_named() -> None:
    write = Scribe()(1, "add", 0, 1, value=1)(1, "add", 0, 1, value=2, outcome="fail")
    assert names(write(2, "read", 2, 3, out=[1, 1])) == {"duplicated"}
    assert names(write(2, "read", 4, 5, out=[1, 2, 3])) == {"duplicated", "aborted-read", "phantom"}


def test_sets_that_shrink_are_for_other_checkers() -> None:
    write = Scribe()(1, "add", 0, 1, value=1)(1, "remove", 2, 3, value=1)(2, "read", 4, 5, out=[])
    assert run_check("set-full", write.history()).valid == "unknown"


def test_a_grow_only_set_may_lag_but_not_shrink() -> None:
    write = Scribe()(1, "add", 0, 1, value=1)(2, "read", 2, 3, out=[])(2, "read", 4, 5, out=[1])
    write(9, "read", 20, 21, out=[1], final=True)
    assert run_check("g-set", write.history()).valid is True
    assert names(write(2, "read", 6, 7, out=[]), "g-set") == {"vanished"}


def test_a_grow_only_set_ends_with_everything() -> None:
    write = Scribe()(1, "add", 0, 1, value=1)(9, "read", 20, 21, out=[], final=True)
    assert names(write, "g-set") == {"lost-write"}


def truth(history: History) -> Counter[str]:
    found: Counter[str] = Counter()
    reads = [o for o in history.operations if o.kind == "read"]
    for value in {o.input for o in history.operations if o.kind == "add"}:
        adds = [o for o in history.operations if o.kind == "add" and o.input == value]
        showing = [r for r in reads if value in r.output]
        if all(o.outcome is Outcome.FAIL for o in adds):
            found["aborted-read"] += bool(showing)
            continue
        known = min(
            [o.completed_ns or 0 for o in adds if o.outcome is Outcome.OK]
            + [r.completed_ns or 0 for r in showing],
            default=None,
        )
        lacking = [r for r in reads if known is not None and r.invoked_ns > known and value not in r.output]
        if lacking:
            later = [r for r in showing if r.index > lacking[-1].index]
            found["stale-read" if later else "lost"] += 1
    return +found


def fuzz(seeds: range) -> Counter[str]:
    seen: Counter[str] = Counter()
    for seed in seeds:
        rng = random.Random(seed)
        write = Scribe()
        moments = rng.sample(range(60), 8)
        for process, start in enumerate(moments):
            if rng.random() < 0.5:
                outcome = rng.choice(["ok", "ok", "info", "fail"])
                write(
                    process, "add", start, start + rng.randint(0, 9), value=rng.randrange(3), outcome=outcome
                )
            else:
                out = [value for value in range(3) if rng.random() < 0.6]
                write(process, "read", start, start + rng.randint(0, 5), out=out)
        history = write.history()
        added = {o.input for o in history.operations if o.kind == "add"}
        if any(v not in added for o in history.operations if o.kind == "read" for v in o.output):
            continue
        wrong = truth(history)
        result = run_check("set-full", history, {"linearizable": True})
        got = Counter(a.name for a in result.anomalies)
        assert set(got) == set(wrong), history.operations
        assert got["lost"] == wrong["lost"]
        assert got["stale-read"] == wrong["stale-read"]
        seen.update(set(wrong) or {"none"})
    return seen


def test_elements_agree_with_looking_at_every_read() -> None:
    seen = fuzz(range(6_000))
    assert min(seen[name] for name in ("lost", "stale-read", "aborted-read", "none")) > 50


@many(histories=250_000)  # half of them show what nobody added, and are left out
def test_elements_agree_with_looking_at_every_read_at_length(seeds: range) -> None:
    assert fuzz(seeds).total() > 2000
