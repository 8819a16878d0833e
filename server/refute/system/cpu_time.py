"""How long processes have had a CPU, and how long they had to wait for one."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from refute.system.kernel import KERNEL


def cpu_ns(pids: Iterable[int]) -> int | None:
    """CPU time that these processes have used, all threads, in nanoseconds; None where none of them is left.

    On Linux from the scheduler's own counters, which are exact; elsewhere in ticks of 10 ms.
    """
    return _sum_of_known(KERNEL.cpu_ns, pids)


def cpu_wait_ns(pids: Iterable[int]) -> int | None:
    """Time for which threads of these processes were ready and had no CPU, in nanoseconds.

    None where none is left, or the kernel does not say (only Linux with schedstat does).
    """
    return _sum_of_known(KERNEL.cpu_wait_ns, pids)


def _sum_of_known(ask: Callable[[int], int | None], pids: Iterable[int]) -> int | None:
    known = [time_ns for time_ns in map(ask, pids) if time_ns is not None]
    return sum(known) if known else None
