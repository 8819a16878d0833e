"""Session guarantees: the smallest history that breaks each, and every pair against the definition."""

from __future__ import annotations

import random
from collections.abc import Callable

from refute.checkers import run_check
from refute.history import History, Operation, Outcome

from .nightly import many
from .scribe import Scribe

GUARANTEES = ("read-your-writes", "monotonic-reads", "monotonic-writes", "writes-follow-reads")


def broken(scribe: Scribe, **options: object) -> set[str]:
    return {name for name in GUARANTEES if run_check(name, scribe.history(), options).valid is False}


def test_a_session_that_reads_behind_its_own_write_breaks_read_your_writes() -> None:
    write = Scribe()(2, "write", 0, 1, key="x", value=1)(1, "write", 2, 3, key="x", value=2)
    assert broken(write(1, "read", 4, 5, key="x", out=1)) == {"read-your-writes"}


def test_the_initial_value_is_older_than_every_write() -> None:
    write = Scribe()(1, "write", 2, 3, key="x", value=2)(1, "read", 4, 5, key="x", out=None)
    result = run_check("read-your-writes", write.history())
    assert result.valid is False
    assert [o.kind for o in result.anomalies[0].operations] == ["write", "read"]


def test_a_write_that_timed_out_binds_nobody() -> None:
    write = Scribe()(1, "write", 2, 3, key="x", value=2, outcome="info")(1, "read", 4, 5, key="x", out=None)
    assert broken(write) == set()
    assert run_check("read-your-writes", write.history()).valid == "unknown"


def test_a_session_that_reads_backwards_breaks_monotonic_reads() -> None:
    write = Scribe()(2, "write", 0, 1, key="x", value=1)(2, "write", 2, 3, key="x", value=2)
    write(1, "read", 4, 5, key="x", out=2)(1, "read", 6, 7, key="x", out=1)
    assert "monotonic-reads" in broken(write)


def test_concurrent_writes_have_no_order_to_break() -> None:
    write = Scribe()(2, "write", 0, 3, key="x", value=1)(3, "write", 2, 5, key="x", value=2)
    write(1, "read", 6, 7, key="x", out=2)(1, "read", 8, 9, key="x", out=1)
    assert broken(write) == set()
    assert run_check("monotonic-reads", write.history()).valid is True


def test_a_version_number_orders_what_time_does_not() -> None:
    write = Scribe()(2, "write", 0, 3, key="x", value=1, version=1)
    write(3, "write", 2, 5, key="x", value=2, version=2)
    write(1, "read", 6, 7, key="x", out=2, version=2)(1, "read", 8, 9, key="x", out=1, version=1)
    assert broken(write) == {"monotonic-reads"}


def test_seeing_a_later_write_and_not_an_earlier_one_breaks_monotonic_writes() -> None:
    write = Scribe()(2, "write", 0, 1, key="x", value=1)(2, "write", 2, 3, key="y", value=2)
    write(1, "read", 4, 5, key="y", out=2, node="n1")(1, "read", 6, 7, key="x", out=None, node="n1")
    assert broken(write) == {"monotonic-writes"}


def test_two_nodes_may_be_behind_each_other() -> None:
    write = Scribe()(2, "write", 0, 1, key="x", value=1)(2, "write", 2, 3, key="y", value=2)
    write(1, "read", 4, 5, key="y", out=2, node="n1")(1, "read", 6, 7, key="x", out=None, node="n2")
    assert broken(write) == set()


def test_seeing_a_write_without_what_its_writer_had_read_breaks_writes_follow_reads() -> None:
    write = Scribe()(3, "write", 0, 1, key="x", value=1)
    write(2, "read", 2, 3, key="x", out=1)(2, "write", 4, 5, key="y", value=2)
    write(1, "read", 6, 7, key="y", out=2)(1, "read", 8, 9, key="x", out=None)
    assert broken(write) == {"writes-follow-reads"}


def test_values_written_twice_make_the_answer_unknown() -> None:
    write = Scribe()(2, "write", 0, 1, key="x", value=1)(2, "write", 2, 3, key="x", value=1)
    write(1, "read", 4, 5, key="x", out=1)(1, "read", 6, 7, key="x", out=1)
    result = run_check("monotonic-reads", write.history())
    assert result.valid == "unknown"
    assert "several writes" in result.reason


