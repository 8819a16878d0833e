"""Operators on objects that hold one value: registers, compare-and-set registers, key-value maps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

from refute.checkers.kinds import effect_end, written
from refute.checkers.planted.ground import NEW_PROCESS, Ground, Plot, fresh_value, shuffled
from refute.checkers.planted.operator import Operator, Planting, always, model_in
from refute.history import Operation, Outcome, hashable

_REGISTERS = model_in("register", "cas-register", "kv")
_VALUES = {"linearizable": _REGISTERS}
_ANY_ORDER = {"linearizable": _REGISTERS, "sequential": _REGISTERS}
PLACES_A_PLOT = 8
"""How many places one object offers, so that no object takes every turn."""


def registers(ground: Ground, rng: Random) -> list[Plot]:
    """Objects that are only replaced, in random order."""
    return shuffled((p for p in ground.plots.values() if p.only_replaced and p.reads), rng)


def stale_reads(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A read returns a value that an acknowledged write had replaced before the read began."""
    for plot in registers(ground, rng):
        for read in shuffled(plot.reads, rng)[:PLACES_A_PLOT]:
            for newer in shuffled(plot.acknowledged_before(read.invoked_ns), rng)[:PLACES_A_PLOT]:
                older = [w for w in plot.sole_before(newer.invoked_ns) if written(w) != read.output]
                if not older:
                    continue
                old = rng.choice(older)
                stale = replace(read, output=written(old))
                yield Planting(
                    ground.copy({read.index: stale}, within=plot),
                    (old, newer, stale),
                    f"a read returns {written(old)!r}, which {written(newer)!r} had replaced before it began",
                )
                break


def dropped_writes(ground: Ground, rng: Random) -> Iterator[Planting]:
    """An acknowledged write has no effect: whoever read its value reads the one before."""
    for plot in registers(ground, rng):
        reads_of: dict[Any, list[Operation]] = {}
        for read in plot.reads:
            reads_of.setdefault(hashable(read.output), []).append(read)
        found = 0
        for lost in shuffled(plot.sole, rng):
            readers = reads_of.get(hashable(written(lost)), [])
            older = plot.sole_before(lost.invoked_ns)
            if not older or not any(effect_end(lost) < read.invoked_ns for read in readers):
                continue
            old = rng.choice(older[-3:])
            changed = {read.index: replace(read, output=written(old)) for read in readers}
            yield Planting(
                ground.copy(changed, within=plot),
                (old, lost, *changed.values()),
                f"the acknowledged write of {written(lost)!r} is dropped: its readers see {written(old)!r}",
            )
            found += 1
            if found == PLACES_A_PLOT:
                break


def swapped_reads(ground: Ground, rng: Random) -> Iterator[Planting]:
    """Two reads, one after the other, exchange what they returned."""
    for plot in registers(ground, rng):
        known = [(read, plot.writer_of(read.output)) for read in plot.reads]
        pairs = [(read, writer) for read, writer in known if writer is not None]
        found = 0
        for first, old in shuffled(pairs, rng)[: 4 * PLACES_A_PLOT]:
            for later, new in shuffled(pairs, rng)[: 4 * PLACES_A_PLOT]:
                if effect_end(first) < later.invoked_ns and effect_end(old) < new.invoked_ns:
                    one, two = replace(first, output=later.output), replace(later, output=first.output)
                    yield Planting(
                        ground.with_changed(one, two, within=plot),
                        (old, new, one, two),
                        f"two reads are swapped: {later.output!r} is seen before {first.output!r}",
                    )
                    found += 1
                    break
            if found == PLACES_A_PLOT:
                break


