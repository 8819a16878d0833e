"""Change feeds: one history for each anomaly, and all pairs against the definitions."""

from __future__ import annotations

import random
from collections import Counter

from refute.checkers import run_check
from refute.history import History, Outcome

from .nightly import many
from .scribe import Scribe


def names(scribe: Scribe, **options: object) -> set[str]:
    return {a.name for a in run_check("change-feed", scribe.history(), options).anomalies}


def events(*numbers: int, key: str = "x") -> list[dict[str, object]]:
    return [{"seq": number, "key": key, "value": f"v{number}"} for number in numbers]


def fed(*answers: list[dict[str, object]]) -> Scribe:
    write = Scribe()
    for number in range(1, 5):
        write(1, "put", 10 * number, 10 * number + 1, key="x", value=f"v{number}")
    for place, answer in enumerate(answers):
        write(2, "changes", 100 + 2 * place, 101 + 2 * place, out=answer)
    return write


def test_a_whole_feed() -> None:
    assert run_check("change-feed", fed(events(1, 2), events(3, 4)).history()).valid is True


def test_a_gap_between_and_within_answers() -> None:
    assert names(fed(events(1, 2, 4))) == {"gap", "missing-event"}
    assert names(fed(events(1, 2), events(4)), contiguous=False) == {"missing-event"}


def test_an_event_that_comes_again() -> None:
    assert names(fed(events(1, 2), events(2, 3, 4))) == {"duplicate-event"}
    assert names(fed(events(1, 2), events(2, 3, 4)), duplicates=True) == set()


def test_a_subscriber_that_starts_again_may_see_them_again() -> None:
    write = fed(events(1, 2, 3, 4))
    assert names(write(2, "changes", 200, 201, out=events(2, 3), **{"from": 2})) == set()


def test_a_feed_that_runs_backwards() -> None:
    assert names(fed(list(reversed(events(1, 2, 3, 4))))) == {"reordered-event", "disordered-writes"}


def test_two_subscribers_that_are_told_different_things() -> None:
    write = fed(events(1, 2, 3, 4))
    assert names(write(3, "changes", 200, 201, out=[{"seq": 1, "key": "x", "value": "other"}])) == {
        "inconsistent-event"
    }


def test_writes_of_one_key_in_the_wrong_order() -> None:
    swapped = events(1, 2, 3, 4)
    swapped[0]["value"], swapped[1]["value"] = "v2", "v1"
    assert names(fed(swapped)) == {"disordered-writes"}


def test_pairs_are_events_too() -> None:
    write = Scribe()(2, "watch", 0, 1, out=[[1, "a"], [3, "b"]])
    assert names(write) == {"gap"}


def test_without_events_nothing_is_proved() -> None:
    assert run_check("change-feed", fed([]).history()).valid == "unknown"
    odd = fed(events(1, 2, 3, 4), [{"what": 1}])  # type: ignore[list-item]
    assert run_check("change-feed", odd.history()).valid == "unknown"


def truth(history: History) -> set[str]:
    found = set()
    writes = {o.input: o for o in history.operations if o.kind == "put"}
    streams = {}
    for o in history.operations:
        if o.kind == "changes":
            streams.setdefault(o.process, []).extend(o.output)
    everything = [event for stream in streams.values() for event in stream]
    if any(a["seq"] == b["seq"] and a["value"] != b["value"] for a in everything for b in everything):
        found.add("inconsistent-event")
    for stream in streams.values():
        for place, event in enumerate(stream):
            earlier = [other["seq"] for other in stream[:place]]
            if event["seq"] in earlier:
                found.add("duplicate-event")
            elif earlier and event["seq"] < max(earlier):
                found.add("reordered-event")
            elif earlier and event["seq"] > max(earlier) + 1:
                found.add("gap")
        first = list(dict.fromkeys(event["value"] for event in stream if event["value"] in writes))
        for place, a in enumerate(first):
            for b in first[place + 1 :]:
                if writes[b].outcome is Outcome.OK and (writes[b].completed_ns or 0) < writes[a].invoked_ns:
                    found.add("disordered-writes")
    shown = {event["value"] for event in everything}
    for value, write in writes.items():
        later = [w for v, w in writes.items() if v in shown and w.invoked_ns > (write.completed_ns or 0)]
        if write.outcome is Outcome.OK and value not in shown and later:
            found.add("missing-event")
    return found


def fuzz(seeds: range) -> Counter[str]:
    seen: Counter[str] = Counter()
    for seed in seeds:
        rng = random.Random(seed)
        write = Scribe()
        count = rng.randint(2, 5)
        for number in range(1, count + 1):
            start = 4 * number + rng.randrange(4)
            outcome = rng.choice(["ok"] * 5 + ["info", "fail"])
            write(
                number, "put", start, start + rng.randint(1, 5), key="x", value=f"v{number}", outcome=outcome
            )
        gone = rng.randint(1, count) if rng.random() < 0.15 else None
        for consumer in (8, 9):
            feed = events(*(number for number in range(1, count + 1) if number != gone))
            fate = rng.random()
            if fate < 0.12:
                feed.pop(rng.randrange(len(feed)))
            elif fate < 0.24:
                feed.insert(rng.randrange(len(feed)), rng.choice(feed))
            elif fate < 0.34:
                rng.shuffle(feed)
            elif fate < 0.44:
                rng.choice(feed)["value"] = f"v{rng.randint(1, count)}"
            cut = rng.randrange(len(feed) + 1)
            write(consumer, "changes", 50, 51, out=feed[:cut])(consumer, "changes", 52, 53, out=feed[cut:])
        history = write.history()
        wrong = truth(history)
        got = set(run_check("change-feed", history).details["anomalies"])
        assert got == wrong, [(o.input, o.output, o.invoked_ns, o.completed_ns) for o in history.operations]
        seen.update(wrong or {"none"})
    return seen


def test_feeds_agree_with_all_pairs() -> None:
    seen = fuzz(range(3_000))
    assert len(seen) == 7
    assert min(seen.values()) > 50


@many()
def test_feeds_agree_with_all_pairs_at_length(seeds: range) -> None:
    assert min(fuzz(seeds).values()) > 40
