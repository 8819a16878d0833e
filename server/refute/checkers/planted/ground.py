"""A history laid out for planting: by object, with the values whose writer is beyond doubt."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property
from random import Random
from typing import Any, TypeVar

from refute.checkers.kinds import NEVER, Kinds, effect_end, kinds, written
from refute.checkers.observation import FinalReads, final_reads
from refute.history import History, Operation, Outcome, hashable

T = TypeVar("T")

NEW_PROCESS = "planted"
"""The process of operations that are moved or added: no session of the history is disturbed."""


class Plot:
    """The operations on one object, with what is needed in order to plant without guessing."""

    def __init__(self, key: Hashable, operations: list[Operation], known: Kinds, initial: Any) -> None:
        self.key = key
        self.operations = operations
        self.known = known
        self.initial = initial

    @cached_property
    def reads(self) -> list[Operation]:
        """Successful reads that take nothing away."""
        return [o for o in self.operations if o.kind in self.known.reading and o.outcome is Outcome.OK]

    @cached_property
    def writers(self) -> dict[Hashable, list[Operation]]:
        """Every replacing write by its value, whatever its outcome."""
        found: dict[Hashable, list[Operation]] = defaultdict(list)
        for operation in self.operations:
            if operation.kind in self.known.replacing:
                found[hashable(written(operation))].append(operation)
        return found

    @cached_property
    def only_replaced(self) -> bool:
        """Whether nothing but replacing writes changes the object."""
        return not any(o.kind in self.known.accumulating for o in self.operations)

    @cached_property
    def sole(self) -> list[Operation]:
        """Acknowledged replacing writes whose value no other operation writes, by time of completion."""
        found = [writers[0] for writers in self.writers.values() if len(writers) == 1]
        return sorted((o for o in found if self.writer_of(written(o)) is o), key=effect_end)

    @cached_property
    def sole_ends(self) -> list[int]:
        """When the writes of `sole` had completed."""
        return [effect_end(operation) for operation in self.sole]

    def sole_before(self, time_ns: int) -> list[Operation]:
        """Those of `sole` that had completed before a time."""
        return self.sole[: bisect_left(self.sole_ends, time_ns)]

    @cached_property
    def acknowledged(self) -> list[Operation]:
        """Acknowledged replacing writes by time of completion."""
        found = [o for o in self.operations if o.kind in self.known.replacing and o.outcome is Outcome.OK]
        return sorted((o for o in found if o.completed_ns is not None), key=effect_end)

    @cached_property
    def _acknowledged_ends(self) -> list[int]:
        return [effect_end(operation) for operation in self.acknowledged]

    def acknowledged_before(self, time_ns: int) -> list[Operation]:
        """Acknowledged replacing writes that had completed before a time."""
        return self.acknowledged[: bisect_left(self._acknowledged_ends, time_ns)]

    def writer_of(self, value: Any) -> Operation | None:
        """The acknowledged write that alone can have put this value there, or None."""
        writers = self.writers.get(hashable(value), ())
        if value is None or len(writers) != 1 or hashable(value) == hashable(self.initial):
            return None
        return writers[0] if effect_end(writers[0]) != NEVER else None


class Ground:
    """A history in which violations are to be planted, and the options of the checker."""

    def __init__(self, history: History, checker: str, options: Mapping[str, Any]) -> None:
        self.history = history
        self.checker = checker
        self.options = options
        self.known = kinds(options.get("write_kinds", ()), options.get("read_kinds", ()))

    @cached_property
    def plots(self) -> dict[Hashable, Plot]:
        """The history by object."""
        by_key: dict[Hashable, list[Operation]] = defaultdict(list)
        for operation in self.history.operations:
            by_key[hashable(operation.key)].append(operation)
        initial = self.options.get("initial")
        return {key: Plot(key, operations, self.known, initial) for key, operations in by_key.items()}

    @property
    def start_known(self) -> bool:
        """Whether it is known what an object held before its first write."""
        return not self.options.get("unknown_initial", False)

    @cached_property
    def final(self) -> FinalReads:
        """The reads that durability is judged by."""
        return final_reads(self.history, self.known, str(self.options.get("final", "phase")))

    def copy(
        self,
        changed: Mapping[int, Operation | None],
        added: Iterable[Operation] = (),
        *,
        within: Plot | None = None,
    ) -> History:
        """The history, or one object's part of it, with operations (by index) replaced, removed and added."""
        source = self.history.operations if within is None else within.operations
        operations = [changed.get(o.index, o) for o in source] if changed else list(source)
        kept = [o for o in operations if o is not None]
        kept += added
        kept.sort(key=lambda operation: operation.invoked_ns)
        return History(
            kept,
            self.history.faults,
            self.history.completeness,
            self.history.clock,
            f"{self.history.source} with a planted violation",
        )

    def with_changed(self, *operations: Operation, within: Plot | None = None) -> History:
        """The history, or one object's part of it, with these in the place of those that have their index."""
        return self.copy({operation.index: operation for operation in operations}, within=within)

    def with_added(self, *operations: Operation) -> History:
        """The history with these besides; their indices have to be new."""
        return self.copy({}, operations)

    @cached_property
    def next_index(self) -> int:
        """An index that no operation has."""
        return max((o.index for o in self.history.operations), default=-1) + 1


def shuffled(items: Iterable[T], rng: Random) -> list[T]:
    """The items in random order."""
    found = list(items)
    rng.shuffle(found)
    return found


def fresh_value(like: Any, taken: Iterable[Any]) -> Any:
    """A value of the same type that is not among those taken."""
    if isinstance(like, int) and not isinstance(like, bool):
        numbers = [abs(value) for value in taken if isinstance(value, int)]
        return max([abs(like), *numbers]) + 1_000_003
    names = set(map(str, taken))
    name = "planted"
    while name in names:
        name += "-"
    return name
