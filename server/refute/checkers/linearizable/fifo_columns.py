"""Decides queues whose values are unique, a few sorts each, from the columns of a history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from refute.checkers.linearizable.containers import Queue
from refute.checkers.linearizable.prepare import interval
from refute.checkers.linearizable.search import NEVER
from refute.history import History, hashable
from refute.history.columns import OK

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


def decide(history: History, model: Queue, rows: Ints) -> bool | None:
    """Whether the operations of one queue are linearizable; None where these patterns cannot tell.

    The patterns and why they suffice are in `fifo.forbidden`. Where takes are unknown and others
    found the queue empty, each value that is missing must have been taken, by an unknown take,
    before the first time at which the queue must be empty after it was put. Those times can be
    chosen within the takes that found nothing; the latest and the earliest are tried, and if
    neither works nothing is said. O(n log n).
    """
    import numpy as np

    columns = history.columns
    is_put = np.array([model.kinds.get(kind) == "put" for kind in columns.kinds], dtype=bool)[
        columns.kind[rows]
    ]
    known = columns.outcome[rows] == OK
    start, end = interval(columns, rows)
    put_rows, take_rows = rows[is_put], rows[~is_put & known]
    puts = _values([columns.input[row] for row in put_rows.tolist()])
    answers = [columns.output[row] for row in take_rows.tolist()]
    got = np.array([answer is not None for answer in answers], dtype=bool)
    takes = _values([answer for answer in answers if answer is not None])
    if puts is None or takes is None:
        coded: dict[Any, int] = {}
        plain = [hashable(columns.input[row]) for row in put_rows.tolist()]
        if None in plain:
            return None
        puts = np.array([coded.setdefault(value, len(coded)) for value in plain], dtype=np.int64)
        takes = np.array([coded.get(hashable(a), -1) for a in answers if a is not None], dtype=np.int64)
    order = np.argsort(puts, kind="stable")
    value = puts[order]
    if (value[1:] == value[:-1]).any():
        return None
    put_start, put_end = start[is_put][order], end[is_put][order]
    take_start, take_end = start[~is_put & known][got], end[~is_put & known][got]
    place = np.searchsorted(value, takes)
    place[place == len(value)] = 0
    if len(takes) and (not len(value) or (value[place] != takes).any() or len(np.unique(place)) < len(place)):
        return False
    if (take_end < put_start[place]).any():
        return False
    own_start = np.full(len(value), NEVER, dtype=np.int64)
    own_end = own_start.copy()
    own_start[place], own_end[place] = take_start, take_end

    taken = own_start != NEVER
    by_start = np.argsort(put_start[taken], kind="stable")
    starts = put_start[taken][by_start]
    soonest = np.append(np.minimum.accumulate(own_end[taken][by_start][::-1])[::-1], NEVER)
    due = soonest[np.searchsorted(starts, put_end)]
    if (taken & (due < own_start)).any():
        return False
    missing = ~taken & (put_end != NEVER)
    lost = np.sort(start[~is_put & ~known])
    if not _enough(due[missing], lost):
        return False
    empty_start, empty_end = start[~is_put & known][~got], end[~is_put & known][~got]
    if not len(empty_start):
        return True
    sure = (taken & (put_end < own_start)) | (missing if not len(lost) else np.zeros(len(taken), dtype=bool))
    low, high = _spans(put_end[sure], own_start[sure])
    latest = np.searchsorted(low, empty_end) - 1
    inside = (latest >= 0) & (high[latest] > empty_end) if len(low) else np.zeros(len(empty_end), dtype=bool)
    moment = np.where(inside, low[latest], empty_end) if len(low) else empty_end
    if (moment < empty_start).any():
        return False
    if not len(lost) or not missing.any():
        return True
    first = np.searchsorted(low, empty_start) - 1
    within = (
        (first >= 0) & (high[first] > empty_start) if len(low) else np.zeros(len(empty_start), dtype=bool)
    )
    early = np.where(within, high[first], empty_start) if len(low) else empty_start
    for moments in (moment, early):
        chosen = np.append(np.sort(moments), NEVER)
        gone = np.minimum(due[missing], chosen[np.searchsorted(chosen, put_end[missing], side="right")])
        if _enough(gone, lost):
            return True
    return None


def _values(values: list[Any]) -> Ints | None:
    """Integers as they are; None where there are other values."""
    import numpy as np

    if not set(map(type, values)) <= {int}:
        return None
    try:
        return np.array(values, dtype=np.int64)
    except OverflowError:
        return None


def _enough(deadlines: Ints, lost: Ints) -> bool:
    """Whether each value with a deadline can have an unknown take of its own that began before it."""
    import numpy as np

    due = np.sort(deadlines[deadlines != NEVER])
    return len(due) <= len(lost) and not (lost[: len(due)] > due).any()


def _spans(start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """The unions of intervals that overlap, as their starts and ends."""
    import numpy as np

    order = np.argsort(start, kind="stable")
    start, reach = start[order], np.maximum.accumulate(end[order])
    if not len(start):
        return start, reach
    fresh = np.append(True, start[1:] > reach[:-1])
    last = np.append(np.nonzero(fresh)[0][1:] - 1, len(start) - 1)
    return start[fresh], reach[last]
