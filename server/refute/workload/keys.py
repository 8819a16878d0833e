"""Which key the next operation is about: uniform, Zipf or in turn, of fixed keys or a moving window."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

from refute.plan.scenario import Workload


class KeyChoice:
    """Chooses keys for one client, in a way that depends on the seed alone.

    With `writes_per_key` the keys are a window that moves on with the client's own operations: after
    about that many writes, a key is left behind and a fresh one comes in. Short lives keep lists
    short and searches small. The clients move at about the same pace, so their windows overlap.
    """

    def __init__(
        self, workload: Workload, client: int, rng: random.Random, *, writes_per_key: int | None = None
    ) -> None:
        options = workload.options
        self._count = workload.keys
        self._distribution = workload.key_distribution
        self._rng = rng
        self._integers = bool(options.get("integer_keys", False))
        exponent = float(options.get("zipf_exponent", 1.0))
        self._weights = list(itertools.accumulate((rank + 1) ** -exponent for rank in range(self._count)))
        self._next = client
        # One key leaves the window each time the clients together have written `writes_per_key` times.
        self._pace = None if writes_per_key is None else max(1.0, writes_per_key / workload.clients)
        self._written = 0

    def choose(self) -> Any:
        """The key of the next operation."""
        if self._distribution == "sequential":
            place = self._next % self._count
            self._next += 1
        elif self._distribution == "zipf":
            place = self._rng.choices(range(self._count), cum_weights=self._weights)[0]
        else:
            place = self._rng.randrange(self._count)
        if self._pace is not None:
            # Key number n is in use in place n mod count, from the time that the window reaches it.
            first = int(self._written / self._pace)
            place = first + (place - first) % self._count
        return place if self._integers else f"k{place}"

    def wrote(self) -> None:
        """Counts a write, by which the window moves on."""
        self._written += 1

    def all(self) -> Iterator[Any]:
        """Every key, where the keys are fixed."""
        return (place if self._integers else f"k{place}" for place in range(self._count))
