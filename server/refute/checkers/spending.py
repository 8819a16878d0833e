"""Watches what a check has spent of its budget."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from refute.checkers.result import Budget

_STATM = "/proc/self/statm"
_WEIGH_EVERY_S = 0.001
"""Python takes a MB or two in that time; asking costs some 30 µs."""


def resident_bytes() -> int:
    """What this process holds in memory; on systems without /proc the most that it ever held."""
    try:
        statm = os.open(_STATM, os.O_RDONLY)
        try:
            return int(os.read(statm, 128).split()[1]) * os.sysconf("SC_PAGE_SIZE")
        finally:
            os.close(statm)
    except OSError:
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


class BudgetSpentError(Exception):
    """The time or the memory of a check is used up; the text is the reason of the `unknown` result."""


class Meter:
    """Measures from its making on; `check` raises BudgetSpentError past a limit.

    `clock` tells seconds and `resident` bytes; other ones are for tests.
    """

    def __init__(
        self,
        budget: Budget,
        *,
        clock: Callable[[], float] = time.monotonic,
        resident: Callable[[], int] = resident_bytes,
    ) -> None:
        self.budget = budget
        self._clock, self._resident = clock, resident
        self._started = self._weighed = clock()
        self._held = resident() if budget.memory_limit_bytes is not None else 0

    @property
    def elapsed_s(self) -> float:
        """Seconds since the meter was made."""
        return self._clock() - self._started

    @property
    def left(self) -> Budget:
        """What is left of the time, as a budget."""
        limit = self.budget.time_limit_s
        return Budget(
            None if limit is None else max(0.0, limit - self.elapsed_s),
            self.budget.memory_limit_bytes,
            self.budget.spent_s + self.elapsed_s,
        )

    def check(self) -> None:
        """Raises BudgetSpentError where a limit is passed; about 1 µs, as memory is weighed once a ms."""
        time_limit, memory_limit = self.budget.time_limit_s, self.budget.memory_limit_bytes
        now = self._clock()
        if time_limit is not None and now - self._started > time_limit:
            whole = time_limit + self.budget.spent_s
            raise BudgetSpentError(f"the time limit of {round(whole, 3):g} s is used up")
        if memory_limit is not None and now - self._weighed >= _WEIGH_EVERY_S:
            self._weighed = now
            if self._resident() - self._held > memory_limit:
                raise BudgetSpentError(f"the memory limit of {memory_limit / 1e6:g} MB is used up")
