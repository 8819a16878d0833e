"""Cuts long histories down to what copies can be made of in time, so that what was correct stays so."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import Any

from refute.checkers.kinds import Kinds, is_collection, kinds
from refute.history import History, Operation, Outcome, Phase

OPENINGS: Mapping[str, int] = {
    "list-append": 4_000,
    "rw-register": 1_500,
    "kafka-log": 3_000,
    "change-feed": 3_000,
    "fifo-per-partition": 8_000,
    "read-committed": 4_000,
    "read-atomic": 4_000,
    "causal": 4_000,
    "sequential": 1_500,
    "serializable-exact": 1_000,
    "snapshot-isolation-exact": 120,
}
"""For properties that every beginning of a correct history has, but no object alone: how many
operations copies are made of."""

ELEMENTS = 200_000
"""For properties of whole collections: how many elements all reads of a copy may show."""

MODEL_OPENINGS: Mapping[str, int] = {
    **dict.fromkeys(("counter", "lock"), 3_000),
    "lease": 300,
    **dict.fromkeys(("stack", "priority-queue"), 4_000),
    **dict.fromkeys(("set", "multiset"), 4_000),
    "transactions": 1_000,
    "log": 400,
    "queue": 20_000,
}
"""The same for models of `linearizable` that are searched, or whose reads return everything."""

PERSONAL_OPENING = 300
"""The same for a model that a person wrote: the operators follow every order of them."""

_WHOLE = frozenset({"set-full", "g-set", "no-phantom", "prefix", "linearizable"})


def cut(history: History, checker: str, options: Mapping[str, Any], rng: Random) -> History:
    """The history, or a shorter one that is correct wherever the whole is."""
    if checker == "linearizable":
        model = options.get("model", "register")
        personal = not isinstance(model, str)
        history = _opening(history, PERSONAL_OPENING if personal else MODEL_OPENINGS.get(model))
    if checker in _WHOLE:
        known = kinds(options.get("write_kinds", ()), options.get("read_kinds", ()))
        return _thinned(history, known, rng)
    return _opening(history, OPENINGS.get(checker))


def _opening(history: History, length: int | None) -> History:
    """The first operations of a history as they stood when the next one was invoked."""
    if length is None or len(history.operations) <= length:
        return history
    end = history.operations[length].invoked_ns
    operations = [
        o
        if o.completed_ns is not None and o.completed_ns < end
        else replace(o, outcome=Outcome.INFO, output=None, completed_ns=None)
        for o in history.operations[:length]
    ]
    return replace(history, operations=operations)


def _thinned(history: History, known: Kinds, rng: Random) -> History:
    """The history without some of its reads, where all together they return too much; final reads stay."""
    reads = [o for o in history.operations if o.kind in known.reading and is_collection(o.output)]
    total = sum(len(o.output) for o in reads)
    if total <= ELEMENTS:
        return history
    spare = [o for o in reads if o.phase is not Phase.FINAL]
    left = ELEMENTS - (total - sum(len(o.output) for o in spare))
    kept: set[int] = set()
    rng.shuffle(spare)
    for read in spare:
        left -= len(read.output)
        if left < 0:
            break
        kept.add(read.index)
    gone = {o.index for o in spare} - kept
    operations: list[Operation] = [o for o in history.operations if o.index not in gone]
    return replace(history, operations=operations)
