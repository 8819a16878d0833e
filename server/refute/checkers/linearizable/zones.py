"""Registers whose written values are unique, decided by the zones of their values in a few sorts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Rows that cannot be ordered, and which pattern of Gibbons and Korach they form."""

    pattern: str
    rows: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Zones:
    """The outcome: no conflict means linearizable. `repeated` are keys whose values are not unique."""

    conflict: Conflict | None
    repeated: tuple[int, ...]


BEFORE = -(2**62)


def zones(key: Ints, value: Ints, writes: NDArray[np.bool_], start: Ints, end: Ints, initial: int) -> Zones:
    """Looks for a conflict among reads and writes of many keys at once. O(n log n), a few numpy sorts.

    All arrays have one entry an operation; `start` is even and `end` odd, so that none are equal and
    an operation that begins when another ends is concurrent with it. Unknown writes have the
    greatest possible end. `initial` is the code of the value that every key holds at first, or -1
    where that is not known. Keys in which a value is written twice are left out and returned.

    A value's zone reaches from the first end to the last start of the operations that wrote or
    read it. If that is forwards, the value must be current throughout; if backwards, at one moment
    inside. A history is linearizable if and only if no read ends before its write starts, no two
    forward zones overlap, and no backward zone lies within a forward one (Gibbons and Korach, 1997,
    "Testing Shared Memories").

    An unknown write that nobody read may be left out: in w(1) unknown, w(2), r=2 any order of the
    rest is an order of the whole in which w(1) never happened. An unknown write that was read did
    happen, at any time after its invocation: its end is infinite, and its zone comes out right.
    """
    import numpy as np

    order = np.lexsort((~writes, value, key))
    key, value, writes, start, end = key[order], value[order], writes[order], start[order], end[order]
    size = len(order)
    if not size:
        return Zones(None, ())
    fresh = np.ones(size, dtype=bool)
    fresh[1:] = (key[1:] != key[:-1]) | (value[1:] != value[:-1])
    first = np.nonzero(fresh)[0]
    count = np.add.reduceat(writes.astype(np.int64), first)
    group_key, is_initial = key[first], value[first] == initial
    repeated = np.unique(group_key[(count > 1) | ((count > 0) & is_initial)])

    group = np.cumsum(fresh) - 1
    earliest_end = np.minimum.reduceat(end, first)
    latest_start = np.maximum.reduceat(start, first)
    unread = (np.diff(np.append(first, size)) == 1) & (count == 1) & (end[first] == np.iinfo(np.int64).max)
    alive = ~np.isin(group_key, repeated) & ~unread
    unwritten = (count == 0) & alive
    if initial >= 0:
        strange = np.nonzero(unwritten & ~is_initial)[0]
        earliest_end[unwritten] = BEFORE + 1
    else:
        # Nobody knows what a key held at first: one value that nobody wrote may be it, two cannot.
        earliest_end[unwritten] = BEFORE + 1
        strange = np.nonzero(unwritten)[0]
        strange = strange[1:][group_key[strange[1:]] == group_key[strange[:-1]]]
    skip = tuple(repeated.tolist())

    def rows(group_number: int, *positions: int) -> list[int]:
        return [int(order[place]) for place in (int(first[group_number]), *positions)]

    def attaining(group_number: int, values: Ints, best: Any) -> int:
        low = int(first[group_number])
        high = int(first[group_number + 1]) if group_number + 1 < len(first) else size
        return low + int(best(values[low:high]))

    def members(group_number: int) -> list[int]:
        return rows(
            group_number,
            attaining(group_number, end, np.argmin),
            attaining(group_number, start, np.argmax),
        )

    if len(strange):
        return Zones(Conflict("unwritten", tuple(rows(int(strange[0])))), skip)
    early = np.nonzero(~writes & (count[group] > 0) & alive[group] & (end < start[first][group]))[0]
    if len(early):
        return Zones(Conflict("future", tuple(rows(int(group[early[0]]), int(early[0])))), skip)

    forward = alive & (earliest_end < latest_start)
    inside = np.nonzero(alive & ~forward)[0]
    front = np.nonzero(forward)[0]
    front = front[np.lexsort((earliest_end[front], group_key[front]))]
    same = group_key[front[1:]] == group_key[front[:-1]]
    overlap = np.nonzero(same & (earliest_end[front[1:]] < latest_start[front[:-1]]))[0]
    if len(overlap):
        one, two = int(front[overlap[0]]), int(front[overlap[0] + 1])
        return Zones(Conflict("overlap", tuple(dict.fromkeys(members(one) + members(two)))), skip)

    everything = np.concatenate((front, inside))
    begins = np.concatenate((earliest_end[front], latest_start[inside]))
    merged = np.lexsort((begins, group_key[everything]))
    seen = np.where(merged < len(front), merged, -1)
    last = np.maximum.accumulate(np.where(seen >= 0, np.arange(len(merged)), -1))
    for_inside = np.nonzero((merged >= len(front)) & (last >= 0))[0]
    backward, around = everything[merged[for_inside]], everything[merged[last[for_inside]]]
    held = (group_key[backward] == group_key[around]) & (earliest_end[backward] < latest_start[around])
    hit = np.nonzero(held)[0]
    if len(hit):
        one, two = int(around[hit[0]]), int(backward[hit[0]])
        return Zones(Conflict("within", tuple(dict.fromkeys(members(one) + members(two)))), skip)
    return Zones(None, skip)
