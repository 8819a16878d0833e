"""The endless patterns of requests that generators are made of."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

from refute.plan.scenario import Workload
from refute.workload.error import WorkloadError
from refute.workload.keys import KeyChoice
from refute.workload.request import Request


class Source:
    """What every pattern draws from: random numbers, keys, values, kinds.

    The same for the same workload, client and seed; unique values start above `first_value` and are
    unique among all clients of the workload. `mix` has the kinds with their weights, and a key is left
    behind after about `writes_per_key` writes.
    """

    def __init__(
        self,
        workload: Workload,
        client: int,
        seed: int,
        first_value: int,
        *,
        mix: Mapping[str, float],
        writes_per_key: int | None,
    ) -> None:
        self.workload = workload
        self.client = client
        self.rng = random.Random(f"{seed}/{client}")
        self.options = workload.options
        self.keys = KeyChoice(workload, client, self.rng, writes_per_key=writes_per_key)
        self.mix = mix
        self._kinds = list(mix)
        self._weights = list(mix.values())
        self._next_value = first_value + client + 1
        self._small = int(workload.options.get("small_values", 5))

    def kind(self) -> str:
        """The kind of the next request."""
        return self.rng.choices(self._kinds, self._weights)[0]

    def value(self) -> int:
        """The next value: unique among all clients, or one of a few."""
        if self.workload.values == "small":
            return self.rng.randrange(self._small)
        return self.unique()

    def unique(self) -> int:
        """The next value that no other client has."""
        value = self._next_value
        self._next_value += self.workload.clients
        return value

    def write(self, kind: str, value: Any) -> Request:
        """A write of the next key, which counts as written."""
        key = self.keys.choose()
        self.keys.wrote()
        return Request(kind, key, value)


def register(source: Source) -> Iterator[Request]:
    """Reads, writes and compare-and-sets of registers."""
    while True:
        kind = source.kind()
        if kind == "read":
            yield Request("read", source.keys.choose())
        elif kind == "cas":
            # The old value is one that some write may have left: a small one, or one of its own.
            new = source.value()
            yield source.write("cas", [_guess(source, new), new])
        else:
            yield source.write(kind, source.value())


def _guess(source: Source, new: int) -> int:
    if source.workload.values == "small":
        return source.value()
    clients = source.workload.clients
    back = source.rng.randint(1, 3 * clients)
    return max(1, new - back)


def kv(source: Source) -> Iterator[Request]:
    """Gets, puts, deletes, appends and compare-and-sets of a map."""
    # Appending makes strings longer, so that with it in the mix every value is a string.
    strings = source.mix.get("append", 0) > 0
    while True:
        kind = source.kind()
        if kind == "get":
            yield Request("get", source.keys.choose())
        elif kind == "delete":
            yield source.write("delete", None)
        elif kind == "cas":
            new = source.value()
            old = _guess(source, new)
            yield source.write("cas", [f"{old};", f"{new};"] if strings else [old, new])
        else:
            value = source.value()
            yield source.write(kind, f"{value};" if strings else value)


def elements(source: Source) -> Iterator[Request]:
    """Reads without input, everything else with an element of its own."""
    while True:
        kind = source.kind()
        if kind in ("read", "dequeue"):
            yield Request(kind, source.keys.choose())
        else:
            yield source.write(kind, source.unique())


def counter(source: Source) -> Iterator[Request]:
    """Adds to counters, and reads."""
    largest = int(source.options.get("largest_increment", 5))
    while True:
        if source.kind() == "read":
            yield Request("read", source.keys.choose())
        else:
            yield source.write("add", source.rng.randint(1, largest))


def unique_ids(source: Source) -> Iterator[Request]:
    """Asks for identifiers."""
    while True:
        yield Request(source.kind())


def bank(source: Source) -> Iterator[Request]:
    """Transfers between two accounts, and reads of all. Raises WorkloadError for fewer than two."""
    accounts = list(source.keys.all())
    if len(accounts) < 2:
        raise WorkloadError("a bank needs at least two accounts", hint="write keys: 5")
    largest = int(source.options.get("largest_transfer", 5))
    while True:
        if source.kind() == "read":
            yield Request("read")
        else:
            payer, payee = source.rng.sample(accounts, 2)
            yield Request(
                "transfer", None, {"from": payer, "to": payee, "amount": source.rng.randint(1, largest)}
            )


def transactions(source: Source) -> Iterator[Request]:
    """Transactions of several micro-operations. Raises WorkloadError for lengths that there are not."""
    shortest = int(source.options.get("shortest_transaction", 1))
    longest = int(source.options.get("longest_transaction", 4))
    if not 1 <= shortest <= longest:
        raise WorkloadError(f"transactions cannot have {shortest} to {longest} operations")
    while True:
        steps: list[list[Any]] = []
        for _ in range(source.rng.randint(shortest, longest)):
            kind, key = source.kind(), source.keys.choose()
            if kind == "r":
                steps.append(["r", key, None])
            else:
                source.keys.wrote()
                steps.append([kind, key, source.unique()])
        yield Request("txn", None, steps)


def lock(source: Source) -> Iterator[Request]:
    """Acquires a lock, and releases it where it was acquired."""
    while True:
        key = source.keys.choose()
        yield Request("acquire", key)
        yield Request("release", key, only_after_ok="acquire")
