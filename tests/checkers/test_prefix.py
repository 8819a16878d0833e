"""Prefix: of two reads one is a beginning of the other, against all pairs of reads."""

from __future__ import annotations

import random

from refute.checkers import run_check
from refute.history import History, Outcome

from .nightly import how_often, many
from .scribe import Scribe


def names(scribe: Scribe, **options: object) -> set[str]:
    return {a.name for a in run_check("prefix", scribe.history(), options).anomalies}


def reads(*lists: list[int]) -> Scribe:
    write = Scribe()
    for number, values in enumerate(lists):
        write(number, "read", 10 * number, 10 * number + 1, out=values)
    return write


def test_reads_that_part_ways() -> None:
    assert names(reads([1, 2], [1, 3, 2])) == {"not-a-prefix"}
    result = run_check("prefix", reads([1, 2], [1, 3, 2]).history())
    assert result.anomalies[0].details["place"] == 1
    assert run_check("prefix", reads([], [1], [1, 2]).history()).valid is True


def test_an_element_twice() -> None:
    assert names(reads([1], [1, 2, 1])) == {"duplicate-element"}


def test_one_read_proves_nothing() -> None:
    assert run_check("prefix", reads([1, 2]).history()).valid == "unknown"
    assert run_check("prefix", reads([], []).history()).valid == "unknown"


def test_a_read_of_something_else_makes_it_unknown() -> None:
    write = reads([1], [1])(9, "read", 90, 91, out=7)
    assert run_check("prefix", write.history()).valid == "unknown"


def test_the_order_of_acknowledgements_where_it_is_promised() -> None:
    write = Scribe()(1, "append", 0, 1, value=1)(2, "append", 2, 3, value=2)
    write(3, "read", 4, 5, out=[2, 1])(3, "read", 6, 7, out=[2, 1])
    assert names(write) == set()
    assert names(write, real_time=True) == {"real-time-order"}


def truth(history: History) -> bool:
    lists = [o.output for o in history.operations if o.kind == "read"]
    if any(a != b[: len(a)] and b != a[: len(b)] for a in lists for b in lists):
        return True
    longest = max(lists, key=len)
    adds = {o.input: o for o in history.operations if o.kind == "append"}
    return any(
        adds[b].outcome is Outcome.OK and (adds[b].completed_ns or 0) < adds[a].invoked_ns
        for place, a in enumerate(longest)
        for b in longest[place + 1 :]
    )


def compared(rng: random.Random) -> bool:
    write = Scribe()
    log = rng.sample(range(5), 5) if rng.random() < 0.3 else list(range(5))
    for value in range(5):
        start = 4 * value + rng.randrange(8)
        write(value, "append", start, start + rng.randint(1, 12), value=value)
    for process in range(10, 10 + rng.randint(2, 4)):
        values = log[: rng.randrange(6)]
        if rng.random() < 0.15:
            rng.shuffle(values)
        write(process, "read", 50, 51, out=values)
    history = write.history()
    wrong = truth(history)
    assert (run_check("prefix", history, {"real_time": True}).valid is False) is wrong
    return wrong


def test_reads_agree_with_all_pairs() -> None:
    assert min(how_often(compared, range(3_000))) > 300


@many()
def test_reads_agree_with_all_pairs_at_length(seeds: range) -> None:
    assert min(how_often(compared, seeds)) > 400
