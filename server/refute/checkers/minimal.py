"""Shrinks a failing set of operations to one from which nothing more can be left out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from refute.checkers.result import Budget

Item = TypeVar("Item")

SHRINK = Budget(time_limit_s=2.0, memory_limit_bytes=None)
"""For making a proof smaller when the answer is known: a person waits, and a longer proof proves as much."""


def minimise(
    items: Sequence[Item],
    still_fails: Callable[[Sequence[Item]], bool],
    budget: Budget | None = None,
    *,
    max_tests: int = 2000,
) -> tuple[Item, ...]:
    """A subsequence that still fails, 1-minimal unless the budget ends first; the order is kept.

    `still_fails` must be a sound test: it answers True only where the subsequence by itself proves
    the violation. `items` are taken to fail. At most `max_tests` tests and `budget.time_limit_s`
    seconds (the best so far is returned); O(n^2) tests in the worst case, O(log n) where one
    operation is to blame. Zeller and Hildebrandt, 2002, "Simplifying and Isolating Failure-Inducing
    Input" (ddmin).

    >>> minimise(list(range(100)), lambda some: {17, 42} <= set(some))
    (17, 42)
    """
    deadline = None
    if budget is not None and budget.time_limit_s is not None:
        deadline = time.monotonic() + budget.time_limit_s
    kept = list(items)
    parts, tests = 2, 0
    while len(kept) > 1:
        size = -(-len(kept) // parts)
        for low in range(0, len(kept), size):
            if tests >= max_tests or (deadline is not None and time.monotonic() > deadline):
                return tuple(kept)
            tests += 1
            rest = kept[:low] + kept[low + size :]
            if rest and still_fails(rest):
                kept, parts = rest, max(parts - 1, 2)
                break
        else:
            if size == 1:
                break
            parts = min(parts * 2, len(kept))
    return tuple(kept)
