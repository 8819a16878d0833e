"""Stacks whose values are unique, decided by taking away what must lie at the bottom."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refute.checkers.linearizable.passages import Core, Passages, cover

_MOST_EMPTIES = 20  # false empties that are told at once; the rest shows when these are settled


def stack_cores(stack: Passages, check: Callable[[], Any]) -> list[Core]:
    """What no order of a stack allows; nothing where it is linearizable. O(n log n + n * its height).

    A value whose put and take overlap can pass through in an instant, whatever else is there: it is
    left out. All others are surely inside from the end of their put to the beginning of their take.
    A take can find the stack empty if some moment of it lies in no such span. Where the spans leave a gap,
    what comes before it and what comes after it are two histories, as no call of the one must follow a
    call of the other. Where they leave none the stack is never empty from the first put's end to
    the last take's beginning, so one value is put before and taken after all others. Whichever can
    be that one is left out: if the rest has an order, it goes around it; if not, nothing helps. If
    none can be, there is no order.

    Lee and Mathur, 2025, "Efficient Decrease-and-Conquer Linearizability Monitoring", and Abdulla et
    al., 2025, "Efficient Linearizability Monitoring", decide stacks in this manner. Algorithms before them
    (of forbidden patterns of few values) miss histories.
    """
    import numpy as np

    rows = np.nonzero(stack.put_end < stack.take_start)[0]
    rows = rows[np.argsort(stack.put_end[rows], kind="stable")]
    cores = [*_buried(stack, rows, check), *_false_empties(stack, rows, check)]
    if cores:
        return cores
    while len(rows):
        check()
        begun, inside = stack.put_start[rows], stack.put_end[rows]
        gone, taken = stack.take_start[rows], stack.take_end[rows]
        reach = np.maximum.accumulate(gone)
        first = np.append(0, np.nonzero(inside[1:] > reach[:-1])[0] + 1)
        sizes = np.diff(np.append(first, len(rows)))
        last = first + sizes - 1
        bottom = (begun < np.repeat(inside[first], sizes)) & (taken > np.repeat(reach[last], sizes))
        stuck = np.add.reduceat(bottom, first) == 0
        for low, high in zip(first[stuck].tolist(), (last[stuck] + 1).tolist(), strict=True):
            chain = cover(inside[low:high], gone[low:high], int(gone[low]), int(reach[high - 1]))
            assert chain is not None  # the spans of a part leave no gap
            cores.append(Core(tuple(rows[[low, *(low + place for place in chain)]].tolist())))
        rows = rows[~bottom & ~np.repeat(stuck, sizes)]
    return cores


def _buried(stack: Passages, rows: Any, check: Callable[[], Any]) -> list[Core]:
    """For each missing value the first to be taken from under it: the usual reason, told at once."""
    import numpy as np

    known = rows[~stack.missing[rows]]
    known = known[np.argsort(stack.take_end[known], kind="stable")]
    inside, gone, taken = stack.put_end[known], stack.take_start[known], stack.take_end[known]
    cores = []
    for row in rows[stack.missing[rows]].tolist():
        check()
        soon = np.searchsorted(taken, stack.take_start[row])
        under = (inside[:soon] < stack.put_start[row]) & (gone[:soon] > stack.put_end[row])
        if under.any():
            cores.append(Core((int(known[under.argmax()]), row)))
    return cores


def _false_empties(stack: Passages, rows: Any, check: Callable[[], Any]) -> list[Core]:
    """The takes that found nothing while something was inside all the time."""
    import numpy as np

    if not len(stack.empty_start) or not len(rows):
        return []
    inside, gone = stack.put_end[rows], stack.take_start[rows]
    reach = np.maximum.accumulate(gone)
    fresh = np.append(True, inside[1:] > reach[:-1])
    low = inside[fresh]
    high = reach[np.append(np.nonzero(fresh)[0][1:] - 1, len(rows) - 1)]
    place = np.searchsorted(low, stack.empty_start) - 1
    wrong = (place >= 0) & (high[place] > stack.empty_end)
    cores = []
    for empty in np.nonzero(wrong)[0][:_MOST_EMPTIES].tolist():
        check()
        chain = cover(inside, gone, int(stack.empty_start[empty]), int(stack.empty_end[empty]))
        assert chain is not None  # it lies in one span
        cores.append(Core(tuple(rows[chain].tolist()), (empty,)))
    return cores
