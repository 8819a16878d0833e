"""Operators on transactions that append to lists and read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

from refute.checkers.planted.added_transactions import AddedTransactions
from refute.checkers.planted.ground import Ground, fresh_value, shuffled
from refute.checkers.planted.late_list_reads import reads_behind_real_time, reads_behind_their_session
from refute.checkers.planted.operator import Operator, Planting
from refute.checkers.planted.transactions import Micro, Transactions, answered, breaking, lists_read
from refute.history import Outcome, hashable


def aborted_reads(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A transaction whose append another one read is said to have failed."""
    txns = Transactions(ground)
    done: set[int] = set()
    for read in lists_read(txns, rng):
        writer = txns.writer(read.key, rng.choice(read.value))
        if writer is None or writer.operation is read.operation or writer.operation.index in done:
            continue
        done.add(writer.operation.index)
        failed = replace(writer.operation, outcome=Outcome.FAIL, output=None)
        yield Planting(
            ground.with_changed(failed),
            (failed, read.operation),
            f"a transaction that appended {writer.value!r} is called failed, although that was read",
        )


def intermediate_reads(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A read ends between two appends of one transaction to one key."""
    txns = Transactions(ground)
    for read in lists_read(txns, rng, 2):
        for place in range(len(read.value) - 1):
            one, two = (txns.writer(read.key, read.value[place + step]) for step in (0, 1))
            if one is None or two is None or one.operation is not two.operation:
                continue
            if one.operation is read.operation or one.operation.outcome is not Outcome.OK:
                continue
            cut = answered(read, list(read.value[: place + 1]))
            yield Planting(
                ground.with_changed(cut),
                (one.operation, cut),
                f"a read sees {one.value!r} of a transaction, but not its {two.value!r}",
            )
            break


def fractured_reads(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A transaction sees what another appended to one key, and misses what it appended to a second."""
    txns = Transactions(ground)
    for kept in lists_read(txns, rng):
        source = txns.writer(kept.key, kept.value[-1])
        if source is None or source.operation.outcome is not Outcome.OK:
            continue
        others = {w.key: w for w in reversed(txns.writes[source.operation.index]) if w.key != kept.key}
        for read in txns.by_index[kept.operation.index]:
            first = others.get(read.key)
            if first is None or read.function != "r" or not txns.alone(read):
                continue
            position = _position(read.value, first.value)
            if position is None or not _shown_elsewhere(txns, read, first.value):
                continue
            cut = answered(read, list(read.value[:position]))
            yield Planting(
                ground.with_changed(cut),
                (source.operation, cut),
                f"a transaction sees {source.value!r} of another, but not its {first.value!r}",
            )
            break


def _position(values: Any, value: Any) -> int | None:
    names = [hashable(element) for element in values or ()]
    return names.index(hashable(value)) if hashable(value) in names else None


def _shown_elsewhere(txns: Transactions, read: Micro, value: Any) -> bool:
    """Whether another committed transaction shows where the value stands in the list."""
    return any(
        other.operation is not read.operation and _position(other.value, value) is not None
        for other in txns.reads_by_key[read.key]
    )


def lost_updates(ground: Ground, rng: Random) -> Iterator[Planting]:
    """Two transactions read the same version of a list and both append to it."""
    txns = Transactions(ground)
    for read in shuffled(txns.reads, rng):
        own = [m for m in txns.by_index[read.operation.index] if m.key == read.key]
        if len(own) != 2 or own[0] is not read or own[1].function != "append" or not read.value:
            continue
        last = txns.writer(read.key, read.value[-1])
        if last is None or last.operation.outcome is not Outcome.OK or last.operation is read.operation:
            continue
        theirs = [m for m in txns.by_index[last.operation.index] if m.key == read.key]
        same_version = len(theirs) == 2 and theirs[0].function == "r"
        if not same_version or hashable(theirs[0].value) != hashable(list(read.value[:-1])):
            continue
        if not _shown_elsewhere(txns, read, own[1].value) or not _shown_elsewhere(txns, read, last.value):
            continue
        blind = answered(read, list(read.value[:-1]))
        yield Planting(
            ground.with_changed(blind),
            (last.operation, blind),
            f"{last.value!r} and {own[1].value!r} are appended by transactions that read the same version",
        )


def reordered_reads(ground: Ground, rng: Random) -> Iterator[Planting]:
    """Two elements of one read change places, while another read shows them in their order."""
    txns = Transactions(ground)
    for read in lists_read(txns, rng, 2):
        place = rng.randrange(len(read.value) - 1)
        values = list(read.value)
        later = values[place + 1]
        if not _shown_elsewhere(txns, read, later):
            continue
        values[place], values[place + 1] = later, values[place]
        swapped = answered(read, values)
        yield Planting(
            ground.with_changed(swapped),
            (swapped,),
            f"a read shows {values[place]!r} before {values[place + 1]!r}, another shows them the other way",
        )


def doubled_elements(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A read shows an element twice."""
    for read in lists_read(Transactions(ground), rng):
        element = rng.choice(read.value)
        doubled = answered(read, [*read.value, element])
        yield Planting(ground.with_changed(doubled), (doubled,), f"a read shows {element!r} twice")


def garbage_reads(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A read shows an element that nobody appended."""
    if ground.history.completeness.unreadable_lines:
        return
    txns = Transactions(ground)
    taken = [micro.value for found in txns.writers.values() for micro in found]
    for read in lists_read(txns, rng):
        value = fresh_value(read.value[0], taken)
        garbage = answered(read, [*read.value, value])
        words = f"a read shows {value!r}, which nobody appended"
        yield Planting(ground.with_changed(garbage), (garbage,), words)


def forgotten_appends(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A transaction does not see what it has just appended itself."""
    txns = Transactions(ground)
    for read in shuffled(txns.reads, rng):
        before = [m for m in txns.by_index[read.operation.index][: read.place] if m.key == read.key]
        if not before or before[-1].function != "append" or not read.value:
            continue
        if hashable(read.value[-1]) != hashable(before[-1].value):
            continue
        forgetful = answered(read, list(read.value[:-1]))
        yield Planting(
            ground.with_changed(forgetful),
            (forgetful,),
            f"a transaction appends {before[-1].value!r} and does not see it",
        )


_WRITE_SKEW = AddedTransactions(
    "two transactions each read what the other is about to append to",
    concurrent=((("r", "x", []), ("append", "y", 1)), (("r", "y", []), ("append", "x", 2))),
    last=(("r", "x", [2]), ("r", "y", [1])),
)
_CIRCULAR_FLOW = AddedTransactions(
    "two transactions each read what the other appended",
    concurrent=((("append", "x", 1), ("r", "y", [2])), (("append", "y", 2), ("r", "x", [1]))),
    last=(("r", "x", [1]), ("r", "y", [2])),
)
_WRITE_CYCLE = AddedTransactions(
    "two transactions append to two keys, in opposite orders",
    concurrent=((("append", "x", 1), ("append", "y", 1)), (("append", "x", 2), ("append", "y", 2))),
    last=(("r", "x", [1, 2]), ("r", "y", [2, 1])),
)

_LISTS = ("list-append",)
_SOME = "a committed read of a list with elements"

OPERATORS = (
    Operator(
        "aborted-read",
        "swallow a timeout or a commit whose effect was seen",
        f"{_SOME}, of a transaction that did not append them",
        breaking(_LISTS, "G1a"),
        aborted_reads,
    ),
    Operator(
        "intermediate-read",
        "show the middle of a transaction",
        "a read that shows two appends of one transaction to one key",
        breaking(_LISTS, "G1b"),
        intermediate_reads,
    ),
    Operator(
        "fractured-read",
        "show half of a transaction",
        "a transaction that reads two keys to which another one appended",
        breaking(_LISTS, "fractured-read"),
        fractured_reads,
    ),
    Operator(
        "lost-update",
        "let two updates start from the same version",
        "two transactions that each read a list and append to it, one right after the other",
        breaking(_LISTS, "lost-update"),
        lost_updates,
    ),
    Operator(
        "reordered-read",
        "swap two elements of a read",
        "two committed reads of the same two elements",
        breaking(_LISTS, "incompatible-order"),
        reordered_reads,
    ),
    Operator(
        "doubled-element",
        "duplicate an effect",
        _SOME,
        breaking(_LISTS, "duplicate-elements"),
        doubled_elements,
    ),
    Operator(
        "garbage-element",
        "show what nobody appended",
        _SOME,
        breaking(_LISTS, "garbage-read"),
        garbage_reads,
    ),
    Operator(
        "forgotten-append",
        "hide a transaction's own append from it",
        "a transaction that reads a key to which it has just appended",
        breaking(_LISTS, "internal"),
        forgotten_appends,
    ),
    Operator(
        "read-behind-real-time",
        "shift a read across a write",
        "a transaction that only reads, and an acknowledged append right behind what it saw",
        breaking(_LISTS, "G-single-realtime"),
        reads_behind_real_time,
    ),
    Operator(
        "read-behind-its-session",
        "merge two sessions",
        "a transaction that only reads, and another session's append right behind what it saw",
        breaking(_LISTS, "G-single-process"),
        reads_behind_their_session,
    ),
    Operator(
        "write-skew", "plant a G2-item", "a transaction", breaking(_LISTS, "G2-item"), _WRITE_SKEW.places
    ),
    Operator("circular-flow", "plant a G1c", "a transaction", breaking(_LISTS, "G1c"), _CIRCULAR_FLOW.places),
    Operator("write-cycle", "plant a G0", "a transaction", breaking(_LISTS, "G0"), _WRITE_CYCLE.places),
)
