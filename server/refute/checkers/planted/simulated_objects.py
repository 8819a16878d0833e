"""The true objects that correct histories are simulated against: registers, collections, counters, queues."""

from __future__ import annotations

import itertools
from dataclasses import replace
from random import Random
from typing import Any

from refute.checkers.planted.simulated import USUAL, Client, Request, Shape, home, simulate
from refute.history import History


def registers(
    seed: int, shape: Shape = USUAL, *, keys: int = 3, compare: float = 0.0, deletes: float = 0.0
) -> History:
    """Reads, unique writes and (with `compare`) compare-and-sets of a few keys."""
    values = itertools.count(1)
    last: dict[str, int] = {}

    def choose(client: Client, rng: Random) -> Request:
        key = f"k{rng.randrange(keys)}"
        fate = rng.random()
        if fate < compare:
            return "cas", key, [last.get(key), next(values)], {}
        if fate < compare + deletes:
            return "delete", key, None, {}
        if fate < 0.55:
            return "read", key, None, {}
        return "write", key, next(values), {}

    def apply(state: dict[str, Any], client: Client, request: Request) -> tuple[bool, Any]:
        kind, key, value, _ = request
        if kind == "read":
            return True, state.get(key)
        if kind == "cas":
            if state.get(key) != value[0]:
                return False, None
            value = value[1]
        state[key] = value
        last[key] = value
        return True, None

    return simulate(
        {}, choose, apply, lambda _: [("read", f"k{n}", None, {}) for n in range(keys)], shape, seed
    )


def elements(seed: int, shape: Shape = USUAL, *, kind: str = "add", key: Any = None) -> History:
    """Unique elements added to a set or appended to a list that is read whole."""
    values = itertools.count(1)

    def choose(client: Client, rng: Random) -> Request:
        return ("read", key, None, {}) if rng.random() < 0.3 else (kind, key, next(values), {})

    def apply(state: list[Any], client: Client, request: Request) -> tuple[bool, Any]:
        if request[0] == "read":
            return True, list(state)
        state.append(request[2])
        return True, None

    return simulate([], choose, apply, lambda _: [("read", key, None, {})], shape, seed)


def counters(
    seed: int, shape: Shape = USUAL, *, keys: int = 2, retries: float = 0.3, most: int = 5
) -> History:
    """Counters that are added to; with `retries`, by idempotency keys of which some are sent again."""
    names = itertools.count(1)
    open_requests: list[tuple[Any, int, str]] = []

    def choose(client: Client, rng: Random) -> Request:
        if rng.random() < 0.3:
            return "read", f"c{rng.randrange(keys)}", None, {}
        if open_requests and rng.random() < retries:
            key, amount, name = rng.choice(open_requests)
        else:
            key, amount, name = f"c{rng.randrange(keys)}", rng.randint(1, most), f"r{next(names)}"
            open_requests.append((key, amount, name))
            del open_requests[:-10]
        return "add", key, amount, {"idempotency_key": name} if retries else {}

    def apply(state: dict[Any, Any], client: Client, request: Request) -> tuple[bool, Any]:
        kind, key, amount, extra = request
        if kind == "read":
            return True, state.get(key, 0)
        name = extra.get("idempotency_key")
        if name is None or name not in state["done"]:
            state[key] = state.get(key, 0) + amount
            state["done"].add(name)
        return True, None

    final: list[Request] = [("read", f"c{n}", None, {}) for n in range(keys)]
    return simulate({"done": set()}, choose, apply, lambda _: final, shape, seed)


def queues(seed: int, shape: Shape = USUAL, *, order: str = "fifo") -> History:
    """Unique elements through a queue (`fifo`), a stack (`lifo`) or a priority queue (`least`)."""
    values = itertools.count(1)
    put, take = ("push", "pop") if order == "lifo" else ("enqueue", "dequeue")

    def choose(client: Client, rng: Random) -> Request:
        return (take, None, None, {}) if rng.random() < 0.45 else (put, None, next(values), {})

    def apply(state: list[Any], client: Client, request: Request) -> tuple[bool, Any]:
        if request[0] == put:
            state.append(request[2])
            return True, None
        if not state:
            return True, None
        if order == "least":
            state.sort()
        return True, state.pop() if order == "lifo" else state.pop(0)

    def final(state: list[Any]) -> list[Request]:
        return [(take, None, None, {})] * (len(state) + 1)

    return simulate([], choose, apply, final, shape, seed, final_nodes=False)


def replicas(
    seed: int, shape: Shape = USUAL, *, keys: int = 3, lag: int = 6, numbered: bool = False
) -> History:
    """Registers on nodes that each apply one log of writes, late; every process keeps to its node.

    A write is acknowledged when the node that took it has applied it. All session guarantees hold,
    linearizability does not. With `numbered`, answers carry the version in `extra.version`.
    """
    values = itertools.count(1)

    def choose(client: Client, rng: Random) -> Request:
        key = f"k{rng.randrange(keys)}"
        return ("read", key, None, {}) if rng.random() < 0.6 else ("write", key, next(values), {})

    def apply(state: dict[str, Any], client: Client, request: Request) -> tuple[bool, Any]:
        kind, key, value, extra = request
        log, node = state["log"], home(client, shape)
        if kind == "write":
            log.append((key, value))
            state[node] = len(log)
            extra["version"] = len(log)
            return True, None
        behind = 0 if client.number < 0 else (7 * len(log) + client.process) % lag
        state[node] = max(state.get(node, 0), len(log) - behind)
        seen = [(n, v) for n, (k, v) in enumerate(log[: state[node]], 1) if k == key]
        number, found = seen[-1] if seen else (0, None)
        extra["version"] = number
        return True, found

    final: list[Request] = [("read", f"k{n}", None, {}) for n in range(keys)]
    history = simulate({"log": []}, choose, apply, lambda _: final, shape, seed, sticky=True)
    if numbered:
        return history
    return replace(history, operations=[replace(o, extra={}) for o in history.operations])
