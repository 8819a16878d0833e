"""Which values the takes without an answer may have taken: deadlines, and few choices."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from refute.checkers.linearizable.passages import STAYS, Core, Passages, Sweep
from refute.checkers.minimal import minimise

if TYPE_CHECKING:
    from refute.checkers.linearizable.passages import Ints

_MOST_TRIES = 200
"""Ways down that are tried; then the choices are left to a search, within its budget."""
_AT_LAST = STAYS - 2
"""For a take that has to come at some time, however late."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether there is an order. `cores` prove that there is none, with the first `takes` unseen takes.

    `sure`: whatever was chosen before.
    """

    valid: bool
    cores: tuple[Core, ...] = ()
    takes: int = 0
    sure: bool = False


@dataclass(slots=True)
class _Path:
    """The choices made on the way down: which one of how many."""

    taken: list[list[int]] = field(default_factory=list)
    depth: int = 0

    def choose(self, options: int) -> int:
        if self.depth == len(self.taken):
            self.taken.append([0, options])
        self.depth += 1
        return self.taken[self.depth - 1][0]

    def next(self) -> bool:
        """Goes over to the next way; False after the last."""
        self.depth = 0
        while self.taken:
            self.taken[-1][0] += 1
            if self.taken[-1][0] < self.taken[-1][1]:
                return True
            self.taken.pop()
        return False


def decide(whole: Passages, sweep: Sweep, lost: Ints, check: Callable[[], Any]) -> Decision | None:
    """Whether a container is linearizable; None where too many choices are open. `lost`: starts, sorted.

    At first nothing that is missing was taken. Values that no order allows together (a core) then say
    what has to have been taken, and by when: that one of them which is missing, and by the latest
    start of a take with which the others have an order. An earlier take is never worse, so deadlines
    only move forward; where two of a core are missing, either may be the one, and both are tried.
    In the end each value with a deadline needs an unseen take of its own that began before it:
    sorted by deadline, the k-th must come after the k-th unseen take began.
    """
    path, seen = _Path(), dict[Core, None]()
    for _ in range(_MOST_TRIES):
        failure = _descend(whole, sweep, lost, check, path)
        if failure is None:
            return Decision(True)
        if failure.sure or not path.taken:
            return failure
        seen |= dict.fromkeys(failure.cores)
        if not path.next():
            return Decision(False, tuple(seen), len(lost))
    return None


def _descend(
    whole: Passages, sweep: Sweep, lost: Ints, check: Callable[[], Any], path: _Path
) -> Decision | None:
    """What fails after the choices of this path, or None where nothing does."""
    starts = whole.take_start.copy()
    due: dict[int, list[Core]] = {}
    sure: dict[int, list[Core]] = {}
    last = starts.copy()  # deadlines that rest on no choice
    while True:
        now = whole.taken_from(starts)
        cores = sweep(now, check)
        if not cores:
            return None
        for core in cores:
            check()
            now = whole.taken_from(starts)
            if not _fails(now, core, sweep):
                continue
            core = _minimal(now, core, sweep)
            loose = [value for value in core.values if whole.missing[value]]
            if not loose:
                return Decision(False, (core,), sure=True)
            # One that has to be gone anyway costs no further take.
            loose.sort(key=lambda value: (value not in due, -starts[value], value))
            value = loose[path.choose(len(loose))] if len(loose) > 1 else loose[0]
            limit = _latest(now, core, value, sweep, one_step=len(loose) > 1)
            if limit is None:
                return Decision(False, (*_all(due), core), len(lost))
            starts[value] = limit
            due.setdefault(value, []).append(core)
            if len(loose) == 1:
                last[value] = min(int(last[value]), limit)
                sure.setdefault(value, []).append(core)
                first = _too_many(last, sure, lost)
                if first is not None:
                    return Decision(False, _all(first), len(first) - 1, sure=True)
            if _too_many(starts, due, lost) is not None:
                return Decision(False, _all(due), len(lost))


def _too_many(starts: Ints, due: dict[int, list[Core]], lost: Ints) -> dict[int, list[Core]] | None:
    """The first values to be due of which there is one more than unseen takes; None where each has one."""
    in_order = sorted(due, key=lambda value: (starts[value], value))
    for number, value in enumerate(in_order):
        if number >= len(lost) or lost[number] > starts[value]:
            return {one: due[one] for one in in_order[: number + 1]}
    return None


def _all(due: dict[int, list[Core]]) -> tuple[Core, ...]:
    return tuple(dict.fromkeys(core for cores in due.values() for core in cores))


def _fails(now: Passages, core: Core, sweep: Sweep) -> bool:
    return bool(sweep(now.only(core.values, core.empties), _no_check))


def _no_check() -> None:
    """What is small needs no watching."""


def _minimal(now: Passages, core: Core, sweep: Sweep) -> Core:
    """As few values as still fail; the empty take of a core, if there is one, stays."""
    if core.empties and not core.values:
        return core
    few = minimise(core.values, lambda some: _fails(now, Core(tuple(some), core.empties), sweep))
    return Core(few, core.empties)


def _latest(now: Passages, core: Core, value: int, sweep: Sweep, *, one_step: bool) -> int | None:
    """The latest time for the take of one value to begin with which the others have an order.

    With `one_step` the next earlier time that can make a difference. None where there is none.
    """
    some = now.only(core.values, core.empties)
    times = {
        int(end) - 1 for column in (some.put_end, some.take_end, some.empty_end) for end in column.tolist()
    }
    times.add(_AT_LAST)
    candidates = sorted((time for time in times if time < now.take_start[value]), reverse=True)
    if one_step:
        return candidates[0] if candidates else None
    place = core.values.index(value)
    for candidate in candidates:
        starts = some.take_start.copy()
        starts[place] = candidate
        if not sweep(some.taken_from(starts), _no_check):
            return candidate
    return None
