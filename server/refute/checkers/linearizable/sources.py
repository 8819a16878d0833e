"""Which write a read of a register may have seen, and the answers that no write can explain."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from refute.checkers.linearizable.model import State
from refute.checkers.linearizable.registers import UNKNOWN
from refute.checkers.linearizable.search import NEVER, Timed

NAMED = "the values written to a key differ, so each read names its write"
"""What algorithms rest on that need no search; they look whether it is so."""
_LONG_AGO = -(2**63)


def produced(timed: Timed) -> tuple[State] | None:
    """The value that a call leaves behind where it takes effect, wrapped in a tuple; None for a read."""
    call = timed.call
    if call.kind == "write":
        return (call.input,)
    if call.kind == "cas" and (call.output or not call.known) and call.input[0] != call.input[1]:
        return (call.input[1],)
    return None


def observed(timed: Timed) -> tuple[State] | None:
    """The value that a call saw for certain, wrapped in a tuple; None where it saw nothing."""
    call = timed.call
    if call.kind == "read":
        return (call.output,)
    if call.kind == "cas" and call.known and call.output:
        return (call.input[0],)
    return None


def looks(timed: Timed) -> bool:
    """Whether the answer of a call depends on what the register held."""
    call = timed.call
    return call.kind == "read" or (call.kind == "cas" and call.known)


@dataclass(frozen=True, slots=True)
class Unexplained:
    """An observation that no order can explain: `garbage`, `future` or `stale`, with what shows it."""

    pattern: str
    calls: tuple[Timed, ...]


class Sources:
    """For the calls of one register, the writes that each observation may have seen. O(n log n) to make.

    A write may be the source of an observation where it was invoked before the observation ended
    and was not certainly overwritten before that began: no write of another value lies, in real
    time, wholly between the two. Leaving out calls is sound as long as every observation that is
    kept keeps all its possible sources: in an order of the whole, what stands between a source and
    its observation does not change the value.
    """

    def __init__(self, calls: Sequence[Timed], initial: State) -> None:
        self.calls = calls
        self.initial = initial
        self._writers: dict[tuple[State], list[Timed]] = {}
        certain: list[Timed] = []
        for timed in calls:
            value = produced(timed)
            if value is not None:
                self._writers.setdefault(value, []).append(timed)
                if timed.end != NEVER:
                    certain.append(timed)
        self._written = [timed for writers in self._writers.values() for timed in writers]
        for writers in self._writers.values():
            writers.sort(key=lambda timed: timed.start)
        certain.sort(key=lambda timed: timed.end)
        self._ends = [timed.end for timed in certain]
        self._covers: list[tuple[Timed, Timed | None]] = []
        best: Timed | None = None
        second: Timed | None = None  # the latest one to start that writes another value than `best`
        for timed in certain:
            if best is None or timed.start > best.start:
                if best is not None and produced(best) != produced(timed):
                    second = best
                best = timed
            elif produced(timed) != produced(best) and (second is None or timed.start > second.start):
                second = timed
            self._covers.append((best, second))

    def cover(self, observation: Timed, value: tuple[State] | None) -> Timed | None:
        """Of the writes of another value that ended before the observation began, the last to start.

        With None as the value, of all writes.
        """
        place = bisect_left(self._ends, observation.start)
        if not place:
            return None
        best, second = self._covers[place - 1]
        return best if produced(best) != value else second

    def of(self, observation: Timed) -> list[Timed]:
        """The calls whose value the observation may have met (never the observation itself).

        A compare-and-set that is known to have missed met any value but one, so all count.
        """
        value = observed(observation)
        writers = self._written if value is None else self._writers.get(value, [])
        cover = self.cover(observation, value)
        since = _LONG_AGO if cover is None else cover.start
        return [
            timed
            for timed in writers
            if timed.start < observation.end and timed.end > since and timed is not observation
        ]

    def unexplained(self) -> Unexplained | None:
        """The earliest observation to end that has no possible source, if there is one. O(n log n)."""
        starts: dict[tuple[State], tuple[list[int], list[Timed]]] = {}
        for written, writers in self._writers.items():
            longest: list[Timed] = []
            for timed in writers:
                longest.append(timed if not longest or timed.end > longest[-1].end else longest[-1])
            starts[written] = ([timed.start for timed in writers], longest)
        found: Unexplained | None = None
        for timed in self.calls:
            value = observed(timed)
            if value is None or (found is not None and timed.end > found.calls[-1].end):
                continue
            if self.initial is UNKNOWN:
                continue
            begun, longest = starts.get(value, ([], []))
            place = bisect_left(begun, timed.end)
            cover = self.cover(timed, value)
            from_start = value == (self.initial,)
            if not place:
                if from_start:
                    if cover is not None:
                        found = Unexplained("stale", (cover, timed))
                elif begun and begun[0] >= timed.end:
                    found = Unexplained("future", (self._writers[value][0], timed))
                else:
                    found = Unexplained("garbage", (timed,))
            elif cover is not None and longest[place - 1].end < cover.start:
                found = Unexplained("stale", (longest[place - 1], cover, timed))
        return found
