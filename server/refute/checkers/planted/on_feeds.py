"""Operators on change feeds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

from refute.checkers.change_feed import FEED_KINDS, SEQUENCE_NAMES
from refute.checkers.kinds import NEVER, effect_end, written
from refute.checkers.planted.ground import Ground, shuffled
from refute.checkers.planted.operator import Operator, Planting, always
from refute.history import Operation, Outcome, hashable

PLACES = 12
"""How many places an operator looks at, as few copies are made of all that is offered."""


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
        yield Planting(ground.with_changed(less), (less,), words)


def feeds_with_repeats(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A feed has an event twice."""
    for read, numbers in _events(ground, rng, 1):
        place = rng.randrange(len(numbers))
        more = replace(read, output=[*read.output[: place + 1], *read.output[place:]])
        words = f"a feed has number {numbers[place]} twice"
        yield Planting(ground.with_changed(more), (more,), words)


def reversed_feeds(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A feed's answer comes backwards."""
    for read, numbers in _events(ground, rng, 2):
        backwards = replace(read, output=list(reversed(read.output)))
        words = f"a feed runs backwards, from {numbers[-1]} to {numbers[0]}"
        yield Planting(ground.with_changed(backwards), (backwards,), words)


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


_NUMBERED = "a feed with numbered events"

OPERATORS = (
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
