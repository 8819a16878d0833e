"""No phantom: what was read was written, not by a failure, and not later."""

from __future__ import annotations

import random

from refute.checkers import run_check
from refute.history import History, Outcome

from .nightly import many
from .scribe import Scribe


def names(scribe: Scribe, **options: object) -> set[str]:
    return {a.name for a in run_check("no-phantom", scribe.history(), options).anomalies}


def test_a_value_that_nobody_wrote_is_a_phantom() -> None:
    write = Scribe()(1, "write", 0, 1, key="x", value=1)(1, "read", 2, 3, key="x", out=7)
    assert names(write) == {"phantom"}
    assert names(write, initial=7) == set()


def test_a_value_of_another_key_is_a_phantom() -> None:
    write = Scribe()(1, "write", 0, 1, key="x", value=1)(1, "write", 0, 1, key="y", value=2)
    assert names(write(1, "read", 2, 3, key="x", out=2)) == {"phantom"}


def test_a_value_of_a_failed_write_is_named() -> None:
    write = Scribe()(1, "write", 0, 1, key="x", value=1, outcome="fail")(1, "read", 2, 3, key="x", out=1)
    assert names(write) == {"aborted-read"}
    assert names(write(2, "write", 0, 1, key="x", value=1, outcome="info")) == set()


def test_nothing_is_read_before_it_is_written() -> None:
    write = Scribe()(1, "read", 0, 1, key="x", out=1)(2, "write", 2, 3, key="x", value=1)
    assert names(write) == {"future-read"}
    assert run_check("no-phantom", write.history(clock="wall")).valid is True


def test_elements_of_collections_and_queues_are_looked_at_one_by_one() -> None:
    write = Scribe()(1, "add", 0, 1, value=1)(1, "read", 2, 3, out=[1, 2])
    assert names(write) == {"phantom"}
    write = Scribe()(1, "enqueue", 0, 1, value=1)(1, "dequeue", 2, 3, out=2)
    assert names(write) == {"phantom"}


def test_counters_are_passed_over_and_prove_nothing() -> None:
    write = Scribe()(1, "add", 0, 1, value=1, key="c")(1, "read", 2, 3, out=17, key="c")
    result = run_check("no-phantom", write.history())
    assert result.valid == "unknown"
    assert result.ignored["reads of counters"] == 1


def test_true_is_not_one() -> None:
    write = Scribe()(1, "write", 0, 1, key="x", value=1)(1, "read", 2, 3, key="x", out=True)
    assert names(write) == {"phantom"}


def truth(history: History) -> set[str]:
    found = set()
    for read in history.operations:
        if read.kind != "read":
            continue
        for value in read.output:
            makers = [o for o in history.operations if o.kind == "add" and o.input == value]
            alive = [o for o in makers if o.outcome is not Outcome.FAIL]
            if not makers:
                found.add("phantom")
            elif not alive:
                found.add("aborted-read")
            elif all(o.invoked_ns > (read.completed_ns or 0) for o in alive):
                found.add("future-read")
    return found


def fuzz(seeds: range) -> dict[str, int]:
    seen: dict[str, int] = {}
    for seed in seeds:
        rng = random.Random(seed)
        write = Scribe()
        for process in range(rng.randint(2, 8)):
            start = rng.randrange(20)
            if rng.random() < 0.6:
                outcome = rng.choice(["ok", "ok", "info", "fail"])
                write(process, "add", start, start + 2, value=rng.randrange(5), outcome=outcome)
            else:
                out = [rng.randrange(5) for _ in range(rng.randint(0, 3))]
                write(process, "read", start, start + rng.randint(0, 9), out=out)
        history = write.history()
        wrong = truth(history)
        result = run_check("no-phantom", history)
        assert {a.name for a in result.anomalies} == wrong
        for name in wrong or {"none"}:
            seen[name] = seen.get(name, 0) + 1
    return seen


def test_every_element_agrees_with_the_definition() -> None:
    seen = fuzz(range(3_000))
    assert min(seen.values()) > 100
    assert len(seen) == 4


@many()
def test_every_element_agrees_with_the_definition_at_length(seeds: range) -> None:
    assert min(fuzz(seeds).values()) > 120
