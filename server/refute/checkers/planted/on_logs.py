"""Operators on deliveries: partitioned logs, Kafka-style polls, change feeds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple

from refute.checkers.change_feed import FEED_KINDS, SEQUENCE_NAMES
from refute.checkers.kafka_records import Polled, records
from refute.checkers.kinds import NEVER, effect_end, written
from refute.checkers.observation import element_name, write_name
from refute.checkers.planted.ground import Ground, shuffled
from refute.checkers.planted.operator import Operator, Options, Planting, always
from refute.history import Operation, Outcome, hashable

PLACES = 12
"""How many places an operator looks at, as few copies are made of all that is offered."""


class _Delivery(NamedTuple):
    """One element that one consuming operation returned, at a place in its list."""

    operation: Operation
    place: int
    element: Any
    send: Operation


def swapped_deliveries(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A consumer is handed two elements of a partition in the order opposite to that of their sends."""
    sends: dict[tuple[Hashable, Hashable], list[Operation]] = defaultdict(list)
    for operation in ground.history.operations:
        if operation.kind in ground.known.accumulating:
            name = write_name(operation, False, ground.options.get("id_field"))
            sends[_partition(operation), name].append(operation)
    streams: dict[tuple[Hashable, ...], list[_Delivery]] = defaultdict(list)
    for operation in ground.history.operations:
        if operation.kind not in ground.known.consuming or operation.outcome is not Outcome.OK:
            continue
        listed = isinstance(operation.output, list | tuple) and operation.kind in ("poll", "drain")
        for place, element in enumerate(operation.output if listed else [operation.output]):
            name = element_name(element, ground.options.get("id_field"))
            found = sends.get((_partition(operation), name), [])
            if len(found) == 1:
                key = (operation.process, _partition(operation))
                streams[key].append(_Delivery(operation, place if listed else -1, element, found[0]))
    alone = ground.options.get("per_producer") or ground.history.clock == "wall"
    for stream in shuffled(streams.values(), rng):
        names = [hashable(delivery.element) for delivery in stream]
        if len(set(names)) < len(names):
            continue
        for at in shuffled(range(len(stream)), rng)[:PLACES]:
            for later in stream[at + 1 : at + 8]:
                first = stream[at]
                if alone and first.send.process != later.send.process:
                    continue
                if effect_end(first.send) < later.send.invoked_ns:
                    changed = _exchanged(first, later)
                    yield Planting(
                        ground.copy({o.index: o for o in changed}),
                        (first.send, later.send, *changed),
                        f"{later.element!r} is handed out before {first.element!r}, which was sent before it",
                    )
                    break


def _partition(operation: Operation) -> Hashable:
    return hashable(operation.extra.get("partition", operation.key))


def _put(operation: Operation, place: int, element: Any) -> Operation:
    if place < 0:
        return replace(operation, output=element)
    output = list(operation.output)
    output[place] = element
    return replace(operation, output=output)


def _exchanged(first: _Delivery, later: _Delivery) -> tuple[Operation, ...]:
    if first.operation is later.operation:
        both = _put(_put(first.operation, first.place, later.element), later.place, first.element)
        return (both,)
    return (
        _put(first.operation, first.place, later.element),
        _put(later.operation, later.place, first.element),
    )


Pairs = dict[Any, list[Any]]


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
                ground.copy({failed.index: failed}),
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
        yield Planting(ground.copy({swapped.index: swapped}), (swapped,), words)


def repeated_records(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A poll returns a record twice."""
    polls = _Polls(ground)
    for operation, partition, batch in polls.batches(rng, 1):
        pairs = _pairs(batch)
        place = rng.randrange(len(pairs))
        pairs.insert(place, pairs[place])
        repeated = polls.of(operation, partition, pairs)
        words = f"a poll returns offset {pairs[place][0]} twice"
        yield Planting(ground.copy({repeated.index: repeated}), (repeated,), words)


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
        yield Planting(ground.copy({skipped.index: skipped}), (skipped,), words)


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
        yield Planting(ground.copy({more.index: more}), (more,), words)


def records_at_two_offsets(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A record is polled again at a second offset."""
    polls = _Polls(ground)
    for operation, partition, batch in polls.batches(rng, 1):
        offset = polls.highest[partition] + 1
        twice = polls.of(operation, partition, [*_pairs(batch), [offset, batch[-1].value]])
        words = f"{batch[-1].value!r} stands at two offsets, {batch[-1].offset} and {offset}"
        yield Planting(ground.copy({twice.index: twice}), (twice,), words)


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
            ground.copy({first.index: first, second.index: second}),
            (first, second),
            f"a producer's records stand at offsets {two.offset} and then {one.offset}",
        )


