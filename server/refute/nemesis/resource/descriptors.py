"""How many files and sockets a process may open: lowered, read back, and set back."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from refute.system.process_table import ProcessId, identify, is_alive


def limit_of(pid: int) -> tuple[int, int] | None:
    """Soft and hard limit of a process; None where it is gone or not ours."""
    with suppress(OSError):
        return resource.prlimit(pid, resource.RLIMIT_NOFILE)
    return None


def set_soft_limit(pid: int, soft: int) -> None:
    """The hard limit stays, so that an ordinary user can set it back. Raises OSError."""
    there = limit_of(pid)
    if there is not None:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (min(soft, there[1]), there[1]))


def open_numbers(pid: int) -> set[int]:
    """The descriptors that a process has open."""
    with suppress(OSError):
        return {int(name) for name in os.listdir(Path("/proc") / str(pid) / "fd")}  # noqa: PTH208 (of numbers)
    return set()


def limit_that_spares(taken: set[int], spare: int) -> int:
    """The soft limit below which exactly so many numbers are free: a process is given the lowest free one.

    >>> limit_that_spares({0, 1, 2, 5}, 1), limit_that_spares({0, 1, 2, 5}, 3)
    (4, 7)
    """
    free, limit = 0, 0
    while free < spare:
        free += limit not in taken
        limit += 1
    return limit


def can_still_open(pid: int) -> int | None:
    """How many descriptors a process may still open; None where it is gone."""
    limits = limit_of(pid)
    if limits is None:
        return None
    return limits[0] - sum(number < limits[0] for number in open_numbers(pid))


def handle_of(processes: Iterable[ProcessId], spare: int) -> dict[str, Any]:
    """What each process has and is to have: pid, start, soft limit before, soft limit during."""
    rows = []
    for process in processes:
        limits = limit_of(process.pid)
        if limits is not None:
            lowered = limit_that_spares(open_numbers(process.pid), spare)
            rows.append([process.pid, process.started, limits[0], min(lowered, limits[0])])
    return {"limits": rows}


def restore(handle: Mapping[str, Any]) -> None:
    """Set back the limits of these processes, and of children that inherited them. Raises OSError."""
    for pid, before in _to_restore(handle):
        set_soft_limit(pid, before)


def still_lowered(handle: Mapping[str, Any]) -> str | None:
    """In words; None where every living process has what it had."""
    left = [str(pid) for pid, _ in _to_restore(handle)]
    return f"descriptors are still limited: pid {', '.join(left)}" if left else None


def _to_restore(handle: Mapping[str, Any]) -> list[tuple[int, int]]:
    rows = [(ProcessId(pid, started), before, during) for pid, started, before, during in handle["limits"]]
    found = {}
    for process, before, during in rows:
        if not is_alive(process):
            continue
        limits = limit_of(process.pid)
        if limits is not None and limits[0] != before:
            found[process.pid] = before
        # A child that was started meanwhile has inherited the limit, whatever session it is in.
        for child in _children(process.pid):
            limits = limit_of(child)
            if during < before and limits is not None and limits[0] == during:
                found[child] = before
    return list(found.items())


def _children(pid: int) -> list[int]:
    found = []
    with suppress(OSError):
        for task in (Path("/proc") / str(pid) / "task").iterdir():
            for word in (task / "children").read_text().split():
                if identify(int(word)):
                    found += [int(word), *_children(int(word))]
    return found
