"""Operators on transactions that read and write registers, each value written once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

from refute.checkers.kinds import NEVER, effect_end
from refute.checkers.planted.added_transactions import AddedTransactions
from refute.checkers.planted.ground import Ground, fresh_value, shuffled
from refute.checkers.planted.operator import Operator, Options, Planting, always, model_in
from refute.checkers.planted.transactions import Micro, Transactions, answered, breaking
from refute.history import Operation, Outcome, hashable

PLACES = 20
"""How many places an operator looks at, as few copies are made of all that is offered."""


def _final(txns: Transactions, write: Micro) -> bool:
    """Whether a write is the last one of its transaction to its key."""
    return all(w.place <= write.place for w in txns.writes[write.operation.index] if w.key == write.key)


def _sources(txns: Transactions, rng: Random) -> Iterator[tuple[Micro, Micro]]:
    """Committed reads with the one write, of another committed transaction, that they saw; shuffled."""
    for read in shuffled(txns.outer_reads(), rng):
        write = None if read.value is None else txns.writer(read.key, read.value)
        if write is not None and write.operation is not read.operation:
            yield read, write


def aborted_reads(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A transaction whose write another one read is said to have failed."""
    for read, write in _sources(Transactions(ground), rng):
        failed = replace(write.operation, outcome=Outcome.FAIL, output=None)
        yield Planting(
            ground.with_changed(failed),
            (failed, read.operation),
            f"a transaction that wrote {write.value!r} is called failed, although that was read",
        )


