"""Generators: endless, seeded sequences of requests, one a client, by the name that a plan gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain

from refute.plan.scenario import Workload
from refute.workload import patterns
from refute.workload.error import WorkloadError
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
    make: Callable[[patterns.Source], Iterator[Request]]
    transactional: bool = False
    options: Mapping[str, str] | None = None

    @property
    def writes_per_key(self) -> int | None:
        """Writes after which a key is left behind if the plan does not say: lists would grow for ever."""
        return 64 if self.transactional else None


_TRANSACTION_OPTIONS = {
    "shortest_transaction": "fewest micro-operations (1)",
    "longest_transaction": "most micro-operations (4)",
}

GENERATORS: Mapping[str, Generator] = {
    row.name: row
    for row in (
        Generator("register", "reads and writes of registers", {"read": 1, "write": 1}, patterns.register),
        Generator(
            "cas-register",
            "reads, writes and compare-and-set ([old, new]) of registers",
            {"read": 2, "write": 1, "cas": 1},
            patterns.register,
        ),
        Generator(
            "kv",
            "get, put, delete, append (strings) and cas of a map",
            {"get": 4, "put": 3, "delete": 1, "append": 0, "cas": 0},
            patterns.kv,
        ),
        Generator(
            "append",
            "appends to lists, and reads of whole lists",
            {"append": 1, "read": 1},
            patterns.elements,
        ),
        Generator("set", "adds to sets, and reads of whole sets", {"add": 4, "read": 1}, patterns.elements),
        Generator(
            "counter",
            "adds to counters, and reads",
            {"add": 1, "read": 1},
            patterns.counter,
            options={"largest_increment": "what is added at most (5)"},
        ),
        Generator(
            "queue",
            "enqueues of unique elements, and dequeues",
            {"enqueue": 1, "dequeue": 1},
            patterns.elements,
        ),
        Generator(
            "unique-ids", "asks for identifiers that must be unique", {"generate": 1}, patterns.unique_ids
        ),
        Generator(
            "bank",
            "transfers between accounts, and reads of all balances at once",
            {"transfer": 1, "read": 1},
            patterns.bank,
            options={"largest_transfer": "what is moved at most (5)"},
        ),
        Generator(
            "list-append",
            "transactions that read and append to lists",
            {"r": 1, "append": 1},
            patterns.transactions,
            True,
            _TRANSACTION_OPTIONS,
        ),
        Generator(
            "rw-register",
            "transactions that read and write registers, each value written once",
            {"r": 1, "w": 1},
            patterns.transactions,
            True,
            _TRANSACTION_OPTIONS,
        ),
        Generator(
            "lock",
            "acquires a lock, and releases it where it was acquired",
            {"acquire": 1, "release": 1},
            patterns.lock,
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
        requests = generator.make(
            patterns.Source(
                workload,
                client,
                seed,
                first_value,
                mix=mix_of(workload),
                writes_per_key=workload.options.get("writes_per_key", generator.writes_per_key),
            )
        )
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
