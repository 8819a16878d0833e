"""Operators on what only grows: sets, lists that are read whole, counters; and on values nobody wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

from refute.checkers.exact_counts import requests
from refute.checkers.kinds import NEVER, effect_end, is_collection, is_number
from refute.checkers.observation import element_name, write_name
from refute.checkers.planted.ground import NEW_PROCESS, Ground, Plot, fresh_value, shuffled
from refute.checkers.planted.operator import Operator, Planting, always, model_in
from refute.history import Operation, Outcome

PLACES = 8
"""How many places an operator looks at, as few copies are made of all that is offered."""


def _collections(ground: Ground, rng: Random) -> Iterator[tuple[Plot, list[Operation]]]:
    """Objects that are only added to, with their reads of collections."""
    for plot in shuffled(ground.plots.values(), rng):
        shrinking = ground.known.removing | ground.known.replacing | ground.known.consuming
        if any(o.kind in shrinking for o in plot.operations):
            continue
        reads = [r for r in plot.reads if is_collection(r.output)]
        if reads:
            yield plot, reads


def _name(ground: Ground, write: Operation) -> Hashable:
    return write_name(write, False, ground.options.get("id_field"))


def _names(ground: Ground, read: Operation) -> list[Hashable]:
    return [element_name(element, ground.options.get("id_field")) for element in read.output]


def _without(ground: Ground, read: Operation, name: Hashable) -> Operation:
    id_field = ground.options.get("id_field")
    return replace(read, output=[e for e in read.output if element_name(e, id_field) != name])


def _known_elements(
    ground: Ground, plot: Plot, reads: list[Operation], rng: Random
) -> Iterator[tuple[Operation, list[Operation]]]:
    """Acknowledged adds with the later reads that show what they added, shuffled."""
    for write in shuffled(plot.operations, rng):
        if write.kind in ground.known.accumulating and effect_end(write) != NEVER:
            later = [r for r in reads if r.invoked_ns > effect_end(write)]
            name = _name(ground, write)
            showing = [r for r in later if name in _names(ground, r)]
            if showing:
                yield write, showing


def vanished_elements(ground: Ground, rng: Random) -> Iterator[Planting]:
    """From some moment on, no read shows an element that was acknowledged before."""
    for plot, reads in _collections(ground, rng):
        for count, (write, showing) in enumerate(_known_elements(ground, plot, reads, rng)):
            start = rng.randrange(len(showing))
            changed = {r.index: _without(ground, r, _name(ground, write)) for r in showing[start:]}
            yield Planting(
                ground.copy(changed),
                (write, *changed.values()),
                f"the acknowledged {write.input!r} vanishes from the last {len(changed)} reads",
            )
            if count == PLACES:
                break


def stale_collections(ground: Ground, rng: Random) -> Iterator[Planting]:
    """One read lacks an element that was acknowledged before, a later read shows it."""
    for plot, reads in _collections(ground, rng):
        for count, (write, showing) in enumerate(_known_elements(ground, plot, reads, rng)):
            if len(showing) < 2:
                continue
            stale = _without(ground, rng.choice(showing[:-1]), _name(ground, write))
            yield Planting(
                ground.copy({stale.index: stale}, within=plot),
                (write, stale, showing[-1]),
                f"a read lacks {write.input!r}, which had been acknowledged before it",
            )
            if count == PLACES:
                break


def vanished_from_sessions(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A session sees an element at a node, and then, at the same node, no more."""
    for _, reads in _collections(ground, rng):
        last: dict[tuple[Hashable, str | None], Operation] = {}
        pairs = []
        for read in reads:
            before = last.get((read.process, read.node))
            if before is not None and before.output and effect_end(before) < read.invoked_ns:
                pairs.append((before, read))
            last[read.process, read.node] = read
        for before, read in shuffled(pairs, rng)[:PLACES]:
            common = [n for n in _names(ground, before) if n in set(_names(ground, read))]
            if common:
                name = rng.choice(common)
                less = _without(ground, read, name)
                yield Planting(
                    ground.copy({less.index: less}),
                    (before, less),
                    f"a session sees {name!r} and then no more",
                )


