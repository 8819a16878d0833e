"""Operators on Kafka-style logs: sends with offsets, polls of several records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

from refute.checkers.kafka_records import Polled, records
from refute.checkers.planted.ground import Ground, shuffled
from refute.checkers.planted.operator import Operator, Options, Planting
from refute.history import Operation, Outcome, hashable

PLACES = 12
"""How many places an operator looks at, as few copies are made of all that is offered."""


def _rewrite(operation: Operation, change: Callable[[Hashable, list[Any]], list[Any]]) -> Operation:
    """A poll with its pairs changed partition by partition."""
    if operation.kind in ("txn", "transaction"):
        steps = []
        for step in operation.output:
            if step[0] == "poll" and len(step) > 1 and isinstance(step[1], dict):
                steps.append(["poll", {key: change(hashable(key), list(p)) for key, p in step[1].items()}])
            else:
                steps.append(step)
        return replace(operation, output=steps)
    if isinstance(operation.output, dict):
        return replace(
            operation, output={key: change(hashable(key), list(p)) for key, p in operation.output.items()}
        )
    return replace(operation, output=change(hashable(operation.key), list(operation.output or ())))


class _Polls:
    """A Kafka-style history laid out for planting."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.sent, self.polled, _, _ = records(ground.history)
        self.by_poll: dict[tuple[int, Hashable], list[Polled]] = defaultdict(list)
        self.by_value: dict[tuple[Hashable, Hashable], list[Polled]] = defaultdict(list)
        self.highest: dict[Hashable, int] = defaultdict(lambda: -1)
        for poll in self.polled:
            self.by_poll[poll.operation.index, poll.partition].append(poll)
            self.by_value[poll.partition, hashable(poll.value)].append(poll)
            self.highest[poll.partition] = max(self.highest[poll.partition], poll.offset or 0)

    def of(self, operation: Operation, partition: Hashable, pairs: list[list[Any]]) -> Operation:
        """A poll that returns other pairs of one partition."""
        return _rewrite(operation, lambda key, given: pairs if key == partition else given)

    def batches(self, rng: Random, least: int) -> Iterator[tuple[Operation, Hashable, list[Polled]]]:
        """What single polls returned of single partitions, of at least that length, shuffled."""
        for (_, partition), polls in shuffled(self.by_poll.items(), rng):
            if len(polls) >= least:
                yield polls[0].operation, partition, polls


def _pairs(polls: list[Polled]) -> list[list[Any]]:
    return [[poll.offset, poll.value] for poll in polls]


def lost_records(ground: Ground, rng: Random) -> Iterator[Planting]:
    """No poll shows an acknowledged record, although polls went past it."""
    polls = _Polls(ground)
    for send in shuffled(polls.sent, rng)[: 4 * PLACES]:
        showing = polls.by_value.get((send.partition, hashable(send.value)), [])
        below = send.offset is not None and send.offset < polls.highest[send.partition]
        if not send.acknowledged or not showing or not below:
            continue
        changed: dict[int, Operation] = {}
        for poll in showing:
            operation = changed.get(poll.operation.index, poll.operation)
            changed[operation.index] = _rewrite(
                operation,
                lambda key, given, send=send: [  # type: ignore[misc]
                    pair
                    for pair in given
                    if key != send.partition or hashable(pair[1]) != hashable(send.value)
                ],
            )
        yield Planting(
            ground.copy(changed),
            (send.operation, *changed.values()),
            f"no poll shows {send.value!r}, which was acknowledged at offset {send.offset}",
        )