def shifted_reads(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A read moves in time across a write: behind the one that replaces its value, or before its own."""
    for plot in registers(ground, rng):
        for read in shuffled(plot.reads, rng)[:PLACES_A_PLOT]:
            own = plot.writer_of(read.output)
            if own is None:
                continue
            later = [w for w in plot.acknowledged if w.invoked_ns > effect_end(own)]
            if later and (rng.random() < 0.5 or not ground.start_known):
                across = rng.choice(later)
                start = effect_end(across) + 1
                words = f"behind the write of {written(across)!r}"
            elif not ground.start_known:
                continue
            else:
                across, start, words = own, own.invoked_ns - 2, "to before the write of what it returned"
            moved = replace(read, process=NEW_PROCESS, invoked_ns=start, completed_ns=start + 1)
            yield Planting(
                ground.copy({read.index: moved}, within=plot),
                (own, across, moved),
                f"a read of {read.output!r} is shifted {words}",
            )


def timeouts_called_failures(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A write of unknown outcome that somebody read is said to have failed."""
    for plot in registers(ground, rng) if ground.start_known else ():
        seen = {hashable(read.output): read for read in plot.reads}
        for writers in shuffled(plot.writers.values(), rng):
            write = writers[0]
            value = written(write)
            if len(writers) > 1 or write.outcome is not Outcome.INFO or value is None:
                continue
            if hashable(value) not in seen or hashable(value) == hashable(ground.options.get("initial")):
                continue
            failed = replace(write, outcome=Outcome.FAIL)
            yield Planting(
                ground.copy({write.index: failed}, within=plot),
                (failed, seen[hashable(value)]),
                f"the unknown write of {value!r} is called failed, although it was read",
            )


def timeouts_called_successes(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A write of unknown outcome is said to have been acknowledged, and a later read shows an older value."""
    for plot in registers(ground, rng):
        for write in shuffled(plot.operations, rng):
            if write.outcome is not Outcome.INFO or write.kind not in ("write", "put"):
                continue
            end = write.completed_ns if write.completed_ns is not None else write.invoked_ns + 1
            for read in plot.reads:
                writer = plot.writer_of(read.output)
                if end < read.invoked_ns and writer is not None and effect_end(writer) < write.invoked_ns:
                    acknowledged = replace(write, outcome=Outcome.OK, completed_ns=end)
                    yield Planting(
                        ground.copy({write.index: acknowledged}, within=plot),
                        (writer, acknowledged, read),
                        f"the unknown write of {write.input!r} is called acknowledged; a later read shows "
                        f"{read.output!r}, which is older",
                    )
                    break


def invented_values(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A read returns what nobody ever wrote."""
    for plot in registers(ground, rng) if ground.start_known else ():
        taken = [written(o) for writers in plot.writers.values() for o in writers]
        taken += [o.input[0] for o in plot.operations if isinstance(o.input, list | tuple) and o.input]
        for read in shuffled(plot.reads, rng)[:2]:
            like = next((value for value in (read.output, *taken) if value is not None), "")
            invented = replace(read, output=fresh_value(like, [*taken, ground.options.get("initial")]))
            yield Planting(
                ground.copy({read.index: invented}, within=plot),
                (invented,),
                f"a read returns {invented.output!r}, which nobody wrote",
            )


def wrong_comparisons(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A compare-and-set succeeds although what it expected was never there."""
    plots = [p for p in ground.plots.values() if p.only_replaced and ground.start_known]
    for plot in shuffled(plots, rng):
        swaps = [o for o in plot.operations if o.kind == "cas" and o.outcome is Outcome.OK]
        taken = [written(o) for writers in plot.writers.values() for o in writers]
        for swap in shuffled((o for o in swaps if isinstance(o.input, list | tuple)), rng)[:2]:
            expected = fresh_value(swap.input[0] if swap.input[0] is not None else swap.input[1], taken)
            wrong = replace(swap, input=[expected, swap.input[1]])
            yield Planting(
                ground.copy({swap.index: wrong}, within=plot),
                (wrong,),
                f"a compare-and-set from {expected!r}, which nobody wrote, succeeds",
            )


_TWO = "two acknowledged writes of distinct values, one after the other,"

OPERATORS = (
    Operator(
        "stale-read",
        "return an older value",
        f"{_TWO} and a read after both",
        _VALUES,
        stale_reads,
    ),
    Operator(
        "dropped-write",
        "drop an acknowledged write",
        f"{_TWO} and a read of the second after it",
        _VALUES,
        dropped_writes,
    ),
    Operator(
        "swapped-reads",
        "swap two reads",
        f"{_TWO} each read, one read after the other",
        _VALUES,
        swapped_reads,
    ),
    Operator(
        "shifted-read",
        "shift a read across a write",
        "a read of a value that one acknowledged write alone wrote",
        _VALUES,
        shifted_reads,
    ),
    Operator(
        "timeout-called-failure",
        "swallow a timeout whose effect was seen",
        "a write of unknown outcome whose value, written by nothing else, was read",
        _ANY_ORDER | {"no-phantom": always},
        timeouts_called_failures,
    ),
    Operator(
        "timeout-called-success",
        "swallow a timeout whose effect was not seen",
        "a write of unknown outcome and a later read of a value older than it",
        _VALUES,
        timeouts_called_successes,
    ),
    Operator(
        "invented-value",
        "return what nobody wrote",
        "a successful read",
        _ANY_ORDER | {"no-phantom": always},
        invented_values,
    ),
    Operator(
        "wrong-comparison",
        "let a compare-and-set succeed on a value that was never there",
        "a successful compare-and-set",
        _ANY_ORDER,
        wrong_comparisons,
    ),
)
