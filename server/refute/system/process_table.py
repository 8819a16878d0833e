"""Processes by name: who runs, in what state, started by whom, and marked by which run.

A process is named by its pid *and* its start time, so that a pid that was given to somebody else is never
signalled.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from refute.system.kernel import KERNEL

_ENDED = ("Z", "X", "")


@dataclass(frozen=True, slots=True)
class ProcessId:
    """One process for all time: `started` is clock ticks since boot on Linux, epoch seconds elsewhere."""

    pid: int
    started: float


def identify(pid: int) -> ProcessId | None:
    """The process that has this pid now; None where there is none."""
    started = KERNEL.started(pid)
    return None if started is None else ProcessId(pid, started)


def state(pid: int) -> str:
    """The state letter of a process: R, S, D, T (stopped), Z (zombie); "" where it is gone."""
    return KERNEL.state(pid)


def at_rest(pid: int) -> bool:
    """Whether no thread of it executes anything of its own: stopped, ended, or waiting uninterruptibly.

    After a SIGSTOP none will either: a thread that waits in the kernel stops before it leaves it.
    """
    return set(KERNEL.thread_states(pid)) <= {"T", "t", "Z", "X", "", "D"}


def is_stopped(pid: int) -> bool:
    """Whether it is stopped as a whole: where it is traced, a stop by a signal shows as `t` at each thread.

    A tracer that holds one thread for itself shows as `t` there too, but the others go on.
    """
    letter = state(pid)
    return letter == "T" or (letter == "t" and set(KERNEL.thread_states(pid)) <= {"T", "t"})


def parent_of(pid: int) -> int | None:
    """The pid of a process's parent; None where the process is gone."""
    return KERNEL.parent(pid)


def is_alive(process: ProcessId) -> bool:
    """Whether exactly this process still runs; a zombie does not."""
    return identify(process.pid) == process and state(process.pid) not in _ENDED


def family(leader: int) -> list[ProcessId]:
    """The living processes of a node: the session that its leader leads, and all that these have started.

    What has left the session, as each backend of PostgreSQL does, is still the child of one that is known.
    Once its parents have ended it is nobody's: ask before they are ended. Zombies are left out.
    O(processes of the machine).
    """
    found, children = list[int](), defaultdict[int, list[int]](list)
    for pid in KERNEL.process_ids():
        parent, session = KERNEL.parent_and_session(pid)
        children[parent].append(pid)
        if session == leader:
            found.append(pid)
    known = set(found)
    for pid in found:  # which grows as it is walked
        started = [child for child in children[pid] if child not in known]
        known.update(started)
        found += started
    living = (identify(pid) for pid in found if state(pid) not in _ENDED)
    return [process for process in living if process is not None]


def processes_with_mark(name: str, value: str) -> list[ProcessId]:
    """The living processes whose environment has `name=value`; how strays of a run are found."""
    wanted = f"{name}={value}".encode()
    found = []
    for pid in KERNEL.process_ids():
        if wanted in KERNEL.environment(pid) and state(pid) not in _ENDED:
            process = identify(pid)
            if process is not None:
                found.append(process)
    return found


def command_name(pid: int) -> str:
    """The short name of a process, or `?`."""
    return KERNEL.command_name(pid)


def boot_id() -> str:
    """What tells this boot of the machine from an earlier one; start times are only comparable within it."""
    return KERNEL.boot_id()
