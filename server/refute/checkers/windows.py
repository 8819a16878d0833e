"""Parts of a run that a measurement is taken over: all of it, the workload, or while a fault was on."""

from __future__ import annotations

from collections.abc import Callable

from refute.checkers.catalog import CheckerError
from refute.checkers.kinds import NEVER
from refute.history import FaultPhase, History, Operation, Phase

WINDOWS = ("all", "main", "baseline", "fault", "healthy")


def fault_intervals(history: History) -> list[tuple[int, int]]:
    """When each fault was on, in ns; one that was never healed is on until the end of time."""
    begun: dict[str, int] = {}
    found: list[tuple[int, int]] = []
    for event in history.faults:
        if event.phase is FaultPhase.APPLIED:
            begun.setdefault(event.fault, event.time_ns)
        elif event.phase is FaultPhase.HEALED and event.fault in begun:
            found.append((begun.pop(event.fault), event.time_ns))
    return [*found, *((start, NEVER) for start in begun.values())]


def window(history: History, during: str) -> Callable[[Operation], bool]:
    """Whether an operation was invoked in the part of the run that `during` names. Raises CheckerError."""
    if during not in WINDOWS:
        known = ", ".join(WINDOWS)
        raise CheckerError(f"there is no part of a run called {during!r}", hint=f"there are: {known}")
    if during == "all":
        return lambda _: True
    if during in ("main", "baseline"):
        phase = Phase.MAIN if during == "main" else Phase.BASELINE
        return lambda operation: operation.phase is phase
    intervals = fault_intervals(history)
    wanted = during == "fault"
    return lambda o: any(start <= o.invoked_ns <= end for start, end in intervals) is wanted