def doubled_members(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A read shows an element twice."""
    for plot, reads in _collections(ground, rng):
        adds = Counter(
            _name(ground, o)
            for o in plot.operations
            if o.kind in ground.known.accumulating and o.outcome is not Outcome.FAIL
        )
        for read in shuffled([r for r in reads if r.output], rng)[:PLACES]:
            element = rng.choice(list(read.output))
            name = element_name(element, ground.options.get("id_field"))
            if adds[name] > _names(ground, read).count(name):
                continue
            doubled = replace(read, output=[*read.output, element])
            yield Planting(
                ground.copy({doubled.index: doubled}, within=plot),
                (doubled,),
                f"a read shows {element!r} twice",
            )


def invented_elements(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A read shows an element that nobody added."""
    taken = [o.input for o in ground.history.operations if ground.known.writes(o)]
    for plot, reads in _collections(ground, rng):
        usable = [r for r in reads if r.output and not isinstance(next(iter(r.output)), dict)]
        for read in shuffled(usable, rng)[:PLACES]:
            value = fresh_value(next(iter(read.output)), [*taken, *read.output])
            more = replace(read, output=[*read.output, value])
            yield Planting(
                ground.copy({more.index: more}, within=plot),
                (more,),
                f"a read shows {value!r}, which nobody added",
            )


def seen_adds_called_failures(ground: Ground, rng: Random) -> Iterator[Planting]:
    """An add of unknown outcome whose element was read is said to have failed."""
    for plot, reads in _collections(ground, rng):
        adds: dict[Hashable, list[Operation]] = {}
        for write in plot.operations:
            if write.kind in ground.known.accumulating:
                adds.setdefault(_name(ground, write), []).append(write)
        seen = {name: read for read in reads for name in _names(ground, read)}
        for name, attempts in shuffled(adds.items(), rng):
            if name not in seen or any(o.outcome is Outcome.OK for o in attempts):
                continue
            changed = {o.index: replace(o, outcome=Outcome.FAIL) for o in attempts}
            yield Planting(
                ground.copy(changed, within=plot),
                (*changed.values(), seen[name]),
                f"the unknown add of {name!r} is called failed, although it was read",
            )


def early_reads(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A read of a value ends before its only write begins."""
    if ground.history.clock == "wall":
        return
    for plot in shuffled((p for p in ground.plots.values() if p.only_replaced), rng):
        for read in shuffled(plot.reads, rng)[:PLACES]:
            writer = plot.writer_of(read.output)
            if writer is not None:
                start = writer.invoked_ns - 2
                early = replace(read, process=NEW_PROCESS, invoked_ns=start, completed_ns=start + 1)
                yield Planting(
                    ground.copy({early.index: early}, within=plot),
                    (early, writer),
                    f"{read.output!r} is read before anybody had begun to write it",
                )


def _lists(ground: Ground, rng: Random) -> Iterator[tuple[Plot, list[Operation]]]:
    for plot, reads in _collections(ground, rng):
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
                ground.copy({swapped.index: swapped}, within=plot),
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
                ground.copy({holed.index: holed}, within=plot),
                (holed, witness),
                f"a read leaves out {read.output[place]!r} and has what comes after it",
            )


def swapped_everywhere(ground: Ground, rng: Random) -> Iterator[Planting]:
    """Two elements, one acknowledged before the other was asked for, change places in all reads."""
    if ground.history.clock == "wall":
        return
    for plot, reads in _lists(ground, rng):
        adds: dict[Hashable, list[Operation]] = {}
        for write in plot.operations:
            if write.kind in ground.known.accumulating:
                adds.setdefault(_name(ground, write), []).append(write)
        longest = max(reads, key=lambda r: len(r.output))
        names = _names(ground, longest)
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


def _counter_bounds(plot: Plot, read: Operation, initial: Any) -> tuple[float, float]:
    adds = [o for o in plot.operations if o.kind in ("add", "increment", "incr")]
    end = NEVER if read.completed_ns is None else read.completed_ns
    least = most = initial
    for request in requests(adds, by_key=False):
        amount = 1 if request.attempts[0].input is None else request.attempts[0].input
        attempts = [o for o in request.attempts if o.outcome is not Outcome.FAIL]
        sure = any(effect_end(o) < read.invoked_ns for o in attempts)
        maybe = any(o.invoked_ns <= end for o in attempts)
        least += amount if (sure and amount > 0) or (maybe and amount < 0) else 0
        most += amount if (maybe and amount > 0) or (sure and amount < 0) else 0
    return least, most


def counts_out_of_bounds(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A read of a counter is below all that was acknowledged, or above all that was asked for."""
    initial = ground.options.get("initial") or 0
    for plot in shuffled(ground.plots.values(), rng):
        adds = [o for o in plot.operations if o.kind in ("add", "increment", "incr")]
        kinds = {o.kind for o in adds} | ground.known.reading
        others = any(o.kind not in kinds for o in plot.operations)
        if not adds or others or not all(o.input is None or is_number(o.input) for o in adds):
            continue
        for read in shuffled((r for r in plot.reads if is_number(r.output)), rng)[:PLACES]:
            least, most = _counter_bounds(plot, read, initial)
            lost, doubled = (least - 1, "an acknowledged add is lost"), (most + 1, "an add counts twice")
            value, words = rng.choice((lost, doubled))
            wrong = replace(read, output=value)
            yield Planting(
                ground.copy({wrong.index: wrong}, within=plot),
                (wrong,),
                f"{words}: a read returns {value!r} where {least!r} to {most!r} are possible",
            )


_SHOWN = "a read that shows elements"
_FULL = {"set-full": always}
_LISTED = {"linearizable": model_in("set", "multiset", "log")}
_LOGGED = {"linearizable": model_in("log")}

OPERATORS = (
    Operator(
        "vanished-element",
        "drop an acknowledged element from all later reads",
        "an acknowledged element that later reads show",
        _FULL | _LISTED,
        vanished_elements,
    ),
    Operator(
        "stale-collection",
        "drop an acknowledged element from one read",
        "an acknowledged element that two later reads show",
        _LISTED | {"set-full": lambda options: bool(options.get("linearizable"))},
        stale_collections,
    ),
    Operator(
        "vanished-from-a-session",
        "drop an element from a session's second read",
        "a session that reads a collection twice at one node",
        {"g-set": always},
        vanished_from_sessions,
    ),
    Operator("doubled-member", "duplicate an effect", _SHOWN, _FULL | _LISTED, doubled_members),
    Operator(
        "invented-element",
        "show what nobody added",
        _SHOWN,
        {"set-full": always, "g-set": always, "no-phantom": always} | _LISTED,
        invented_elements,
    ),
    Operator(
        "seen-add-called-failure",
        "swallow a timeout whose effect was seen",
        "an add of unknown outcome whose element was read",
        {"set-full": always, "g-set": always, "no-phantom": always} | _LISTED,
        seen_adds_called_failures,
    ),
    Operator(
        "early-read",
        "shift a read across the write that it shows",
        "a read of a value that one acknowledged write alone wrote",
        {"no-phantom": always},
        early_reads,
    ),
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
    Operator(
        "count-out-of-bounds",
        "lose or double an add",
        "a read of a counter",
        {"counter": always, "linearizable": model_in("counter")},
        counts_out_of_bounds,
    ),
)
