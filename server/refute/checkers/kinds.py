"""Which kinds of operation write, remove, consume and read, and what a write leaves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from refute.checkers.catalog import CheckerError
from refute.history import Operation, Outcome

REPLACING = frozenset({"write", "put", "set", "cas", "compare-and-set", "delete", "clear"})
"""Writes after which the object holds what was written and nothing of what it held before."""

ACCUMULATING = frozenset(
    {"add", "append", "enqueue", "enq", "offer", "send", "insert", "push", "increment", "incr", "broadcast"}
)
"""Writes that leave what was there and add something to it."""

REMOVING = frozenset({"remove", "delete", "clear"})
"""Operations that take a named element (or, without input, everything) away."""

CONSUMING = frozenset(
    {"dequeue", "deq", "pop", "take", "delete-min", "extract-min", "receive", "consume", "drain", "poll"}
)
"""Reads that take away what they return, or are handed each element once."""

READING = frozenset({"read", "get", "read-all", "list", "scan"})
"""Reads that leave the object as it was."""

NEVER = 2**62
"""Later than every time: where the effect of an operation without an `ok` ends."""


@dataclass(frozen=True, slots=True)
class Kinds:
    """The usual kinds together with those that a caller added."""

    replacing: frozenset[str] = REPLACING
    accumulating: frozenset[str] = ACCUMULATING
    removing: frozenset[str] = REMOVING
    consuming: frozenset[str] = CONSUMING
    reading: frozenset[str] = READING

    def writes(self, operation: Operation) -> bool:
        """Whether the operation can change the object."""
        return operation.kind in self.replacing or operation.kind in self.accumulating

    def reads(self, operation: Operation) -> bool:
        """Whether the operation returns what the object holds, consuming or not."""
        return operation.kind in self.reading or operation.kind in self.consuming


def kinds(write_kinds: object = (), read_kinds: object = ()) -> Kinds:
    """The kinds to go by; an added write is taken to accumulate where reads return collections.

    Each argument is a list of names (`[deposit]`), or a mapping from a name of the history to one
    of ours (`{deposit: add, balance: read}`), which says more. Raises CheckerError for anything else.
    """
    replacing, accumulating = set(REPLACING), set(ACCUMULATING)
    removing, consuming, reading = set(REMOVING), set(CONSUMING), set(READING)
    groups = {"replacing": replacing, "accumulating": accumulating, "removing": removing}
    groups |= {"consuming": consuming, "reading": reading}
    for theirs, ours in [*_pairs(write_kinds, "insert"), *_pairs(read_kinds, "read")]:
        homes = [group for group in groups.values() if ours in group]
        if not homes:
            known = ", ".join(sorted(set().union(*groups.values())))
            raise CheckerError(f"no kind can be mapped to {ours!r}", hint=f"there are: {known}")
        for home in homes:
            home.add(theirs)
    return Kinds(*map(frozenset, (replacing, accumulating, removing, consuming, reading)))


def _pairs(given: object, default: str) -> list[tuple[str, str]]:
    if isinstance(given, str):
        return [(given, default)]
    if isinstance(given, Mapping):
        return [(str(theirs), str(ours)) for theirs, ours in given.items()]
    if isinstance(given, Iterable):
        return [(str(theirs), default) for theirs in given]
    raise CheckerError(f"kinds must be a list of names or a mapping, not {given!r}")


def written(operation: Operation) -> Any:
    """The value that a replacing write leaves: the new value of a compare-and-set, None after a delete."""
    if operation.kind in ("cas", "compare-and-set") and isinstance(operation.input, list | tuple):
        return operation.input[1] if len(operation.input) == 2 else None
    if operation.kind in ("delete", "clear"):
        return None
    return operation.input


def is_number(value: Any) -> bool:
    """Whether the value can be counted with: a number that is not a truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_collection(value: Any) -> bool:
    """Whether the value holds elements: a list, tuple or set."""
    return isinstance(value, list | tuple | set | frozenset)


def effect_end(operation: Operation) -> int:
    """When an operation that did happen had surely happened; NEVER where nobody knows."""
    if operation.outcome is Outcome.OK and operation.completed_ns is not None:
        return operation.completed_ns
    return NEVER


def ended(operation: Operation) -> int:
    """When an operation was over for whoever asked, whatever came of it; NEVER where it stayed open."""
    return NEVER if operation.completed_ns is None else operation.completed_ns


def tally(operations: Iterable[Operation], keys: int | None = None) -> dict[str, int]:
    """Counts for `Result.consumed`: operations in all, by outcome, and objects."""
    counts = {"operations": 0}
    for operation in operations:
        counts["operations"] += 1
        counts[operation.outcome.value] = counts.get(operation.outcome.value, 0) + 1
    if keys is not None and counts["operations"]:
        counts["keys"] = keys
    return counts