def _events(ground: Ground, rng: Random, least: int) -> Iterator[tuple[Operation, list[int]]]:
    """Answers of feeds with at least so many numbered events, and the numbers; shuffled."""
    kinds = ground.options.get("feed_kinds", FEED_KINDS)
    wanted = {kinds} if isinstance(kinds, str) else set(kinds)
    field = ground.options.get("number_field")
    for operation in shuffled(ground.history.operations, rng):
        if operation.kind in wanted and operation.outcome is Outcome.OK:
            numbers = [_number(event, field) for event in operation.output or ()]
            known = [number for number in numbers if number is not None]
            if len(known) == len(numbers) >= least and known == sorted(set(known)):
                yield operation, known


def _number(event: Any, field: Any) -> int | None:
    if isinstance(event, dict):
        for name in (field,) if field else SEQUENCE_NAMES:
            if isinstance(event.get(name), int):
                return int(event[name])
    if isinstance(event, list | tuple) and len(event) == 2 and isinstance(event[0], int):
        return event[0]
    return None


def feeds_with_gaps(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A feed leaves out an event in the middle."""
    for read, numbers in _events(ground, rng, 3):
        place = rng.randrange(1, len(numbers) - 1)
        less = replace(read, output=[*read.output[:place], *read.output[place + 1 :]])
        words = f"a feed leaves out number {numbers[place]}"
        yield Planting(ground.copy({less.index: less}), (less,), words)


def feeds_with_repeats(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A feed has an event twice."""
    for read, numbers in _events(ground, rng, 1):
        place = rng.randrange(len(numbers))
        more = replace(read, output=[*read.output[: place + 1], *read.output[place:]])
        words = f"a feed has number {numbers[place]} twice"
        yield Planting(ground.copy({more.index: more}), (more,), words)


def reversed_feeds(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A feed's answer comes backwards."""
    for read, numbers in _events(ground, rng, 2):
        backwards = replace(read, output=list(reversed(read.output)))
        words = f"a feed runs backwards, from {numbers[-1]} to {numbers[0]}"
        yield Planting(ground.copy({backwards.index: backwards}), (backwards,), words)


def missing_changes(ground: Ground, rng: Random) -> Iterator[Planting]:
    """No feed has an acknowledged change, although later ones are there."""
    if ground.history.clock == "wall":
        return
    reads = list(_events(ground, rng, 1))
    everything: dict[Hashable, list[Operation]] = defaultdict(list)
    for operation in ground.history.operations:
        if ground.known.writes(operation):
            content = (hashable(operation.key), hashable(written(operation)))
            everything[content].append(operation)
    shown = {_content(read, event) for read, _ in reads for event in read.output}
    present = [w[0] for content, w in everything.items() if len(w) == 1 and content in shown]
    newest = max((w.invoked_ns for w in present), default=-1)
    for write in shuffled(present, rng)[:PLACES]:
        if effect_end(write) == NEVER or not effect_end(write) < newest:
            continue
        content = (hashable(write.key), hashable(written(write)))
        changed = {}
        for read, _ in reads:
            left = [event for event in read.output if _content(read, event) != content]
            if len(left) < len(read.output):
                changed[read.index] = replace(read, output=left)
        words = f"no feed has {written(write)!r} of {write.key}, which was acknowledged"
        yield Planting(ground.copy(changed), (write, *changed.values()), words)


def _content(read: Operation, event: Any) -> Hashable:
    if isinstance(event, dict):
        return hashable(event.get("key", read.key)), hashable(event.get("value"))
    return hashable(read.key), hashable(event[1])


def _unless_allowed(*names: str) -> dict[str, Callable[[Options], bool]]:
    return {"kafka-log": lambda options: not set(names) & set(options.get("allow", ()))}


_NUMBERED = "a feed with numbered events"

OPERATORS = (
    Operator(
        "swapped-deliveries",
        "swap two deliveries",
        "a consumer that was handed two elements of one partition, sent one after the other",
        {"fifo-per-partition": always},
        swapped_deliveries,
    ),
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
    Operator(
        "feed-with-a-gap",
        "drop an event from one feed",
        f"{_NUMBERED}, three in one answer",
        {"change-feed": lambda options: bool(options.get("contiguous", True))},
        feeds_with_gaps,
    ),
    Operator(
        "feed-with-a-repeat",
        "duplicate an event",
        _NUMBERED,
        {"change-feed": lambda options: not options.get("duplicates", False)},
        feeds_with_repeats,
    ),
    Operator(
        "reversed-feed",
        "reverse a feed",
        f"{_NUMBERED}, two in one answer",
        {"change-feed": always},
        reversed_feeds,
    ),
    Operator(
        "missing-change",
        "drop an acknowledged change from all feeds",
        "an acknowledged change in a feed, and one that was asked for later",
        {"change-feed": always},
        missing_changes,
    ),
)
