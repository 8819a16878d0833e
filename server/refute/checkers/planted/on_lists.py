"""Operators on lists that only grow and are read whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from refute.checkers.kinds import effect_end
from refute.checkers.planted.ground import Ground, Plot, shuffled
from refute.checkers.planted.on_growing import adds_by_name, growing, shown_names
from refute.checkers.planted.operator import Operator, Planting, always, model_in
from refute.history import Operation

PLACES = 8
"""How many places an operator looks at, as few copies are made of all that is offered."""


def _lists(ground: Ground, rng: Random) -> Iterator[tuple[Plot, list[Operation]]]:
    for plot, reads in growing(ground, rng):
        lists = [r for r in reads if isinstance(r.output, list | tuple)]
        if len(lists) > 1:
            yield plot, lists


def _others_reach(reads: list[Operation], read: Operation, length: int) -> Operation | None:
    return next((r for r in reads if r is not read and len(r.output) >= length), None)


def reordered_lists(ground: Ground, rng: Random) -> Iterator[Planting]:
    """Two neighbours in one read change places; another read shows them as they were."""
    for plot, reads in _lists(ground, rng):
        for read in shuffled((r for r in reads if len(r.output) > 1), rng)[:PLACES]:
            place = rng.randrange(len(read.output) - 1)
            values = list(read.output)
            witness = _others_reach(reads, read, place + 2)
            if witness is None or values[place] == values[place + 1]:
                continue
            values[place], values[place + 1] = values[place + 1], values[place]
            swapped = replace(read, output=values)
            yield Planting(
                ground.with_changed(swapped, within=plot),
                (swapped, witness),
                f"one read has {values[place]!r} before {values[place + 1]!r}, another the other way round",
            )


def lists_with_holes(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A read leaves out an element in the middle."""
    for plot, reads in _lists(ground, rng):
        for read in shuffled((r for r in reads if len(r.output) > 1), rng)[:PLACES]:
            place = rng.randrange(len(read.output) - 1)
            witness = _others_reach(reads, read, place + 1)
            values = [*read.output[:place], *read.output[place + 1 :]]
            if witness is None or values[place] == read.output[place]:
                continue
            holed = replace(read, output=values)
            yield Planting(
                ground.with_changed(holed, within=plot),
                (holed, witness),
                f"a read leaves out {read.output[place]!r} and has what comes after it",
            )


def swapped_everywhere(ground: Ground, rng: Random) -> Iterator[Planting]:
    """Two elements, one acknowledged before the other was asked for, change places in all reads."""
    if ground.history.clock == "wall":
        return
    for plot, reads in _lists(ground, rng):
        adds = adds_by_name(ground, plot)
        longest = max(reads, key=lambda r: len(r.output))
        names = shown_names(ground, longest)
        for place in shuffled(range(max(0, len(names) - 1)), rng)[: 10 * PLACES]:
            one, two = adds.get(names[place], []), adds.get(names[place + 1], [])
            if len(one) != 1 or len(two) != 1 or not effect_end(one[0]) < two[0].invoked_ns:
                continue
            changed = {}
            for read in reads:
                if len(read.output) == place + 1:
                    break
                if len(read.output) > place + 1:
                    values = list(read.output)
                    values[place], values[place + 1] = values[place + 1], values[place]
                    changed[read.index] = replace(read, output=values)
            else:
                yield Planting(
                    ground.copy(changed, within=plot),
                    (one[0], two[0], longest),
                    f"all reads have {two[0].input!r} before {one[0].input!r}, which came earlier",
                )


_LOGGED = {"linearizable": model_in("log")}

OPERATORS = (
    Operator(
        "reordered-list",
        "swap two elements of a read",
        "two reads of one list that show the same two elements",
        {"prefix": always} | _LOGGED,
        reordered_lists,
    ),
    Operator(
        "list-with-a-hole",
        "drop an element in the middle of a read",
        "two reads of one list",
        {"prefix": always} | _LOGGED,
        lists_with_holes,
    ),
    Operator(
        "swapped-everywhere",
        "swap two elements in all reads",
        "two neighbours of which one was acknowledged before the other was asked for",
        {"prefix": lambda options: bool(options.get("real_time"))} | _LOGGED,
        swapped_everywhere,
    ),
)
