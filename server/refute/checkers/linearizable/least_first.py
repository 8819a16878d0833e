"""Priority queues whose values are unique, decided value by value from the smallest on."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Any

from refute.checkers.linearizable.passages import STAYS, Core, Passages, cover

_MOST = 50  # cores that are told at once; the rest shows when these are settled
_CHECK_EVERY = 256  # values


def queue_cores(queue: Passages, check: Callable[[], Any]) -> list[Core]:
    """What no order of a priority queue allows; the rows go from the smallest value to the greatest.

    A value can be taken at a moment at which no smaller one is surely inside. That is enough: at such
    a moment the smaller ones can all be gone or not yet there (what overlaps it can pass through just
    before or after), and a greater value hinders no smaller one. An empty take is like the take of a
    value greater than all. O(n log n), and the moves of a sorted list.

    Lee and Mathur, 2025, "Efficient Decrease-and-Conquer Linearizability Monitoring".
    """
    low: list[int] = []
    high: list[int] = []
    cores: list[Core] = []

    def covered(start: int, end: int) -> bool:
        place = bisect_right(low, start) - 1
        return place >= 0 and high[place] > min(end, STAYS - 1)

    def chain(count: int, start: int, end: int) -> tuple[int, ...]:
        found = cover(queue.put_end[:count], queue.take_start[:count], start, end)
        assert found is not None  # it lies in one span
        return tuple(found)

    rows = zip(
        queue.put_start.tolist(), queue.put_end.tolist(),
        queue.take_start.tolist(), queue.take_end.tolist(), strict=True,
    )  # fmt: skip
    for row, (begun, inside, gone, taken) in enumerate(rows):
        if not row % _CHECK_EVERY:
            check()
        start = max(begun, gone)
        if gone < STAYS and covered(start, taken):
            cores.append(Core((*chain(row, start, taken), row)))
            if len(cores) >= _MOST:
                return cores
        if inside < gone:
            _add(low, high, inside, gone)
    for empty, (start, end) in enumerate(
        zip(queue.empty_start.tolist(), queue.empty_end.tolist(), strict=True)
    ):
        if covered(start, end):
            cores.append(Core(chain(len(queue.put_end), start, end), (empty,)))
            if len(cores) >= _MOST:
                break
    return cores


def _add(low: list[int], high: list[int], start: int, end: int) -> None:
    """Adds an interval to spans that are sorted and apart."""
    first = bisect_left(high, start)
    last = bisect_right(low, end)
    if first < last:
        start, end = min(start, low[first]), max(end, high[last - 1])
    low[first:last] = [start]
    high[first:last] = [end]