def polled_sends_called_failures(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A send whose record was polled is said to have failed."""
    polls = _Polls(ground)
    count: dict[tuple[Hashable, Hashable], int] = defaultdict(int)
    for send in polls.sent:
        count[send.partition, hashable(send.value)] += 1
    for send in shuffled(polls.sent, rng)[: 4 * PLACES]:
        place = (send.partition, hashable(send.value))
        if count[place] == 1 and place in polls.by_value and send.operation.kind == "send":
            failed = replace(send.operation, outcome=Outcome.FAIL, output=None)
            yield Planting(
                ground.with_changed(failed),
                (failed, polls.by_value[place][0].operation),
                f"the send of {send.value!r} is called failed, although it was polled",
            )


def swapped_records(ground: Ground, rng: Random) -> Iterator[Planting]:
    """Two records of one poll change places."""
    polls = _Polls(ground)
    for operation, partition, batch in polls.batches(rng, 2):
        pairs = _pairs(batch)
        place = rng.randrange(len(pairs) - 1)
        if pairs[place][0] >= pairs[place + 1][0]:
            continue
        pairs[place], pairs[place + 1] = pairs[place + 1], pairs[place]
        swapped = polls.of(operation, partition, pairs)
        words = f"a poll returns offset {pairs[place][0]} before {pairs[place + 1][0]}"
        yield Planting(ground.with_changed(swapped), (swapped,), words)


def repeated_records(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A poll returns a record twice."""
    polls = _Polls(ground)
    for operation, partition, batch in polls.batches(rng, 1):
        pairs = _pairs(batch)
        place = rng.randrange(len(pairs))
        pairs.insert(place, pairs[place])
        repeated = polls.of(operation, partition, pairs)
        words = f"a poll returns offset {pairs[place][0]} twice"
        yield Planting(ground.with_changed(repeated), (repeated,), words)


def skipped_records(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A poll leaves out a record in the middle that another poll or an acknowledgement shows."""
    polls = _Polls(ground)
    acknowledged = {(s.partition, s.offset) for s in polls.sent if s.acknowledged and s.offset is not None}
    for operation, partition, batch in polls.batches(rng, 3):
        place = rng.randrange(1, len(batch) - 1)
        gone = batch[place]
        elsewhere = len(polls.by_value[partition, hashable(gone.value)]) > 1
        if not elsewhere and (partition, gone.offset) not in acknowledged:
            continue
        skipped = polls.of(operation, partition, _pairs([*batch[:place], *batch[place + 1 :]]))
        words = f"a poll skips offset {gone.offset}, which is there"
        yield Planting(ground.with_changed(skipped), (skipped,), words)


def invented_records(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A poll ends with a record that nobody sent."""
    polls = _Polls(ground)
    for operation, partition, batch in polls.batches(rng, 1):
        offset = polls.highest[partition] + 1
        value = f"planted-{offset}"
        if (partition, hashable(value)) in polls.by_value:
            continue
        more = polls.of(operation, partition, [*_pairs(batch), [offset, value]])
        words = f"a poll returns {value!r}, which nobody sent"
        yield Planting(ground.with_changed(more), (more,), words)


def records_at_two_offsets(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A record is polled again at a second offset."""
    polls = _Polls(ground)
    for operation, partition, batch in polls.batches(rng, 1):
        offset = polls.highest[partition] + 1
        twice = polls.of(operation, partition, [*_pairs(batch), [offset, batch[-1].value]])
        words = f"{batch[-1].value!r} stands at two offsets, {batch[-1].offset} and {offset}"
        yield Planting(ground.with_changed(twice), (twice,), words)


def swapped_offsets(ground: Ground, rng: Random) -> Iterator[Planting]:
    """Two successive sends of one producer exchange the offsets that they were told."""
    polls = _Polls(ground)
    last: dict[tuple[Hashable, ...], Any] = {}
    pairs = []
    for send in polls.sent:
        place = (send.operation.process, send.partition)
        if send.acknowledged and send.offset is not None and send.operation.kind == "send":
            if place in last and last[place].offset < send.offset:
                pairs.append((last[place], send))
            last[place] = send
    for one, two in shuffled(pairs, rng)[:PLACES]:
        if "offset" in one.operation.extra or not isinstance(one.operation.output, int):
            continue
        first, second = (
            replace(one.operation, output=two.offset),
            replace(two.operation, output=one.offset),
        )
        yield Planting(
            ground.with_changed(first, second),
            (first, second),
            f"a producer's records stand at offsets {two.offset} and then {one.offset}",
        )


def _unless_allowed(*names: str) -> dict[str, Callable[[Options], bool]]:
    return {"kafka-log": lambda options: not set(names) & set(options.get("allow", ()))}


OPERATORS = (
    Operator(
        "lost-record",
        "drop an acknowledged record from all polls",
        "an acknowledged record with an offset below the highest one polled",
        _unless_allowed("lost-write"),
        lost_records,
    ),
    Operator(
        "polled-send-called-failure",
        "swallow an acknowledgement whose record was seen",
        "a send whose record was polled",
        _unless_allowed("aborted-read"),
        polled_sends_called_failures,
    ),
    Operator(
        "swapped-records",
        "swap two records of a poll",
        "a poll of two records of one partition",
        _unless_allowed("reordered-poll"),
        swapped_records,
    ),
    Operator(
        "repeated-record",
        "duplicate a record in a poll",
        "a poll that returned a record",
        _unless_allowed("repeated-poll"),
        repeated_records,
    ),
    Operator(
        "skipped-record",
        "drop a record from one poll",
        "a poll of three records, of which the middle one is known from elsewhere, too",
        _unless_allowed("skipped-poll"),
        skipped_records,
    ),
    Operator(
        "invented-record",
        "poll what nobody sent",
        "a poll that returned a record",
        _unless_allowed("phantom"),
        invented_records,
    ),
    Operator(
        "record-at-two-offsets",
        "duplicate a record in the log",
        "a poll that returned a record",
        _unless_allowed("duplicate"),
        records_at_two_offsets,
    ),
    Operator(
        "swapped-offsets",
        "swap the offsets of two sends",
        "two successive sends of one producer to one partition that were told their offsets",
        _unless_allowed("reordered-send"),
        swapped_offsets,
    ),
)
