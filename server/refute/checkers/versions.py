"""In which order the versions of each object came, as far as the history shows it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from typing import Any, NamedTuple

from refute.checkers.kinds import NEVER, Kinds, effect_end, written
from refute.checkers.observation import observations
from refute.history import History, Operation, Outcome, hashable

ALWAYS = -NEVER


class Version(NamedTuple):
    """When a version came into being: not before `begin`, not after `end`, and who wrote it.

    One version is older than another where its `end` lies before the other's `begin`. `begin` and
    `end` are times, or twice the number that the system itself gave the version. `clock` names the
    process whose own clock gave the times, where each has one: such times compare with no others.
    """

    begin: int
    end: int
    writer: Operation | None
    clock: Hashable = None

    def older_than(self, other: Version) -> bool:
        """Whether this version certainly came before the other."""
        return self.end < other.begin and (self.clock == other.clock or self.end == ALWAYS)


INITIAL = Version(ALWAYS, ALWAYS, None)


class Sight(NamedTuple):
    """One read of one object, with the version that it saw; None where nobody can say which."""

    operation: Operation
    key: Hashable
    value: Any
    version: Version | None


class Versions:
    """The versions of every object that is replaced as a whole.

    A version is ordered by `extra.version` where all successful reads and writes of the object have
    one, otherwise by real time: a write takes effect between its invocation and its completion, and
    one of unknown outcome at any time after its invocation. A value that two writes wrote tells
    nothing. O(n).
    """

    def __init__(self, history: History, known: Kinds, initial: Any = None) -> None:
        self.history = history
        self.known = known
        self.initial = hashable(initial)
        self.writes: dict[Hashable, list[Operation]] = defaultdict(list)
        self._reads: list[tuple[Operation, Hashable, Any]] = []
        numbered: dict[Hashable, bool] = {}
        for operation in history.operations:
            done = operation.outcome is Outcome.OK
            if operation.kind in known.replacing:
                key = hashable(operation.key)
                self.writes[key].append(operation)
                if done:
                    numbered[key] = numbered.get(key, True) and _number(operation) is not None
            elif operation.kind in known.reading and done:
                for seen in observations(operation):
                    key = hashable(seen.key)
                    self._reads.append((operation, key, seen.value))
                    numbered[key] = numbered.get(key, True) and _number(operation) is not None
        self.numbered = frozenset(key for key, all_have in numbered.items() if all_have)
        self._by_value: dict[tuple[Hashable, Hashable], list[Operation]] = defaultdict(list)
        for key, writes in self.writes.items():
            for write in writes:
                self._by_value[key, hashable(written(write))].append(write)

    def of_write(self, write: Operation) -> Version:
        """The version that a write made, or would have made."""
        if hashable(write.key) in self.numbered:
            number = _number(write)
            if number is not None:
                return Version(2 * number, 2 * number, write)
            return Version(ALWAYS, NEVER, write)
        return self._timed(write)

    def _timed(self, write: Operation) -> Version:
        clock = ("process", write.process) if self.history.clock == "wall" else None
        return Version(write.invoked_ns, effect_end(write), write, clock)

    def writers(self, key: Hashable, value: Any) -> list[Operation]:
        """The writes of that value to that object, whatever their outcome."""
        return self._by_value.get((key, hashable(value)), [])

    def sights(self) -> list[Sight]:
        """Every successful read of every object with the version that it saw, in order of invocation."""
        return [Sight(read, key, value, self._seen(read, key, value)) for read, key, value in self._reads]

    def _seen(self, read: Operation, key: Hashable, value: Any) -> Version | None:
        writers = [w for w in self.writers(key, value) if w.outcome is not Outcome.FAIL]
        sole = writers[0] if len(writers) == 1 else None
        if key in self.numbered:
            number = _number(read)
            return None if number is None else Version(2 * number, 2 * number, sole)
        if hashable(value) == self.initial:
            return None if writers else INITIAL
        return None if sole is None else self._timed(sole)

    def assumptions(self) -> list[str]:
        """What the order rests on, in words."""
        stated = []
        if self.numbered:
            stated.append("versions are ordered by extra.version, as the system numbered them")
        if set(self.writes) - self.numbered:
            stated.append("versions are ordered by real time: a write takes effect before it is acknowledged")
        return stated


def _number(operation: Operation) -> int | None:
    number = operation.extra.get("version")
    return number if isinstance(number, int) and not isinstance(number, bool) else None
