"""Generators: endless, seeded sequences of requests, one a client, by the name that a plan gives."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from refute.plan.scenario import Workload
from refute.workload.error import WorkloadError
from refute.workload.keys import KeyChoice
from refute.workload.request import Request

READS = frozenset({"read", "get", "r"})
COMMON_OPTIONS = {
    "integer_keys": "keys are 0, 1, 2 instead of k0, k1, k2",
    "zipf_exponent": "how steep key_distribution: zipf is (1.0)",
    "writes_per_key": "leave a key behind after about that many writes",
    "small_values": "how many values there are with values: small (5)",
    "idempotency_keys": "every write carries extra.idempotency_key",
    "retry_unknown": "send a write of unknown outcome again, with its key: true (3 times), or a number",
}


@dataclass(frozen=True, slots=True)
class Generator:
    """One row of the table: what it generates, its kinds with their usual weights, its options."""

    name: str
    summary: str
    mix: Mapping[str, float]
    make: Callable[[_Source], Iterator[Request]]
    transactional: bool = False
    options: Mapping[str, str] | None = None


class _Source:
    """What every generator draws from: random numbers, keys, values, kinds."""

    def __init__(
        self, generator: Generator, workload: Workload, client: int, seed: int, first_value: int
    ) -> None:
        self.workload = workload
        self.client = client
        self.rng = random.Random(f"{seed}/{client}")
        self.options = workload.options
        per_key = workload.options.get("writes_per_key", 64 if generator.transactional else None)
        self.keys = KeyChoice(workload, client, self.rng, writes_per_key=per_key)
        self.mix = mix_of(workload)
        self._kinds = list(self.mix)
        self._weights = list(self.mix.values())
        self._next_value = first_value + client + 1
        self._small = int(workload.options.get("small_values", 5))

    def kind(self) -> str:
        return self.rng.choices(self._kinds, self._weights)[0]

    def value(self) -> int:
        """The next value: unique among all clients, or one of a few."""
        if self.workload.values == "small":
            return self.rng.randrange(self._small)
        value = self._next_value
        self._next_value += self.workload.clients
        return value

    def unique(self) -> int:
        value = self._next_value
        self._next_value += self.workload.clients
        return value

    def write(self, kind: str, value: Any) -> Request:
        key = self.keys.choose()
        self.keys.wrote()
        return Request(kind, key, value)


def _register(source: _Source) -> Iterator[Request]:
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


def _guess(source: _Source, new: int) -> int:
    if source.workload.values == "small":
        return source.value()
    clients = source.workload.clients
    back = source.rng.randint(1, 3 * clients)
    return max(1, new - back)


def _kv(source: _Source) -> Iterator[Request]:
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


def _elements(source: _Source) -> Iterator[Request]:
    """Reads without input, everything else with an element of its own."""
    while True:
        kind = source.kind()
        if kind in ("read", "dequeue"):
            yield Request(kind, source.keys.choose())
        else:
            yield source.write(kind, source.unique())


def _counter(source: _Source) -> Iterator[Request]:
    largest = int(source.options.get("largest_increment", 5))
    while True:
        if source.kind() == "read":
            yield Request("read", source.keys.choose())
        else:
            yield source.write("add", source.rng.randint(1, largest))


def _unique_ids(source: _Source) -> Iterator[Request]:
    while True:
        yield Request(source.kind())


def _bank(source: _Source) -> Iterator[Request]:
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


def _transactions(source: _Source) -> Iterator[Request]:
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


def _lock(source: _Source) -> Iterator[Request]:
    while True:
        key = source.keys.choose()
        yield Request("acquire", key)
        yield Request("release", key, only_after_ok="acquire")


_TRANSACTION_OPTIONS = {
    "shortest_transaction": "fewest micro-operations (1)",
    "longest_transaction": "most micro-operations (4)",
}

GENERATORS: Mapping[str, Generator] = {
    row.name: row
    for row in (
        Generator("register", "reads and writes of registers", {"read": 1, "write": 1}, _register),
        Generator(
            "cas-register",
            "reads, writes and compare-and-set ([old, new]) of registers",
            {"read": 2, "write": 1, "cas": 1},
            _register,
        ),
        Generator(
            "kv",
            "get, put, delete, append (strings) and cas of a map",
            {"get": 4, "put": 3, "delete": 1, "append": 0, "cas": 0},
            _kv,
        ),
        Generator(
            "append", "appends to lists, and reads of whole lists", {"append": 1, "read": 1}, _elements
        ),
        Generator("set", "adds to sets, and reads of whole sets", {"add": 4, "read": 1}, _elements),
        Generator(
            "counter",
            "adds to counters, and reads",
            {"add": 1, "read": 1},
            _counter,
            options={"largest_increment": "what is added at most (5)"},
        ),
        Generator(
            "queue", "enqueues of unique elements, and dequeues", {"enqueue": 1, "dequeue": 1}, _elements
        ),
        Generator("unique-ids", "asks for identifiers that must be unique", {"generate": 1}, _unique_ids),
        Generator(
            "bank",
            "transfers between accounts, and reads of all balances at once",
            {"transfer": 1, "read": 1},
            _bank,
            options={"largest_transfer": "what is moved at most (5)"},
        ),
        Generator(
            "list-append",
            "transactions that read and append to lists",
            {"r": 1, "append": 1},
            _transactions,
            True,
            _TRANSACTION_OPTIONS,
        ),
        Generator(
            "rw-register",
            "transactions that read and write registers, each value written once",
            {"r": 1, "w": 1},
            _transactions,
            True,
            _TRANSACTION_OPTIONS,
        ),
        Generator(
            "lock",
            "acquires a lock, and releases it where it was acquired",
            {"acquire": 1, "release": 1},
            _lock,
        ),
    )
}


def generator_named(name: str) -> Generator:
    """The row of that name. Raises WorkloadError with the names that there are."""
    if name not in GENERATORS:
        raise WorkloadError(
            f"there is no generator {name!r}", hint=f"there are: {', '.join(sorted(GENERATORS))}"
        )
    return GENERATORS[name]


def mix_of(workload: Workload) -> dict[str, float]:
    """The kinds that are generated with their weights: those of the plan, else the generator's usual ones.

    For transactions these are the kinds of micro-operation. Raises WorkloadError for a kind that the
    generator does not make, a negative weight, or nothing left to generate.
    """
    generator = generator_named(workload.generator)
    for kind, weight in workload.mix.items():
        if kind not in generator.mix:
            raise WorkloadError(
                f"generator {generator.name} makes no {kind!r}", hint=f"it makes: {', '.join(generator.mix)}"
            )
        if not 0 <= weight < float("inf"):
            raise WorkloadError(f"the weight of {kind} must be zero or more, not {weight}")
    mix = {kind: weight for kind, weight in (workload.mix or generator.mix).items() if weight > 0}
    if not mix:
        raise WorkloadError(f"the mix of generator {generator.name} leaves nothing to generate")
    return mix


def kinds_of(workload: Workload) -> tuple[str, ...]:
    """The kinds of operation that a client is asked for: `("txn",)` for transactions."""
    return ("txn",) if generator_named(workload.generator).transactional else tuple(mix_of(workload))


def generate(workload: Workload, *, client: int, seed: int, first_value: int = 0) -> Iterator[Request]:
    """The endless requests of one client: the same for the same workload, client and seed.

    Unique values start above `first_value` and are unique among all clients of the workload. Fields
    of `workload.extra` go with each request; where one is a list, its items go to the clients in
    turn. Raises WorkloadError for an unknown generator, kind or option.
    """
    generator = generator_named(workload.generator)
    known = COMMON_OPTIONS | dict(generator.options or {})
    for option in workload.options:
        if option not in known:
            raise WorkloadError(
                f"generator {generator.name} takes no option {option!r}", hint=f"it takes: {', '.join(known)}"
            )
    try:
        requests = generator.make(_Source(generator, workload, client, seed, first_value))
        first = next(requests)  # what is wrong with the options is found here, not in the middle of a run
    except (TypeError, ValueError) as error:
        raise WorkloadError(
            f"an option of generator {generator.name} is of the wrong type: {error}"
        ) from None
    return _with_extra(chain([first], requests), workload, client, f"s{seed}v{first_value}c{client}")


def _with_extra(
    requests: Iterator[Request], workload: Workload, client: int, prefix: str
) -> Iterator[Request]:
    fixed = {
        name: value[client % len(value)] if isinstance(value, list | tuple) and value else value
        for name, value in workload.extra.items()
    }
    keyed = bool(workload.options.get("idempotency_keys") or workload.options.get("retry_unknown"))
    for number, request in enumerate(requests):
        extra = fixed
        if keyed and request.kind not in READS:
            extra = {**fixed, "idempotency_key": f"{prefix}n{number}"}
        yield replace(request, extra=extra) if extra else request
