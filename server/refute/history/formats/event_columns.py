"""Jepsen's events as columns: what a reader of many lines at once hands on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from refute.history.columns import OPEN
from refute.history.pairing import COMPLETIONS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NEMESIS = "nemesis"
NO_TIME = -1  # what histories that were made and not recorded have for a time
EVENT_TYPES = frozenset({"invoke", *COMPLETIONS})
STARTS = ("start", "invoke-time", "invoke_time", "invoked", "call", "start-time", "start_time")
ENDS = ("end", "complete-time", "complete_time", "completed", "return", "end-time", "end_time")
_NOT_OF_EVENTS = frozenset({"invoke", "invocation", "completion", "complete", "final?", *STARTS, *ENDS})
TIMES_FROM = -(2**63)


@dataclass(frozen=True, slots=True)
class EventColumns:
    """Events by their lines, a column a field; `name` and `error` may be None and `time` NO_TIME."""

    line: Sequence[int]
    kind: list[str]
    name: list[str | None]
    process: list[int | str]
    value: list[Any]
    time: list[int]
    error: list[Any]

    def __len__(self) -> int:
        return len(self.line)

    def at(self, places: Iterable[int]) -> EventColumns:
        """The events at those places, in that order."""
        chosen = list(places)
        columns = (getattr(self, column.name) for column in fields(self))
        return EventColumns(*([column[place] for place in chosen] for column in columns))


def columns_of(numbers: Sequence[int], records: Sequence[Any]) -> EventColumns | None:
    """The columns of records with these line numbers; None where one is not simply one event.

    Operations with both their times, records inside records and those of a phase of their own are not.
    """
    if not set(map(type, records)) <= {dict}:
        return None
    if not all(map(_NOT_OF_EVENTS.isdisjoint, set(map(tuple, records)))):
        return None
    times = [record.get("time") for record in records]
    found = EventColumns(
        line=numbers,
        kind=[record.get("type") for record in records],
        name=[record.get("f") for record in records],
        process=[record.get("process") for record in records],
        value=[record.get("value") for record in records],
        time=[NO_TIME if time is None else time for time in times] if None in times else times,
        error=[record.get("error") for record in records],
    )
    as_usual = (
        set(map(type, found.kind)) <= {str}
        and set(found.kind) <= EVENT_TYPES
        and set(map(type, found.name)) <= {str, type(None)}
        and set(map(type, found.process)) <= {int, str}
        and set(map(type, found.time)) <= {int}
        and min(found.time, default=0) >= TIMES_FROM
        and max(found.time, default=0) < OPEN
    )
    return found if as_usual else None


def is_event(record: Any) -> bool:
    """Whether a record is simply one invocation or completion."""
    return columns_of([0], [record]) is not None


def joined(parts: list[EventColumns]) -> EventColumns:
    """All events of the parts in the order of their lines."""
    import numpy as np

    whole = EventColumns(
        *([item for part in parts for item in getattr(part, column.name)] for column in fields(EventColumns))
    )
    return whole.at(np.argsort(np.array(whole.line), kind="stable").tolist())


@dataclass(frozen=True, slots=True)
class Turns:
    """Who invokes and who completes in some events, each array with an entry an event.

    A completion has the place of its `invocation`, or where that stood `before` these events its row
    there; both are -1 otherwise. `last` are the places of each process's last event.
    """

    opens: NDArray[np.bool_]
    invocation: NDArray[np.int64]
    before: NDArray[np.int64]
    last: NDArray[np.int64]


def turns_of(events: EventColumns, running: Mapping[Any, int]) -> Turns | None:
    """How events pair up, given the rows of the operations in flight; None where they do not. O(n log n)."""
    import numpy as np

    size = len(events)
    codes = {process: code for code, process in enumerate(dict.fromkeys(events.process))}
    process = np.fromiter(map(codes.__getitem__, events.process), dtype=np.int64, count=size)
    opens = np.fromiter(map("invoke".__eq__, events.kind), dtype=np.bool_, count=size)
    order = np.argsort(process, kind="stable")
    in_turn = opens[order]
    follows = np.diff(process[order], prepend=-1) == 0
    if np.any(follows[1:] & (in_turn[1:] == in_turn[:-1])):
        return None
    first = order[~follows]
    rows = np.array([running.get(name, -1) for name in codes], dtype=np.int64)
    if np.any(opens[first] == (rows >= 0)):
        return None
    invocation, before = np.full(size, -1, dtype=np.int64), np.full(size, -1, dtype=np.int64)
    pairs = np.nonzero(follows & ~in_turn)[0]
    invocation[order[pairs]] = order[pairs - 1]
    before[first] = rows
    return Turns(opens, invocation, before, order[np.append(~follows[1:], True)[:size]])
