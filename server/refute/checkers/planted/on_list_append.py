"""Operators on transactions that append to lists and read them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

from refute.checkers.kinds import NEVER, effect_end
from refute.checkers.planted.ground import NEW_PROCESS, Ground, fresh_value, shuffled
from refute.checkers.planted.operator import Operator, Planting
from refute.checkers.planted.transactions import Micro, Transactions, answered, breaking
from refute.history import Operation, Outcome, hashable


def _lists(txns: Transactions, rng: Random, least: int = 1) -> list[Micro]:
    """Reads of lists of at least that length, of keys that their transaction does not write; shuffled."""
    found = [r for r in txns.outer_reads() if isinstance(r.value, list | tuple) and len(r.value) >= least]
    return shuffled(found, rng)


def aborted_reads(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A transaction whose append another one read is said to have failed."""
    txns = Transactions(ground)
    done: set[int] = set()
    for read in _lists(txns, rng):
        writer = txns.writer(read.key, rng.choice(read.value))
        if writer is None or writer.operation is read.operation or writer.operation.index in done:
            continue
        done.add(writer.operation.index)
        failed = replace(writer.operation, outcome=Outcome.FAIL, output=None)
        yield Planting(
            ground.copy({failed.index: failed}),
            (failed, read.operation),
            f"a transaction that appended {writer.value!r} is called failed, although that was read",
        )


def intermediate_reads(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A read ends between two appends of one transaction to one key."""
    txns = Transactions(ground)
    for read in _lists(txns, rng, 2):
        for place in range(len(read.value) - 1):
            one, two = (txns.writer(read.key, read.value[place + step]) for step in (0, 1))
            if one is None or two is None or one.operation is not two.operation:
                continue
            if one.operation is read.operation or one.operation.outcome is not Outcome.OK:
                continue
            cut = answered(read, list(read.value[: place + 1]))
            yield Planting(
                ground.copy({cut.index: cut}),
                (one.operation, cut),
                f"a read sees {one.value!r} of a transaction, but not its {two.value!r}",
            )
            break


def fractured_reads(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A transaction sees what another appended to one key, and misses what it appended to a second."""
    txns = Transactions(ground)
    for kept in _lists(txns, rng):
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
                ground.copy({cut.index: cut}),
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
            ground.copy({blind.index: blind}),
            (last.operation, blind),
            f"{last.value!r} and {own[1].value!r} are appended by transactions that read the same version",
        )


def reordered_reads(ground: Ground, rng: Random) -> Iterator[Planting]:
    """Two elements of one read change places, while another read shows them in their order."""
    txns = Transactions(ground)
    for read in _lists(txns, rng, 2):
        place = rng.randrange(len(read.value) - 1)
        values = list(read.value)
        later = values[place + 1]
        if not _shown_elsewhere(txns, read, later):
            continue
        values[place], values[place + 1] = later, values[place]
        swapped = answered(read, values)
        yield Planting(
            ground.copy({swapped.index: swapped}),
            (swapped,),
            f"a read shows {values[place]!r} before {values[place + 1]!r}, another shows them the other way",
        )


def doubled_elements(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A read shows an element twice."""
    for read in _lists(Transactions(ground), rng):
        element = rng.choice(read.value)
        doubled = answered(read, [*read.value, element])
        yield Planting(ground.copy({doubled.index: doubled}), (doubled,), f"a read shows {element!r} twice")


def garbage_reads(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A read shows an element that nobody appended."""
    if ground.history.completeness.unreadable_lines:
        return
    txns = Transactions(ground)
    taken = [micro.value for found in txns.writers.values() for micro in found]
    for read in _lists(txns, rng):
        value = fresh_value(read.value[0], taken)
        garbage = answered(read, [*read.value, value])
        words = f"a read shows {value!r}, which nobody appended"
        yield Planting(ground.copy({garbage.index: garbage}), (garbage,), words)


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
            ground.copy({forgetful.index: forgetful}),
            (forgetful,),
            f"a transaction appends {before[-1].value!r} and does not see it",
        )


def _late_places(txns: Transactions, rng: Random) -> Iterator[tuple[Micro, Micro]]:
    """A transaction that only reads, and an acknowledged append that its list has not yet."""
    for read in _lists(txns, rng, 0):
        if txns.writes[read.operation.index]:
            continue
        longer = [r for r in txns.reads_by_key[read.key] if len(r.value or ()) > len(read.value)]
        if not longer:
            continue
        sight = rng.choice(longer)
        missed = txns.writer(read.key, sight.value[len(read.value)])
        if missed is None or missed.operation is sight.operation:
            continue
        if effect_end(missed.operation) != NEVER:
            yield read, missed


