"""Change feed: every subscriber sees each change once, in order, without gaps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

from refute.checkers.judgement import Judgement
from refute.checkers.kinds import effect_end, kinds, written
from refute.checkers.result import Budget, Result
from refute.history import History, Operation, Outcome, hashable

SEQUENCE_NAMES = ("seq", "offset", "revision", "sequence", "id")
FEED_KINDS = ("poll", "feed", "changes", "watch")


class Event(NamedTuple):
    """One change as a subscriber saw it."""

    operation: Operation
    number: int | None
    key: Any
    value: Any


def check(
    history: History,
    *,
    budget: Budget,
    contiguous: bool = True,
    number_field: str | None = None,
    duplicates: bool = False,
    write_kinds: object = (),
    feed_kinds: str | Iterable[str] = FEED_KINDS,
) -> Result:
    """Whether feeds have gaps, duplicates, or changes out of order.

    A feed is read by operations `poll`, `feed`, `changes` or `watch`, whose output is a list of
    events: maps with a number (`number_field`, or one of seq, offset, revision, sequence, id), `key`
    and `value`, or `[number, value]` pairs. The answers of one process follow each other as one stream; an
    operation with `extra.from` starts it anew at that number.

    - `gap`: two neighbours' numbers differ by more than one (unless `contiguous` is false)
    - `duplicate-event`: a number comes again in one stream (unless `duplicates` are allowed)
    - `reordered-event`: a number comes after a greater one
    - `inconsistent-event`: two streams have different changes under one number
    - `missing-event`: an acknowledged write is in no stream, although a stream has one that was asked
      for after it had been acknowledged; `disordered-writes`: the feed has two writes to one key in the
      order opposite to real time

    O(n + events).
    """
    known = kinds(write_kinds, ())
    wanted = frozenset((feed_kinds,) if isinstance(feed_kinds, str) else feed_kinds)
    judgement = Judgement("change-feed", "numbers by stream, writes against events")
    writes = [o for o in history.operations if known.writes(o) and o.kind not in wanted]
    reads = [o for o in history.operations if o.kind in wanted]
    streams = _streams(judgement, reads, number_field)
    named: dict[int, Event] = {}
    for stream in streams:
        _judge_numbers(judgement, stream, contiguous, duplicates)
        for event in stream:
            judgement.judged += 1
            if event.number is None:
                continue
            first = named.setdefault(event.number, event)
            if _content(first) != _content(event):
                both = f"{_shown(first)} in one stream and {_shown(event)} in another"
                sentence = f"number {event.number} is {both}"
                judgement.found("inconsistent-event", sentence, (first.operation, event.operation))
    if history.clock == "wall":
        judgement.assumptions.append("clocks differ, so that writes were not ordered by time")
    else:
        _judge_writes(judgement, writes, streams)
    return judgement.result([*writes, *reads], nothing="no event was seen", keys=len(streams))


def _streams(judgement: Judgement, reads: list[Operation], number_field: str | None) -> list[list[Event]]:
    streams: dict[tuple[Hashable, int], list[Event]] = defaultdict(list)
    restarts: dict[Hashable, int] = defaultdict(int)
    for read in reads:
        if read.outcome is not Outcome.OK:
            continue
        if "from" in read.extra:
            restarts[read.process] += 1
        if not isinstance(read.output, list | tuple | None):
            judgement.cannot("a read of the feed returned no list of events")
            continue
        for given in read.output or ():
            event = _event(read, given, number_field)
            if event is None:
                judgement.cannot("an event has neither a number nor a value that could be recognised")
            else:
                streams[read.process, restarts[read.process]].append(event)
    return list(streams.values())


def _event(read: Operation, given: Any, number_field: str | None) -> Event | None:
    if isinstance(given, Mapping):
        names = (number_field,) if number_field else SEQUENCE_NAMES
        number = next((given[name] for name in names if isinstance(given.get(name), int)), None)
        if number is None and "value" not in given:
            return None
        return Event(read, number, given.get("key", read.key), given.get("value"))
    if isinstance(given, list | tuple):
        if len(given) == 2 and isinstance(given[0], int):
            return Event(read, given[0], read.key, given[1])
        return None
    return Event(read, None, read.key, given)


def _judge_numbers(judgement: Judgement, stream: list[Event], contiguous: bool, duplicates: bool) -> None:
    seen: dict[int, Event] = {}
    greatest: Event | None = None
    for event in stream:
        number = event.number
        if number is None:
            continue
        if number in seen:
            if not duplicates:
                sentence = f"number {number} comes twice in the stream of process {event.operation.process}"
                judgement.found("duplicate-event", sentence, _both(seen[number], event))
        elif greatest is not None and number < (greatest.number or 0):
            sentence = f"number {number} comes after {greatest.number}"
            judgement.found("reordered-event", sentence, _both(greatest, event))
        elif contiguous and greatest is not None and number > (greatest.number or 0) + 1:
            sentence = f"number {number} comes right after {greatest.number}: what lies between is missing"
            judgement.found("gap", sentence, _both(greatest, event))
        seen.setdefault(number, event)
        if greatest is None or number > (greatest.number or 0):
            greatest = event


def _both(one: Event, other: Event) -> tuple[Operation, ...]:
    same = one.operation is other.operation
    return (one.operation,) if same else (one.operation, other.operation)


def _judge_writes(judgement: Judgement, writes: list[Operation], streams: list[list[Event]]) -> None:
    by_content: dict[Hashable, list[Operation]] = defaultdict(list)
    for write in writes:
        by_content[hashable(write.key), hashable(written(write))].append(write)
    shown: dict[int, Operation] = {}
    for stream in streams:
        latest: dict[Hashable, tuple[Operation, Operation]] = {}
        first_of: set[int] = set()
        for event in stream:
            makers = by_content.get((hashable(event.key), hashable(event.value)), [])
            if len(makers) != 1:
                continue
            (write,) = makers
            shown.setdefault(write.index, event.operation)
            before = latest.get(hashable(event.key))
            new = write.index not in first_of
            if new and before is not None and effect_end(write) < before[0].invoked_ns:
                sentence = (
                    f"the feed has {written(write)!r} of {event.key} after {written(before[0])!r}, "
                    "although it had been acknowledged before that was asked for"
                )
                proof = {o.index: o for o in (write, *before, event.operation)}
                judgement.found("disordered-writes", sentence, proof.values())
            first_of.add(write.index)
            if before is None or write.invoked_ns > before[0].invoked_ns:
                latest[hashable(event.key)] = (write, event.operation)
    newest = max((w for w in writes if w.index in shown), key=lambda w: w.invoked_ns, default=None)
    for write in writes:
        content = (hashable(write.key), hashable(written(write)))
        if newest is None or write.index in shown or len(by_content[content]) != 1:
            continue
        if effect_end(write) < newest.invoked_ns:
            sentence = (
                f"{written(write)!r} of {write.key} was acknowledged and is in no stream, although "
                f"{written(newest)!r}, which was asked for later, is"
            )
            judgement.found("missing-event", sentence, (write, newest, shown[newest.index]))


def _content(event: Event) -> tuple[Hashable, Hashable]:
    return hashable(event.key), hashable(event.value)


def _shown(event: Event) -> str:
    return repr(event.value) if event.key is None else f"{event.key}={event.value!r}"
