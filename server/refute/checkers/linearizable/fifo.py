"""Queues whose values are unique, decided by the four patterns that a first-in-first-out queue forbids."""

from __future__ import annotations

from collections.abc import Sequence

from refute.checkers.linearizable.passages import Forbidden, Paired, paired
from refute.checkers.linearizable.search import NEVER, Timed


def forbidden(calls: Sequence[Timed]) -> Forbidden | None:
    """A forbidden pattern among the calls of one queue whose values are unique. O(n log n).

    Where none is found the queue is linearizable, unless some takes are unknown and others found it
    empty: `fifo_columns.decide` has more on that.

    The patterns (Henzinger, Sezgin and Vafeiadis, 2013, "Aspect-Oriented Linearizability Proofs"):
    a value taken that nobody put, or before it was put; a value taken twice; x put before y and
    taken after it, or never; a take that found the queue empty while it never was.

    A put that nobody saw answered ends at NEVER if its value was taken, and otherwise need not have
    happened. A take that nobody saw answered may have taken any value that is missing, at any time
    after it began. Values that must be gone by some time (their successors were taken) each need
    one of those: sorted by that time, the k-th must come after the k-th unknown take began.
    """
    found = paired(calls)
    if not isinstance(found, Paired):
        return found
    values, lost, empties = found.values, found.lost, found.empties
    # For each value, the soonest end of a take of a value that was put wholly after it.
    by_start = sorted(
        ((one.start, take.end, one, take) for one, take in values if take is not None), key=lambda row: row[0]
    )
    soonest: list[tuple[int, Timed, Timed]] = []
    for _, end, one, take in reversed(by_start):
        soonest.append((end, one, take) if not soonest or end < soonest[-1][0] else soonest[-1])
    soonest.reverse()
    place, due = 0, []
    for one, own in sorted(values, key=lambda pair: pair[0].end):
        while place < len(by_start) and by_start[place][0] < one.end:
            place += 1
        if place == len(by_start):
            break
        end, later, later_take = soonest[place]
        if own is not None:
            if end < own.start:
                return Forbidden("order", (one, later, later_take, own))
        else:
            due.append((end, one, later, later_take))
    due.sort(key=lambda row: row[0])
    lost.sort(key=lambda timed: timed.start)
    for number, (end, one, later, later_take) in enumerate(due):
        if number >= len(lost) or lost[number].start > end:
            if not number:
                return Forbidden("order", (one, later, later_take))
            involved = dict.fromkeys(timed for row in due[: number + 1] for timed in row[1:])
            return Forbidden("order", (*involved, *lost[:number]))
    if empties:
        if lost:
            values = [pair for pair in values if pair[1] is not None]
        return _never_empty(values, empties)
    return None


def _never_empty(values: Sequence[tuple[Timed, Timed | None]], empties: list[Timed]) -> Forbidden | None:
    """An empty take all of whose time some value was certainly inside. A value is, from put to take."""
    sure = [
        (one.end, NEVER if take is None else take.start, one, take)
        for one, take in values
        if take is None or one.end < take.start
    ]
    sure.sort(key=lambda row: row[0])
    spans: list[tuple[int, int, list[tuple[Timed, Timed | None]]]] = []
    for start, end, one, take in sure:
        if spans and start < spans[-1][1]:
            low, high, chain = spans[-1]
            if end > high:
                chain.append((one, take))
            spans[-1] = (low, max(high, end), chain)
        else:
            spans.append((start, end, [(one, take)]))
    position = 0
    for empty in sorted(empties, key=lambda timed: timed.start):
        while position < len(spans) and spans[position][1] < empty.start:
            position += 1
        if position < len(spans) and spans[position][0] < empty.start and empty.end < spans[position][1]:
            inside = [
                timed
                for one, take in spans[position][2]
                if one.end < empty.end and (take is None or take.start > empty.start)
                for timed in (one, take)
                if timed is not None
            ]
            return Forbidden("empty", (*inside, empty))
    return None
