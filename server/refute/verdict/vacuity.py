"""Whether anything could have gone wrong in a run: what happened before, during and after its faults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from refute.history import FaultEvent, FaultPhase, Operation, Outcome

ANY = "*"
"""Stands for any kind of operation where a kind is required."""


@dataclass(frozen=True, slots=True)
class Required:
    """Kinds of operation that must have succeeded in each part of a run; `*` is any kind.

    `since` are kinds that must have been invoked and have succeeded after the first fault was applied,
    while it was on or later; `during_any` asks for at least one operation invoked while a fault was on,
    whatever came of it.
    """

    before: tuple[str, ...] = ()
    during: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    since: tuple[str, ...] = ()
    during_any: bool = True


@dataclass(frozen=True, slots=True)
class Window:
    """The time in which one fault was on; `end_ns` is None where it was never undone."""

    fault: str
    start_ns: int
    end_ns: int | None


def fault_windows(events: Sequence[FaultEvent]) -> tuple[Window, ...]:
    """The windows of all faults that were applied, by start."""
    started: dict[str, int] = {}
    ended: dict[str, int] = {}
    for event in events:
        if event.phase is FaultPhase.APPLIED:
            started.setdefault(event.fault, event.time_ns)
        elif event.phase is FaultPhase.HEALED:
            ended[event.fault] = event.time_ns
    windows = (Window(fault, start, ended.get(fault)) for fault, start in started.items())
    return tuple(sorted(windows, key=lambda window: window.start_ns))


def lacking(
    operations: Sequence[Operation], events: Sequence[FaultEvent], required: Required
) -> tuple[str, ...]:
    """Sentences on what the run lacks; empty where each required kind succeeded in each part.

    Without faults everything counts as before and as after.
    """
    return tuple(_lacking(operations, fault_windows(events), required))


def _lacking(
    operations: Sequence[Operation], windows: tuple[Window, ...], required: Required
) -> Iterator[str]:
    if not any(operation.outcome is Outcome.OK for operation in operations):
        yield "no operation succeeded"
        return
    first = windows[0].start_ns if windows else None
    last = max((window.end_ns or window.start_ns for window in windows), default=None)
    succeeded = [operation for operation in operations if operation.outcome is Outcome.OK]
    before = {
        operation.kind
        for operation in succeeded
        if first is None or (operation.completed_ns is not None and operation.completed_ns <= first)
    }
    after = {operation.kind for operation in succeeded if last is None or operation.invoked_ns >= last}
    yield from _missing(required.before, before, "before the faults")
    if windows:
        during = [operation for operation in operations if _overlaps(operation, windows)]
        if required.during_any and not during:
            yield "no operation was invoked while a fault was on"
        succeeded_during = {operation.kind for operation in during if operation.outcome is Outcome.OK}
        yield from _missing(required.during, succeeded_during, "while a fault was on")
    since = {operation.kind for operation in succeeded if first is None or operation.invoked_ns >= first}
    yield from _missing(required.since, since, "after the first fault was applied")
    yield from _missing(required.after, after, "after the faults")


def _missing(wanted: tuple[str, ...], seen: set[str], when: str) -> Iterator[str]:
    for kind in wanted:
        if not (seen if kind == ANY else kind in seen):
            yield f"no {'operation' if kind == ANY else kind} succeeded {when}"


def _overlaps(operation: Operation, windows: tuple[Window, ...]) -> bool:
    return any(
        window.start_ns <= operation.invoked_ns
        and (window.end_ns is None or operation.invoked_ns <= window.end_ns)
        for window in windows
    )
