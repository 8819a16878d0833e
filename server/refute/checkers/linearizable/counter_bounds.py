"""What a counter can have held at each answer: all that was over, and any part of what was under way."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from refute.checkers.linearizable.containers import changed_by
from refute.checkers.linearizable.search import NEVER, Timed


@dataclass(frozen=True, slots=True)
class OutOfBounds:
    """An answer, the least and the greatest number that it can have been, and the changes that say so."""

    call: Timed
    least: int
    most: int
    changes: tuple[Timed, ...]


def out_of_bounds(calls: Sequence[Timed], initial: int) -> OutOfBounds | None:
    """The first answer to end that no choice of changes allows, if bounds tell. O(n log n).

    A change that was over before a call began counts; one under way, or without an answer, may count.
    Answers within these bounds may yet be wrong together.
    """
    amounts = {timed.row: changed_by(timed.call) for timed in calls}
    changes = [timed for timed in calls if timed.call.kind != "read"]
    by_start = sorted(changes, key=lambda timed: timed.start)
    by_end = sorted((timed for timed in changes if timed.end != NEVER), key=lambda timed: timed.end)
    starts, ends = [timed.start for timed in by_start], [timed.end for timed in by_end]
    begun = {sign: _sums(by_start, amounts, sign) for sign in (1, -1)}
    over = {sign: _sums(by_end, amounts, sign) for sign in (1, -1)}
    found: OutOfBounds | None = None
    for timed in calls:
        call = timed.call
        if not call.known or call.kind not in ("read", "add-and-get", "get-and-add"):
            continue
        if found is not None and timed.end >= found.call.end:
            continue
        seen = call.output
        first, last = bisect_left(ends, timed.start), bisect_left(starts, timed.end)
        least = initial + over[1][first] + begun[-1][last]
        most = initial + over[-1][first] + begun[1][last]
        own = amounts[timed.row]
        if call.kind == "get-and-add":
            least, most = least - min(own, 0), most - max(own, 0)
        elif call.kind == "add-and-get":
            least, most = least + max(own, 0), most + min(own, 0)
        if not least <= seen <= most:
            found = OutOfBounds(timed, least, most, tuple(by_start[:last]))
    return found


def _sums(changes: Sequence[Timed], amounts: dict[int, int], sign: int) -> list[int]:
    """Of the first so many changes the sum of those of one sign."""
    return [0, *accumulate(amount if (amount := amounts[one.row]) * sign > 0 else 0 for one in changes)]
