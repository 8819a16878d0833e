"""The way of each value through a container: when it was put and taken, and when it was surely inside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from refute.checkers.linearizable.search import NEVER, Timed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

STAYS = NEVER - 1
"""The start of a take that never comes. It ends at NEVER: later than any other."""


@dataclass(frozen=True, slots=True)
class Forbidden:
    """A pattern, its calls, and a word for the sentence that tells of it."""

    pattern: str
    calls: tuple[Timed, ...]


@dataclass(frozen=True, slots=True)
class Paired:
    """The calls of one container, each value's put with its take (None: nobody was seen to take it).

    `lost` are the takes without an answer, `empties` those that found nothing.
    """

    values: list[tuple[Timed, Timed | None]]
    lost: list[Timed]
    empties: list[Timed]


def paired(calls: Sequence[Timed]) -> Paired | Forbidden | None:
    """Puts with their takes; or a take that no put explains; or None where values repeat or are nil.

    A put that nobody saw answered ends at NEVER if its value was taken. If it was not, it is left
    out: a value that is not there hinders nobody.
    """
    put: dict[object, Timed] = {}
    taken: dict[object, Timed] = {}
    lost: list[Timed] = []
    empties: list[Timed] = []
    twice: Forbidden | None = None
    for timed in calls:
        call = timed.call
        if call.kind == "put":
            if call.input is None or call.input in put:
                return None
            put[call.input] = timed
        elif not call.known:
            lost.append(timed)
        elif call.output is None:
            empties.append(timed)
        elif call.output in taken:
            twice = twice or Forbidden("twice", (taken[call.output], timed))
        else:
            taken[call.output] = timed
    if twice is not None:
        return twice
    for value, got in taken.items():
        if value not in put:
            return Forbidden("unput", (got,))
        if got.end < put[value].start:
            return Forbidden("early", (put[value], got))
    values = [(one, taken.get(value)) for value, one in put.items() if value in taken or one.end != NEVER]
    return Paired(values, lost, empties)


@dataclass(frozen=True)
class Passages:
    """Times of the values of one container, a row a value, and of the takes that found it empty.

    A value is surely inside from `put_end` to `take_start`, where the first comes before the second.
    One that is `missing` was not seen to be taken: it stays, or a take without an answer took it at
    some time after `take_start`. Starts are even and ends odd, so a start is no end.
    """

    put_start: Ints
    put_end: Ints
    take_start: Ints
    take_end: Ints
    missing: Flags
    empty_start: Ints
    empty_end: Ints

    def only(self, values: Sequence[int], empties: Sequence[int]) -> Passages:
        """These values and these empty takes alone, in their order."""
        import numpy as np

        some, none = np.array(values, dtype=np.int64), np.array(empties, dtype=np.int64)
        return Passages(
            self.put_start[some], self.put_end[some], self.take_start[some], self.take_end[some],
            self.missing[some], self.empty_start[none], self.empty_end[none],
        )  # fmt: skip

    def taken_from(self, starts: Ints) -> Passages:
        """The same with other starts of the takes."""
        return replace(self, take_start=starts)


@dataclass(frozen=True, slots=True)
class Core:
    """Values and empty takes that no order allows together, by their rows."""

    values: tuple[int, ...]
    empties: tuple[int, ...] = ()


Sweep = Callable[[Passages, Callable[[], Any]], list[Core]]
"""Cores of a container, none where it is linearizable as its passages stand.

The second argument is called now and then, and raises where the budget is spent.
"""


def passages(found: Paired) -> Passages:
    """The times of values in the order in which they are given."""
    import numpy as np

    def column(times: list[int]) -> Ints:
        return np.array(times, dtype=np.int64)

    takes = [take for _, take in found.values]
    return Passages(
        column([put.start for put, _ in found.values]),
        column([put.end for put, _ in found.values]),
        column([STAYS if take is None else take.start for take in takes]),
        column([NEVER if take is None else take.end for take in takes]),
        np.array([take is None for take in takes], dtype=bool),
        column([empty.start for empty in found.empties]),
        column([empty.end for empty in found.empties]),
    )


def cover(low: Ints, high: Ints, reach: int, goal: int) -> list[int] | None:
    """The fewest of these open intervals that leave no gap between `reach` and `goal`; None for a gap."""
    chosen: list[int] = []
    while reach < goal and reach < STAYS:
        near = (low < reach).nonzero()[0]
        if not len(near):
            return None
        best = int(near[high[near].argmax()])
        if high[best] <= reach:
            return None
        chosen.append(best)
        reach = int(high[best])
    return chosen
