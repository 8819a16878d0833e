"""Undo verbs of processes: continue those that are stopped, end those that nobody owns any more."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress

from refute.nemesis.undo import Handle, UndoVerb
from refute.system.process_table import ProcessId, family, is_alive, is_stopped, state

_GRACE_S = 2.0
_SEEN_WITHIN_S = 0.5


def handle_of(leader: ProcessId, members: list[ProcessId]) -> Handle:
    """The exact handle of a node: its leader and what it has started, by pid and start time."""
    return {
        "leader": [leader.pid, leader.started],
        "members": [[each.pid, each.started] for each in members],
    }


def _processes(handle: Handle) -> list[ProcessId]:
    leader = ProcessId(*handle["leader"])
    known = [leader, *(ProcessId(*each) for each in handle["members"])]
    if is_alive(leader):  # whoever joined its family since belongs to it
        known += family(leader.pid)
    return [process for process in dict.fromkeys(known) if is_alive(process)]


def _send(processes: Iterable[ProcessId], number: signal.Signals) -> None:
    for process in processes:
        if is_alive(process):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, number)


def _continue(handle: Handle) -> None:
    _send(_processes(handle), signal.SIGCONT)


def _still_stopped(handle: Handle) -> str | None:
    # A process leaves the stopped state a moment after the signal.
    deadline = time.monotonic() + _SEEN_WITHIN_S
    while stopped := [p.pid for p in _processes(handle) if is_stopped(p.pid)]:
        if time.monotonic() > deadline:
            left = [pid for pid in stopped if not _only_its_tracer_holds(pid)]
            return f"still stopped: pid {', '.join(map(str, left))}" if left else None
        time.sleep(0.005)
    return None


def _only_its_tracer_holds(pid: int) -> bool:
    # A stop by a signal is over when the call that sends SIGCONT returns. One that shows `t` beyond that is
    # held by its tracer, as by a strace that delays a call of it for longer than we look.
    if state(pid) != "t":
        return False
    try:
        os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return True


def _end(handle: Handle) -> None:
    reached = _processes(handle)  # before the leader ends: what it has started is found by it
    _send(reached, signal.SIGTERM)
    _send(reached, signal.SIGCONT)
    deadline = time.monotonic() + _GRACE_S
    while any(map(is_alive, reached)) and time.monotonic() < deadline:
        time.sleep(0.02)
    _send({*reached, *_processes(handle)}, signal.SIGKILL)


def _still_alive(handle: Handle) -> str | None:
    deadline = time.monotonic() + _SEEN_WITHIN_S
    while alive := [process.pid for process in _processes(handle)]:
        if time.monotonic() > deadline:
            return f"still running: pid {', '.join(map(str, alive))}"
        time.sleep(0.005)
    return None


VERBS = {"continue": UndoVerb(_continue, _still_stopped), "end": UndoVerb(_end, _still_alive)}
