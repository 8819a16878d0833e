"""The budget of one check as it is spent: a deadline, a ceiling on memory, and what is left."""

from __future__ import annotations

import os
import time
from pathlib import Path

from refute.checkers.result import Budget

_STATM = Path("/proc/self/statm")


class BudgetSpentError(Exception):
    """A limit was reached; the text is the reason that the result gives."""


def _resident_bytes() -> int:
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        import psutil

        return int(psutil.Process().memory_info().rss)


class Meter:
    """Started with the check; `check()` raises BudgetSpentError past either limit."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._started_s = time.monotonic()
        self._resident_bytes = _resident_bytes() if budget.memory_limit_bytes is not None else 0

    @property
    def spent_s(self) -> float:
        """Seconds since the check began."""
        return time.monotonic() - self._started_s

    @property
    def left_s(self) -> float:
        """Seconds until the deadline; infinite where there is none."""
        limit = self._budget.time_limit_s
        return float("inf") if limit is None else limit - self.spent_s

    def check(self) -> None:
        """Raises BudgetSpentError where the time is over or the check has taken too much memory."""
        if self.left_s <= 0:
            raise BudgetSpentError(f"time limit of {self._budget.time_limit_s:g} s reached")
        limit = self._budget.memory_limit_bytes
        if limit is not None and _resident_bytes() - self._resident_bytes > limit:
            raise BudgetSpentError(f"memory limit of {limit:,} bytes reached")