def garbage_reads(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A transaction reads a value that nobody wrote."""
    if ground.history.completeness.unreadable_lines:
        return
    txns = Transactions(ground)
    taken = [micro.value for found in txns.writers.values() for micro in found]
    for read in shuffled(txns.outer_reads(), rng)[:PLACES]:
        value = fresh_value(read.value if read.value is not None else next(iter(taken), 0), taken)
        garbage = answered(read, value)
        words = f"a transaction reads {value!r}, which nobody wrote"
        yield Planting(ground.with_changed(garbage), (garbage,), words)


def intermediate_reads(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A transaction reads a value that its writer replaced before it ended."""
    txns = Transactions(ground)
    for read, write in _sources(txns, rng):
        earlier = [
            w
            for w in txns.writes[write.operation.index]
            if w.key == write.key and w.place < write.place and txns.writer(w.key, w.value) is w
        ]
        if earlier and write.operation.outcome is Outcome.OK:
            early = answered(read, earlier[0].value)
            words = f"a transaction reads {earlier[0].value!r}, which its writer replaced by {write.value!r}"
            yield Planting(ground.with_changed(early), (write.operation, early), words)


def own_writes_missed(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A transaction reads, after its own write of a key, what another one wrote there."""
    txns = Transactions(ground)
    for read in shuffled(txns.reads, rng):
        own = [m for m in txns.by_index[read.operation.index][: read.place] if m.key == read.key]
        if not own or own[-1].function == "r" or hashable(own[-1].value) != hashable(read.value):
            continue
        others = [
            found[0]
            for (key, _), found in txns.writers.items()
            if key == read.key and len(found) == 1 and found[0].operation.outcome is Outcome.OK
        ]
        others = [w for w in others if w.operation is not read.operation and _final(txns, w)]
        if others:
            missed = answered(read, rng.choice(others).value)
            words = f"a transaction writes {read.value!r} and then reads {missed.output[read.place][2]!r}"
            yield Planting(ground.with_changed(missed), (missed,), words)


def halves_seen(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A transaction sees what another wrote to one key, and a second key as if nobody had written it."""
    txns = Transactions(ground)
    for read, write in _sources(txns, rng):
        if write.operation.outcome is not Outcome.OK or not _final(txns, write):
            continue
        theirs = {w.key for w in txns.writes[write.operation.index]} - {read.key}
        for later in txns.by_index[read.operation.index][read.place + 1 :]:
            seen = later.function == "r" and later.value is not None
            if later.key in theirs and seen and txns.alone(later):
                half = answered(later, None)
                words = f"a transaction sees {write.value!r} of another, and then misses its other write"
                yield Planting(ground.with_changed(half), (write.operation, half), words)
                break


def forgotten_sessions(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A transaction sees a key as if its own session had never written it."""
    txns = Transactions(ground)
    written: dict[tuple[Any, Any], list[Operation]] = {}
    for operation in ground.history.operations:
        if operation.outcome is Outcome.OK:
            for write in txns.writes.get(operation.index, ()):
                written.setdefault((operation.process, write.key), []).append(operation)
    for read in shuffled(txns.outer_reads(), rng):
        before = [
            o
            for o in written.get((read.operation.process, read.key), ())
            if effect_end(o) < read.operation.invoked_ns
        ]
        if before and read.value is not None:
            forgetful = answered(read, None)
            words = "a session writes a key and then sees it as if nobody had"
            yield Planting(ground.with_changed(forgetful), (before[-1], forgetful), words)


def late_transactions_see_nothing(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A transaction sees a key as if nobody had written it, after a write of it was acknowledged."""
    if ground.history.clock == "wall":
        return
    txns = Transactions(ground)
    first: dict[Any, Operation] = {}
    for operation in ground.history.operations:
        if effect_end(operation) != NEVER:
            for write in txns.writes.get(operation.index, ()):
                best = first.get(write.key)
                if best is None or effect_end(operation) < effect_end(best):
                    first[write.key] = operation
    for read in shuffled(txns.outer_reads(), rng)[: 4 * PLACES]:
        writer = first.get(read.key)
        if writer is None or read.value is None or effect_end(writer) >= read.operation.invoked_ns:
            continue
        blind = answered(read, None)
        words = "a transaction begins after a write was acknowledged and sees nothing"
        yield Planting(ground.with_changed(blind), (writer, blind), words)


def lost_updates(ground: Ground, rng: Random) -> Iterator[Planting]:
    """Two transactions read the same version of a key and both write it."""
    txns = Transactions(ground)
    updates: dict[Any, list[tuple[Micro, Micro]]] = {}
    for read in txns.reads:
        own = [m for m in txns.by_index[read.operation.index] if m.key == read.key]
        if len(own) == 2 and own[0].place == read.place and own[1].function != "r":
            updates.setdefault(read.key, []).append((own[0], own[1]))
    for found in shuffled((u for u in updates.values() if len(u) > 1), rng):
        for _ in range(3):
            one, two = rng.sample(found, 2)
            version, write = one[0].value, txns.writer(one[0].key, one[0].value)
            if version is not None and (write is None or write.operation is two[0].operation):
                continue
            if write is not None and (write.operation.outcome is not Outcome.OK or not _final(txns, write)):
                continue
            blind = answered(two[0], version)
            words = f"two transactions read {version!r} and write {one[1].value!r} and {two[1].value!r}"
            yield Planting(ground.with_changed(blind), (one[0].operation, blind), words)


_WRITE_SKEW = AddedTransactions(
    "two transactions each read what the other is about to write",
    concurrent=((("r", "x", None), ("w", "y", 1)), (("r", "y", None), ("w", "x", 2))),
)
_CIRCULAR_FLOW = AddedTransactions(
    "two transactions each read what the other wrote",
    concurrent=((("w", "x", 1), ("r", "y", 2)), (("w", "y", 2), ("r", "x", 1))),
)

Breaks = dict[str, Callable[[Options], bool]]

_EXACT = ("serializable-exact", "snapshot-isolation-exact")
_WEAK = ("read-committed", "read-atomic", "causal")


def _breaks(*anomalies: str, also: Iterable[str] = (), one_by_one: bool = True) -> Breaks:
    """`rw-register` where its model forbids the anomalies, the checkers named, and one-step transactions."""
    found: Breaks = breaking(("rw-register",), *anomalies)
    found |= dict.fromkeys(also, always)
    if one_by_one:
        found["linearizable"] = model_in("transactions")
    return found


def _ordered(*orders: str) -> Breaks:
    return dict.fromkeys(_EXACT, lambda options: options.get("order", "none") in orders)


_SEEN = "a committed read of another transaction's write"

OPERATORS = (
    Operator(
        "aborted-register-read",
        "swallow a timeout or a commit whose effect was seen",
        _SEEN,
        _breaks("G1a", also=(*_WEAK, *_EXACT)),
        aborted_reads,
    ),
    Operator(
        "garbage-register-read",
        "read what nobody wrote",
        "a committed read",
        _breaks("garbage-read", also=(*_WEAK, *_EXACT)),
        garbage_reads,
    ),
    Operator(
        "intermediate-register-read",
        "show the middle of a transaction",
        "a read of the second of two writes of one transaction to one key",
        _breaks("G1b", also=(*_WEAK, *_EXACT)),
        intermediate_reads,
    ),
    Operator(
        "own-write-missed",
        "hide a transaction's own write from it",
        "a transaction that reads a key which it has just written, and another writer of that key",
        _breaks("internal", also=(*_WEAK, *_EXACT)),
        own_writes_missed,
    ),
    Operator(
        "half-seen",
        "show half of a transaction",
        "a transaction that reads two keys, one after the other, which another one wrote",
        _breaks("G-monotonic", also=(*_WEAK, *_EXACT)),
        halves_seen,
    ),
    Operator(
        "session-forgotten",
        "hide a session's own write from it",
        "a session that writes a key and reads it in a later transaction",
        _breaks("G-single-process", also=("read-atomic", "causal")) | _ordered("session", "real-time"),
        forgotten_sessions,
    ),
    Operator(
        "late-and-blind",
        "shift a read across a write",
        "a read that began after a write of its key was acknowledged",
        _breaks("G-single-realtime") | _ordered("real-time"),
        late_transactions_see_nothing,
    ),
    Operator(
        "lost-register-update",
        "let two updates start from the same version",
        "two transactions that each read a key and then write it",
        _breaks("lost-update", also=_EXACT),
        lost_updates,
    ),
    Operator(
        "register-write-skew",
        "plant a G2-item",
        "a transaction",
        _breaks("G2-item", also=("serializable-exact",)),
        _WRITE_SKEW.places,
    ),
    Operator(
        "register-circular-flow",
        "plant a G1c",
        "a transaction",
        _breaks("G1c", also=(*_WEAK, *_EXACT)),
        _CIRCULAR_FLOW.places,
    ),
)
