"""What the files of /proc say about one process, on Linux."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
LINUX = sys.platform == "linux" and (PROC / "self" / "stat").exists()
# Columns of /proc/PID/stat behind the name, see proc_pid_stat(5); the state is the first of them.
_STATE, _PARENT, _SESSION, _USER_TICKS, _KERNEL_TICKS, _STARTED = 0, 1, 3, 11, 12, 19
_RAN_NS, _WAITED_NS = 0, 1  # columns of a thread's schedstat


def process_ids() -> Iterator[int]:
    """All processes that run now."""
    for name in os.listdir(PROC):  # noqa: PTH208 (hot path: thousands of entries)
        if name.isdigit():
            yield int(name)


def started(pid: int) -> float | None:
    """When it started, in clock ticks since boot; None where it is gone."""
    columns = _stat(pid)
    return float(columns[_STARTED]) if columns else None


def state(pid: int) -> str:
    """The letter of its state; "" where it is gone."""
    columns = _stat(pid)
    return columns[_STATE] if columns else ""


def thread_states(pid: int) -> list[str]:
    """The letter of each thread; empty where it is gone."""
    return [state(thread) for thread in _threads(pid)]


def parent(pid: int) -> int | None:
    """The pid of its parent; None where it is gone."""
    columns = _stat(pid)
    return int(columns[_PARENT]) if columns else None


def parent_and_session(pid: int) -> tuple[int, int]:
    """Both at once, as all processes are asked; 0 and 0 where it is gone."""
    columns = _stat(pid)
    return (int(columns[_PARENT]), int(columns[_SESSION])) if columns else (0, 0)


def command_name(pid: int) -> str:
    """Its short name; `?` where it is gone."""
    with suppress(OSError):
        return (PROC / str(pid) / "comm").read_text().strip()
    return "?"


def environment(pid: int) -> list[bytes]:
    """The `name=value` that it was started with; empty where it is gone or somebody else's."""
    with suppress(OSError):
        return (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    return []


def cpu_ns(pid: int) -> int | None:
    """CPU time of all its threads in nanoseconds, from the scheduler; None where it is gone."""
    ran_ns = _scheduled_ns(pid, _RAN_NS)
    if ran_ns is not None:
        return ran_ns
    columns = _stat(pid)  # a kernel without schedstat counts in ticks
    tick_ns = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    return (int(columns[_USER_TICKS]) + int(columns[_KERNEL_TICKS])) * tick_ns if columns else None


def cpu_wait_ns(pid: int) -> int | None:
    """Time in nanoseconds for which its threads were ready and had no CPU; None without schedstat."""
    return _scheduled_ns(pid, _WAITED_NS)


def boot_id() -> str:
    """The kernel's own name for this boot."""
    with suppress(OSError):
        return (PROC / "sys/kernel/random/boot_id").read_text().strip()
    import psutil

    return str(int(psutil.boot_time()))


def _stat(pid: int) -> list[str]:
    # Fields from the third on: the second, the name, may hold blanks and parentheses.
    try:
        file = os.open(f"/proc/{pid}/stat", os.O_RDONLY)  # pathlib takes thrice as long, and all are asked
    except OSError:
        return []
    try:
        text = os.read(file, 4096).decode("ascii", "replace")
    except OSError:
        return []
    finally:
        os.close(file)
    return text.rpartition(")")[2].split()


def _threads(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(thread) for thread in os.listdir(PROC / str(pid) / "task")]  # noqa: PTH208
    return []


def _scheduled_ns(pid: int, column: int) -> int | None:
    counted = list[int]()
    for thread in _threads(pid):
        with suppress(OSError):  # the thread has ended since
            schedstat = PROC / str(pid) / "task" / str(thread) / "schedstat"
            counted.append(int(schedstat.read_text().split()[column]))
    return sum(counted) if counted else None