def test_a_process_with_two_operations_in_flight_is_no_session() -> None:
    write = Scribe()(1, "write", 0, 9, key="x", value=1)(1, "read", 2, 3, key="x", out=None)
    write(1, "read", 10, 11, key="x", out=1)
    result = run_check("read-your-writes", write.history())
    assert result.valid == "unknown"
    assert "in flight" in result.reason


def test_wall_clocks_do_not_order_versions() -> None:
    write = Scribe()(1, "write", 2, 3, key="x", value=2)(1, "read", 4, 5, key="x", out=2)
    assert run_check("read-your-writes", write.history(clock="wall")).valid == "unknown"


def test_a_session_may_be_named_by_a_field() -> None:
    write = Scribe()(9, "write", 0, 1, key="x", value=1)(1, "write", 2, 3, key="x", value=2, user="u")
    write(2, "read", 4, 5, key="x", out=1, user="u")
    assert broken(write) == set()
    assert broken(write, session="user") == {"read-your-writes"}


# The definitions, over all pairs and quadruples of operations.


def span(o: Operation) -> tuple[int, int]:
    return o.invoked_ns, (o.completed_ns or 0) if o.outcome is Outcome.OK else 2**62


def version(history: History, read: Operation) -> tuple[int, int]:
    if read.output is None:
        return (-1, -1)
    return next(span(o) for o in history.operations if o.kind == "write" and o.input == read.output)


def older(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[1] < b[0]


def before(a: Operation, b: Operation) -> bool:
    return a.process == b.process and (a.completed_ns or 0) <= b.invoked_ns and a.index < b.index


def done(history: History, kind: str) -> list[Operation]:
    return [o for o in history.operations if o.kind == kind and o.outcome is Outcome.OK]


def ryw(history: History) -> bool:
    return any(
        before(w, r) and w.key == r.key and older(version(history, r), span(w))
        for w in done(history, "write")
        for r in done(history, "read")
    )


def mr(history: History) -> bool:
    reads = done(history, "read")
    return any(
        before(a, b) and a.key == b.key and older(version(history, b), version(history, a))
        for a in reads
        for b in reads
    )


def bound(history: History, reads_bind: bool) -> bool:
    writes = [o for o in history.operations if o.kind == "write"]
    reads = done(history, "read")
    deeds = (
        [(o, version(history, o)) for o in reads]
        if reads_bind
        else [(o, span(o)) for o in done(history, "write")]
    )
    return any(
        older(version(history, late), made)
        for deed, made in deeds
        for write in writes
        if before(deed, write)
        for sight in reads
        if sight.key == write.key and sight.output == write.input
        for late in reads
        if before(sight, late) and late.node == sight.node and late.key == deed.key
    )


TRUTHS: dict[str, Callable[[History], bool]] = {
    "read-your-writes": ryw,
    "monotonic-reads": mr,
    "monotonic-writes": lambda history: bound(history, False),
    "writes-follow-reads": lambda history: bound(history, True),
}


def small(rng: random.Random) -> History:
    write = Scribe()
    written: dict[str, list[int]] = {"x": [], "y": []}
    clock = dict.fromkeys(range(3), 0)
    for value in range(rng.randint(6, 18)):
        process = rng.randrange(3)
        start = clock[process] + rng.randint(0, 3)
        end = start + rng.randint(0, 4)
        clock[process] = end
        key = rng.choice("xy")
        if rng.random() < 0.5:
            outcome = rng.choice(["ok", "ok", "ok", "info"])
            write(process, "write", start, end, key=key, value=value, outcome=outcome)
            written[key].append(value)
        else:
            out = rng.choice([None, *written[key], *written[key][-2:] * 4])
            write(process, "read", start, end, key=key, out=out, node=rng.choice(["n1", "n2"]))
    return write.history()


def fuzz(seeds: range) -> dict[str, int]:
    seen = dict.fromkeys(TRUTHS, 0)
    for seed in seeds:
        rng = random.Random(seed)
        history = small(rng)
        for name, truth in TRUTHS.items():
            wrong = truth(history)
            assert (run_check(name, history).valid is False) is wrong, (name, history.operations)
            seen[name] += wrong
    return seen


def test_every_guarantee_agrees_with_its_definition() -> None:
    assert min(fuzz(range(3_000)).values()) > 20


@many()
def test_every_guarantee_agrees_with_its_definition_at_length(seeds: range) -> None:
    assert min(fuzz(seeds).values()) > 20
