"""Operators on collections that only grow, and on values that nobody wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from dataclasses import replace
from random import Random

from refute.checkers.kinds import NEVER, effect_end, is_collection
from refute.checkers.observation import element_name, write_name
from refute.checkers.planted.ground import NEW_PROCESS, Ground, Plot, fresh_value, shuffled
from refute.checkers.planted.operator import Operator, Planting, always, model_in
from refute.history import Operation, Outcome, recorded

PLACES = 8
"""How many places an operator looks at, as few copies are made of all that is offered."""


def growing(ground: Ground, rng: Random) -> Iterator[tuple[Plot, list[Operation]]]:
    """Objects that are only added to, with their reads of collections."""
    for plot in shuffled(ground.plots.values(), rng):
        shrinking = ground.known.removing | ground.known.replacing | ground.known.consuming
        if any(o.kind in shrinking for o in plot.operations):
            continue
        reads = [r for r in plot.reads if is_collection(r.output)]
        if reads:
            yield plot, reads


def added_name(ground: Ground, write: Operation) -> Hashable:
    """By what the element of an add is recognised."""
    return write_name(write, False, ground.options.get("id_field"))


def shown_names(ground: Ground, read: Operation) -> list[Hashable]:
    """By what the elements that a read shows are recognised, in its order."""
    return [element_name(element, ground.options.get("id_field")) for element in read.output]


def adds_by_name(ground: Ground, plot: Plot) -> dict[Hashable, list[Operation]]:
    """The adds of an object by the element that they add."""
    adds: dict[Hashable, list[Operation]] = {}
    for write in plot.operations:
        if write.kind in ground.known.accumulating:
            adds.setdefault(added_name(ground, write), []).append(write)
    return adds


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
            name = added_name(ground, write)
            showing = [r for r in later if name in shown_names(ground, r)]
            if showing:
                yield write, showing


def vanished_elements(ground: Ground, rng: Random) -> Iterator[Planting]:
    """From some moment on, no read shows an element that was acknowledged before."""
    for plot, reads in growing(ground, rng):
        for count, (write, showing) in enumerate(_known_elements(ground, plot, reads, rng)):
            start = rng.randrange(len(showing))
            changed = {r.index: _without(ground, r, added_name(ground, write)) for r in showing[start:]}
            yield Planting(
                ground.copy(changed),
                (write, *changed.values()),
                f"the acknowledged {write.input!r} vanishes from the last {len(changed)} reads",
            )
            if count == PLACES:
                break


def stale_collections(ground: Ground, rng: Random) -> Iterator[Planting]:
    """One read lacks an element that was acknowledged before, a later read shows it."""
    for plot, reads in growing(ground, rng):
        for count, (write, showing) in enumerate(_known_elements(ground, plot, reads, rng)):
            if len(showing) < 2:
                continue
            stale = _without(ground, rng.choice(showing[:-1]), added_name(ground, write))
            yield Planting(
                ground.with_changed(stale, within=plot),
                (write, stale, showing[-1]),
                f"a read lacks {write.input!r}, which had been acknowledged before it",
            )
            if count == PLACES:
                break


def vanished_from_sessions(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A session sees an element at a node, and then, at the same node, no more."""
    for _, reads in growing(ground, rng):
        last: dict[tuple[Hashable, str | None], Operation] = {}
        pairs = []
        for read in reads:
            before = last.get((read.process, read.node))
            if before is not None and before.output and effect_end(before) < read.invoked_ns:
                pairs.append((before, read))
            last[read.process, read.node] = read
        for before, read in shuffled(pairs, rng)[:PLACES]:
            common = [n for n in shown_names(ground, before) if n in set(shown_names(ground, read))]
            if common:
                name = rng.choice(common)
                less = _without(ground, read, name)
                yield Planting(
                    ground.with_changed(less),
                    (before, less),
                    f"a session sees {recorded(name)!r} and then no more",
                )


def doubled_members(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A read shows an element twice."""
    for plot, reads in growing(ground, rng):
        adds = Counter(
            added_name(ground, o)
            for o in plot.operations
            if o.kind in ground.known.accumulating and o.outcome is not Outcome.FAIL
        )
        for read in shuffled([r for r in reads if r.output], rng)[:PLACES]:
            element = rng.choice(list(read.output))
            name = element_name(element, ground.options.get("id_field"))
            if adds[name] > shown_names(ground, read).count(name):
                continue
            doubled = replace(read, output=[*read.output, element])
            yield Planting(
                ground.with_changed(doubled, within=plot),
                (doubled,),
                f"a read shows {element!r} twice",
            )


def invented_elements(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A read shows an element that nobody added."""
    taken = [o.input for o in ground.history.operations if ground.known.writes(o)]
    for plot, reads in growing(ground, rng):
        usable = [r for r in reads if r.output and not isinstance(next(iter(r.output)), dict)]
        for read in shuffled(usable, rng)[:PLACES]:
            value = fresh_value(next(iter(read.output)), [*taken, *read.output])
            more = replace(read, output=[*read.output, value])
            yield Planting(
                ground.with_changed(more, within=plot),
                (more,),
                f"a read shows {value!r}, which nobody added",
            )


def seen_adds_called_failures(ground: Ground, rng: Random) -> Iterator[Planting]:
    """An add of unknown outcome whose element was read is said to have failed."""
    for plot, reads in growing(ground, rng):
        adds = adds_by_name(ground, plot)
        seen = {name: read for read in reads for name in shown_names(ground, read)}
        for name, attempts in shuffled(adds.items(), rng):
            if name not in seen or any(o.outcome is Outcome.OK for o in attempts):
                continue
            changed = {o.index: replace(o, outcome=Outcome.FAIL) for o in attempts}
            yield Planting(
                ground.copy(changed, within=plot),
                (*changed.values(), seen[name]),
                f"the unknown add of {recorded(name)!r} is called failed, although it was read",
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
                    ground.with_changed(early, within=plot),
                    (early, writer),
                    f"{read.output!r} is read before anybody had begun to write it",
                )


_SHOWN = "a read that shows elements"
_FULL = {"set-full": always}
_LISTED = {"linearizable": model_in("set", "multiset", "log")}

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
)
