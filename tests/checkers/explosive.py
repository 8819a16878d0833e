"""Histories on which the searches explode: thirty clients, one object, values that repeat."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

from refute.checkers.planted import simulated_objects as objects
from refute.checkers.planted.simulated import Shape
from refute.history import History, Operation, Outcome

CLIENTS = 30


def crowd(kind: str, inputs: list[Any], outputs: list[Any]) -> list[Operation]:
    """Operations that all overlap one another, one a client."""
    return [
        Operation(n, n, kind, None, asked, answered, Outcome.OK, n, 1000 + n)
        for n, (asked, answered) in enumerate(zip(inputs, outputs, strict=True))
    ]


def later(crowd: list[Operation], kind: str, asked: Any, answered: Any) -> list[Operation]:
    """The same, and one operation more after all that is there."""
    time_ns = max(o.completed_ns or 0 for o in crowd) + 10
    last = Operation(len(crowd), 0, kind, None, asked, answered, Outcome.OK, time_ns, time_ns + 5)
    return [*crowd, last]


def walks() -> History:
    """Compare-and-sets over few values: an order is an Eulerian walk, of which none ends where it must."""
    rng = Random(1)
    pairs = [rng.sample(range(6), 2) for _ in range(2 * CLIENTS)]
    start = Operation(0, 99, "write", None, 0, None, Outcome.OK, -2, -1)
    return History(later([start, *crowd("cas", pairs, [True] * len(pairs))], "read", None, 5))


def takes(put: str, take: str) -> History:
    """Everything is put at once, then taken at once, then two more than there are."""
    values = [n % 5 for n in range(CLIENTS)]
    puts = crowd(put, values, [None] * CLIENTS)
    gets = [
        Operation(CLIENTS + n, n, take, None, None, value, Outcome.OK, 3000 + n, 5000 + n)
        for n, value in enumerate(values)
    ]
    lost = [Operation(90, 90, put, None, 77, None, Outcome.OK, 5, 1500)]
    return History(sorted(later([*puts, *lost, *gets], take, None, None), key=lambda o: o.invoked_ns))


def transfers() -> History:
    """Writes of several registers at once, and a read afterwards that mixes what no order leaves together."""
    rng = Random(2)
    steps = [[["w", key, rng.randrange(4)] for key in rng.sample("abcdef", 3)] for _ in range(CLIENTS)]
    seen = [["r", key, rng.randrange(4)] for key in "abcdef"]
    return History(later(crowd("txn", steps, steps), "txn", [[m[0], m[1], None] for m in seen], seen))


def contradictions(writers: int, readers: int) -> History:
    """Blind writers of pairs of registers, and readers of pairs who saw different orders of them."""
    rng = Random(1)
    keys = "abcdefghijklmnop"
    values = iter(range(1, 10_000))
    steps: list[Any] = [[["w", key, next(values)] for key in rng.sample(keys, 2)] for _ in range(writers)]
    written: dict[str, list[int]] = {
        key: [v for step in steps for _, k, v in step if k == key] for key in keys
    }
    steps += [[["r", key, rng.choice(written[key])] for key in rng.sample(keys, 2)] for _ in range(readers)]
    return History(crowd("txn", [[[f, k, v if f == "w" else None] for f, k, v in s] for s in steps], steps))


def halved(value: Any) -> Any:
    """Numbers of which there are two for each."""
    if isinstance(value, list):
        return [halved(one) for one in value]
    return None if value is None else value // 2


def pairs(made: History) -> History:
    """What was made of unique values, as if every value had been there twice."""
    return History([replace(o, input=halved(o.input), output=halved(o.output)) for o in made.operations])


rough = partial(Shape, clients=CLIENTS, info=0.1)
CASES: list[tuple[str, str, Mapping[str, Any], Callable[[], History]]] = [
    ("register, repeated values", "linearizable", {}, walks),
    ("queue, repeated values", "linearizable", {"model": "queue"}, partial(takes, "enqueue", "dequeue")),
    ("stack", "linearizable", {"model": "stack"}, partial(takes, "push", "pop")),
    ("stack, in use", "linearizable", {"model": "stack"},
     lambda: objects.queues(1, rough(operations=2000), order="lifo")),
    ("priority queue, in use", "linearizable", {"model": "priority-queue"},
     lambda: objects.queues(1, rough(operations=2000), order="least")),
    ("multiset, repeated values", "linearizable", {"model": "multiset"},
     lambda: pairs(objects.elements(1, rough(operations=1000)))),
    ("transactions", "linearizable", {"model": "transactions"}, transfers),
    ("sequential, repeated values", "sequential", {},
     lambda: pairs(objects.registers(1, rough(operations=1000)))),
    ("serializable, exact", "serializable-exact", {}, partial(contradictions, 900, 200)),
    ("snapshot isolation, exact", "snapshot-isolation-exact", {}, partial(contradictions, 120, 24)),
]  # fmt: skip
