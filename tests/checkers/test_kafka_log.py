"""Kafka-style logs: one history for each anomaly, and all pairs against the definitions."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import pytest

from refute.checkers import CheckerError, run_check
from refute.history import History, Outcome

from .nightly import many
from .scribe import Scribe


def names(scribe: Scribe, **options: object) -> set[str]:
    return {a.name for a in run_check("kafka-log", scribe.history(), options).anomalies}


def three_sent() -> Scribe:
    write = Scribe()
    for offset, value in enumerate("abc"):
        write(1, "send", 2 * offset, 2 * offset + 1, key="p", value=value, out=offset)
    return write


def test_a_log_that_is_polled_as_it_was_written() -> None:
    write = three_sent()(2, "poll", 10, 11, out={"p": [[0, "a"], [1, "b"], [2, "c"]]})
    result = run_check("kafka-log", write.history())
    assert result.valid is True
    assert result.consumed["operations"] == 4


def test_an_acknowledged_record_that_polls_went_past_is_lost() -> None:
    write = three_sent()(2, "poll", 10, 11, out={"p": [[0, "a"]]})
    assert names(write) == set()
    assert names(write(3, "poll", 12, 13, out={"p": [[2, "c"]]})) == {"lost-write"}


def test_an_acknowledged_record_without_an_offset_is_lost_where_later_ones_were_seen() -> None:
    write = Scribe()(1, "send", 0, 1, key="p", value="a")(1, "send", 2, 3, key="p", value="b")
    assert names(write(2, "poll", 10, 11, out={"p": [[1, "b"]]})) == {"lost-write"}


def test_offsets_that_go_back_stand_still_or_jump() -> None:
    polled = three_sent()(9, "poll", 20, 21, out={"p": [[0, "a"], [1, "b"], [2, "c"]]})
    back = {"p": [[1, "b"], [0, "a"]]}
    assert names(polled(2, "poll", 10, 11, out=back)) == {"reordered-poll"}
    polled = three_sent()(9, "poll", 20, 21, out={"p": [[0, "a"], [1, "b"], [2, "c"]]})
    assert names(polled(2, "poll", 10, 11, out={"p": [[0, "a"], [0, "a"]]})) == {"repeated-poll"}
    polled = three_sent()(9, "poll", 20, 21, out={"p": [[0, "a"], [1, "b"], [2, "c"]]})
    polled(2, "poll", 10, 11, out={"p": [[0, "a"]]})(2, "poll", 12, 13, out={"p": [[2, "c"]]})
    assert names(polled) == {"skipped-poll"}
    assert names(polled, allow=["skipped-poll"]) == set()


def test_a_consumer_that_is_assigned_anew_begins_anew() -> None:
    write = three_sent()(2, "poll", 10, 11, out={"p": [[0, "a"], [1, "b"], [2, "c"]]})
    write(2, "assign", 12, 13, value=["p"])(2, "poll", 14, 15, out={"p": [[0, "a"]]})
    assert names(write) == set()


def test_a_hole_that_nobody_filled_is_no_skip() -> None:
    write = Scribe()(1, "send", 0, 1, key="p", value="a", out=0)(1, "send", 2, 3, key="p", value="b", out=7)
    assert names(write(2, "poll", 10, 11, out={"p": [[0, "a"], [7, "b"]]})) == set()


def test_records_of_failed_sends_and_of_nobody() -> None:
    write = Scribe()(1, "send", 0, 1, key="p", value="a", outcome="fail")
    assert names(write(2, "poll", 10, 11, out={"p": [[0, "a"]]})) == {"aborted-read"}
    assert names(write(3, "poll", 10, 11, out={"p": [[0, "a"], [1, "z"]]})) == {"aborted-read", "phantom"}


def test_a_value_at_two_offsets_and_two_values_at_one() -> None:
    write = three_sent()(2, "poll", 10, 11, out={"p": [[0, "a"], [1, "b"], [2, "c"], [3, "a"]]})
    assert names(write) == {"duplicate"}
    write = three_sent()(2, "poll", 10, 11, out={"p": [[0, "a"], [1, "c"], [2, "b"]]})
    assert "inconsistent-offset" in names(write)


def test_a_producers_records_stand_in_its_order() -> None:
    write = Scribe()(1, "send", 0, 1, key="p", value="a", out=5)(1, "send", 2, 3, key="p", value="b", out=4)
    assert names(write(2, "poll", 10, 11, out={"p": [[4, "b"], [5, "a"]]})) == {"reordered-send"}


def test_transactions_of_sends_and_polls_are_read_in_the_jepsen_style() -> None:
    write = Scribe()
    write(1, "txn", 0, 1, value=[["send", "p", "a"]], out=[["send", "p", [0, "a"]]])
    write(2, "txn", 2, 3, value=[["poll"]], out=[["poll", {"p": [[0, "a"], [1, "z"]]}]])
    assert names(write) == {"phantom"}


def test_answers_that_are_no_records_are_counted() -> None:
    write = three_sent()(2, "poll", 10, 11, key="p", out=["a", "b"])
    result = run_check("kafka-log", write.history())
    assert result.valid == "unknown"
    assert "pairs" in result.reason


def test_only_anomalies_of_logs_can_be_allowed() -> None:
    with pytest.raises(CheckerError, match="no anomaly"):
        run_check("kafka-log", three_sent().history(), {"allow": ["G1a"]})


def truth(history: History) -> set[str]:
    found = set()
    sends = [o for o in history.operations if o.kind == "send"]
    polls = [(o, pair) for o in history.operations if o.kind == "poll" for pair in o.output]
    acked = [o for o in sends if o.outcome is Outcome.OK]
    known = {(o.output, o.input) for o in acked} | {(pair[0], pair[1]) for _, pair in polls}
    if any(a[0] == b[0] and a[1] != b[1] for a in known for b in known):
        found.add("inconsistent-offset")
    if any(a[0] != b[0] and a[1] == b[1] for a in known for b in known):
        found.add("duplicate")
    shown = {pair[1] for _, pair in polls}
    highest = max((pair[0] for _, pair in polls), default=-1)
    if any(o.input not in shown and o.output < highest for o in acked):
        found.add("lost-write")
    for value in shown:
        makers = [o for o in sends if o.input == value]
        if not makers:
            found.add("phantom")
        elif all(o.outcome is Outcome.FAIL for o in makers):
            found.add("aborted-read")
    for process in {o.process for o in history.operations}:
        mine = [pair[0] for o, pair in polls if o.process == process]
        for one, two in pairwise(mine):
            if one == two:
                found.add("repeated-poll")
            elif two < one:
                found.add("reordered-poll")
            elif any(one < offset < two for offset, _ in known):
                found.add("skipped-poll")
        told = [o.output for o in acked if o.process == process]
        if any(two < one for one, two in pairwise(told)):
            found.add("reordered-send")
    return found


def fuzz(seeds: range) -> Counter[str]:
    seen: Counter[str] = Counter()
    for seed in seeds:
        rng = random.Random(seed)
        write = Scribe()
        log = list(range(rng.randint(1, 5)))
        offsets = list(log)
        if rng.random() < 0.1:
            rng.shuffle(offsets)
        for value in log:
            outcome = rng.choice(["ok"] * 6 + ["info", "fail"])
            out = offsets[value] if outcome == "ok" else None
            write(
                rng.randrange(2),
                "send",
                3 * value,
                3 * value + 1,
                key="p",
                value=value,
                out=out,
                outcome=outcome,
            )
        gone = rng.choice(log) if rng.random() < 0.15 else None
        for consumer in (8, 9):
            pairs = [
                [offset, value] for value, offset in enumerate(offsets) if value != gone or len(log) == 1
            ]
            fate = rng.random()
            if fate < 0.15:
                pairs.pop(rng.randrange(len(pairs)))
            elif fate < 0.3:
                pairs.insert(rng.randrange(len(pairs)), rng.choice(pairs))
            elif fate < 0.4:
                rng.shuffle(pairs)
            elif fate < 0.5:
                rng.choice(pairs)[1] = rng.randrange(7)
            cut = rng.randrange(len(pairs) + 1)
            write(consumer, "poll", 50, 51, key="p", out=pairs[:cut])
            write(consumer, "poll", 52, 53, key="p", out=pairs[cut:])
        history = write.history()
        result = run_check("kafka-log", history)
        wrong = truth(history)
        assert set(result.details["anomalies"]) == wrong, history.operations
        seen.update(wrong or {"none"})
    return seen


def test_logs_agree_with_all_pairs() -> None:
    seen = fuzz(range(3_000))
    assert len(seen) == 10
    assert min(seen.values()) > 20


@many()
def test_logs_agree_with_all_pairs_at_length(seeds: range) -> None:
    assert min(fuzz(seeds).values()) > 20
