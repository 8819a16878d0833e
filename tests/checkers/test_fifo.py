"""FIFO per partition, against all pairs of deliveries to one consumer."""

from __future__ import annotations

import random

from refute.checkers import run_check
from refute.history import History, Outcome

from .nightly import how_often, many
from .scribe import Scribe


def valid(scribe: Scribe, **options: object) -> object:
    return run_check("fifo-per-partition", scribe.history(), options).valid


def two_sent() -> Scribe:
    return Scribe()(1, "send", 0, 1, key="p", value="a")(2, "send", 2, 3, key="p", value="b")


def test_an_element_after_one_that_was_sent_later() -> None:
    assert valid(two_sent()(3, "poll", 4, 5, key="p", out=["a", "b"])) is True
    write = two_sent()(3, "poll", 4, 5, key="p", out=["b"])(3, "poll", 6, 7, key="p", out=["a"])
    result = run_check("fifo-per-partition", write.history())
    assert result.valid is False
    assert [o.input for o in result.anomalies[0].operations] == ["a", "b", None]


def test_concurrent_sends_have_no_order() -> None:
    write = Scribe()(1, "send", 0, 3, key="p", value="a")(2, "send", 2, 4, key="p", value="b")
    assert valid(write(3, "poll", 5, 6, key="p", out=["b", "a"])) is True


def test_partitions_and_consumers_are_apart() -> None:
    write = Scribe()(1, "send", 0, 1, key="p", value="a")(2, "send", 2, 3, key="q", value="b")
    write(3, "poll", 4, 5, key="q", out=["b"])(3, "poll", 6, 7, key="p", out=["a"])
    assert valid(write) == "unknown"
    assert (
        valid(two_sent()(3, "poll", 4, 5, key="p", out=["b"])(4, "poll", 4, 5, key="p", out=["a"]))
        == "unknown"
    )


def test_only_one_producers_order_may_be_promised() -> None:
    write = two_sent()(3, "poll", 4, 5, key="p", out=["b", "a"])
    assert valid(write, per_producer=True) == "unknown"
    write(1, "send", 4, 5, key="p", value="c")(3, "poll", 6, 7, key="p", out=["c"])
    assert valid(write, per_producer=True) is True


def test_a_second_delivery_is_no_reordering() -> None:
    write = two_sent()(3, "poll", 4, 5, key="p", out=["a", "b", "a"])
    result = run_check("fifo-per-partition", write.history())
    assert result.valid is True
    assert result.details["redelivered"] == 1


def test_single_elements_may_be_handed_out_one_by_one() -> None:
    write = two_sent()(3, "receive", 4, 5, key="p", out="b")(3, "receive", 6, 7, key="p", out="a")
    assert valid(write) is False


def truth(history: History) -> bool:
    sends = {o.input: o for o in history.operations if o.kind == "send"}
    for consumer in (8, 9):
        got = [e for o in history.operations if o.process == consumer for e in o.output]
        first = list(dict.fromkeys(e for e in got if e in sends))
        for place, a in enumerate(first):
            for b in first[place + 1 :]:
                done = sends[b].outcome is Outcome.OK
                if (
                    sends[a].key == sends[b].key
                    and done
                    and (sends[b].completed_ns or 0) < sends[a].invoked_ns
                ):
                    return True
    return False


def compared(rng: random.Random) -> bool:
    write = Scribe()
    keys = {value: rng.choice("pq") for value in range(6)}
    for value, key in keys.items():
        start = 3 * value + rng.randrange(6)
        outcome = rng.choice(["ok", "ok", "ok", "info"])
        write(value, "send", start, start + rng.randint(1, 9), key=key, value=value, outcome=outcome)
    for consumer in (8, 9):
        for at in range(50, 50 + 3 * rng.randint(1, 3), 3):
            key = rng.choice("pq")
            own = [value for value in keys if keys[value] == key and rng.random() < 0.7]
            if rng.random() < 0.3:
                rng.shuffle(own)
            write(consumer, "poll", at, at + 1, key=key, out=own)
    history = write.history()
    wrong = truth(history)
    assert (run_check("fifo-per-partition", history).valid is False) is wrong
    return wrong


def test_deliveries_agree_with_all_pairs() -> None:
    assert min(how_often(compared, range(3_000))) > 300


@many()
def test_deliveries_agree_with_all_pairs_at_length(seeds: range) -> None:
    assert min(how_often(compared, seeds)) > 400
