"""Moves transactions that only read lists behind an append that they do not see."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

from refute.checkers.kinds import NEVER, effect_end
from refute.checkers.planted.ground import NEW_PROCESS, Ground
from refute.checkers.planted.operator import Planting
from refute.checkers.planted.transactions import Micro, Transactions, lists_read
from refute.history import Operation


def _late_places(txns: Transactions, rng: Random) -> Iterator[tuple[Micro, Micro]]:
    """A transaction that only reads, and an acknowledged append that its list has not yet."""
    for read in lists_read(txns, rng, 0):
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
            ground.with_changed(late),
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
            ground.with_changed(late),
            (missed.operation, late),
            f"two sessions are merged: one appends {missed.value!r} and then does not see it",
        )
