"""What psutil says about one process, for macOS and whatever else has no /proc."""

from __future__ import annotations

import os
from contextlib import suppress

import psutil

_LETTERS = {"running": "R", "sleeping": "S", "disk-sleep": "D", "stopped": "T", "zombie": "Z", "idle": "S"}


def process_ids() -> list[int]:
    """All processes that run now."""
    return psutil.pids()


def started(pid: int) -> float | None:
    """When it started, in seconds since the epoch; None where it is gone."""
    with suppress(psutil.Error):
        return psutil.Process(pid).create_time()
    return None


def state(pid: int) -> str:
    """The letter of its state; "" where it is gone."""
    with suppress(psutil.Error):
        return _LETTERS.get(psutil.Process(pid).status(), "S")
    return ""


def thread_states(pid: int) -> list[str]:
    """The letter of the whole process, as psutil tells none of a thread."""
    return [state(pid)]


def parent(pid: int) -> int | None:
    """The pid of its parent; None where it is gone."""
    with suppress(psutil.Error):
        return psutil.Process(pid).ppid()
    return None


def parent_and_session(pid: int) -> tuple[int, int]:
    """Both at once; 0 and 0 where it is gone, or we may not see it."""
    with suppress(OSError):
        return parent(pid) or 0, os.getsid(pid)
    return 0, 0


def command_name(pid: int) -> str:
    """Its short name; `?` where it is gone."""
    with suppress(psutil.Error):
        return psutil.Process(pid).name()
    return "?"


def environment(pid: int) -> list[bytes]:
    """The `name=value` that it was started with; empty where it is gone or somebody else's."""
    with suppress(psutil.Error, OSError):
        return [f"{name}={value}".encode() for name, value in psutil.Process(pid).environ().items()]
    return []


def cpu_ns(pid: int) -> int | None:
    """CPU time of all its threads in nanoseconds, to 10 ms; None where it is gone."""
    with suppress(psutil.Error):
        times = psutil.Process(pid).cpu_times()
        return int((times.user + times.system) * 1e9)
    return None


def cpu_wait_ns(pid: int) -> int | None:  # noqa: ARG001
    """None: only Linux tells how long a thread was ready and had no CPU."""
    return None


def boot_id() -> str:
    """When this boot began, in whole seconds since the epoch."""
    return str(int(psutil.boot_time()))