def reads_behind_real_time(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A reading transaction moves behind the end of an append that it does not see."""
    if ground.history.clock == "wall":
        return
    for read, missed in _late_places(Transactions(ground), rng):
        start = effect_end(missed.operation) + 1
        late = replace(read.operation, process=NEW_PROCESS, invoked_ns=start, completed_ns=start + 1)
        yield Planting(
            ground.copy({late.index: late}),
            (missed.operation, late),
            f"a transaction begins after the append of {missed.value!r} was acknowledged and misses it",
        )


def reads_behind_their_session(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A reading transaction moves into the session of an append that it does not see, right behind it."""
    by_process: dict[Any, list[Operation]] = {}
    for operation in ground.history.operations:
        by_process.setdefault(operation.process, []).append(operation)
    for read, missed in _late_places(Transactions(ground), rng):
        session = by_process[missed.operation.process]
        start = effect_end(missed.operation) + 1
        following = [o.invoked_ns for o in session if o.invoked_ns >= start]
        if read.operation in session or (following and min(following) <= start + 2):
            continue
        late = replace(
            read.operation, process=missed.operation.process, invoked_ns=start, completed_ns=start + 1
        )
        yield Planting(
            ground.copy({late.index: late}),
            (missed.operation, late),
            f"two sessions are merged: one appends {missed.value!r} and then does not see it",
        )


def _transaction(ground: Ground, number: int, at: tuple[int, int], steps: list[list[Any]]) -> Operation:
    asked = [[function, key, None if function == "r" else value] for function, key, value in steps]
    return Operation(
        index=ground.next_index + number,
        process=f"{NEW_PROCESS}-{number}",
        kind="txn",
        key=None,
        input=asked,
        output=[list(step) for step in steps],
        outcome=Outcome.OK,
        invoked_ns=at[0],
        completed_ns=at[1],
    )


def _added(ground: Ground, rng: Random, shape: str) -> Iterator[Planting]:
    """New transactions on two new keys, concurrent with each other, then one that reads both."""
    txns = Transactions(ground)
    operations = ground.history.operations
    if not txns.by_index:
        return
    keys = [key for key, _ in txns.writers]
    x = fresh_value(txns.key_like, keys)
    y = fresh_value(txns.key_like, [*keys, x])
    end = max(max(o.invoked_ns, o.completed_ns or 0) for o in operations)
    steps: dict[str, tuple[list[list[Any]], ...]] = {
        "write-skew": (
            [["r", x, []], ["append", y, 1]],
            [["r", y, []], ["append", x, 2]],
            [["r", x, [2]], ["r", y, [1]]],
        ),
        "circular-flow": (
            [["append", x, 1], ["r", y, [2]]],
            [["append", y, 2], ["r", x, [1]]],
            [["r", x, [1]], ["r", y, [2]]],
        ),
        "write-cycle": (
            [["append", x, 1], ["append", y, 1]],
            [["append", x, 2], ["append", y, 2]],
            [["r", x, [1, 2]], ["r", y, [2, 1]]],
        ),
    }
    for operation in shuffled(operations, rng)[:5]:
        at = (operation.invoked_ns, operation.invoked_ns + 1)
        times = (at, at, (end + 1, end + 2))
        added = [
            _transaction(ground, number, when, given)
            for number, (when, given) in enumerate(zip(times, steps[shape], strict=True))
        ]
        words = {
            "write-skew": "two transactions each read what the other is about to append to",
            "circular-flow": "two transactions each read what the other appended",
            "write-cycle": "two transactions append to two keys, in opposite orders",
        }
        yield Planting(ground.copy({}, added), tuple(added), words[shape])


def write_skews(ground: Ground, rng: Random) -> Iterator[Planting]:
    """Two new transactions, each of which reads what the other is about to append to."""
    return _added(ground, rng, "write-skew")


def circular_flows(ground: Ground, rng: Random) -> Iterator[Planting]:
    """Two new transactions, each of which reads what the other appended."""
    return _added(ground, rng, "circular-flow")


def write_cycles(ground: Ground, rng: Random) -> Iterator[Planting]:
    """Two new transactions that append to two keys in opposite orders."""
    return _added(ground, rng, "write-cycle")


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
    Operator("write-skew", "plant a G2-item", "a transaction", breaking(_LISTS, "G2-item"), write_skews),
    Operator("circular-flow", "plant a G1c", "a transaction", breaking(_LISTS, "G1c"), circular_flows),
    Operator("write-cycle", "plant a G0", "a transaction", breaking(_LISTS, "G0"), write_cycles),
)
