"""Correct histories of services: locks, ids, banks, logs with consumers, feeds, tenants, groups."""

from __future__ import annotations

import itertools
from dataclasses import replace
from random import Random
from typing import Any

from refute.checkers.planted.simulated import USUAL, Client, Request, Shape, simulate
from refute.history import History


def locks(seed: int, shape: Shape = USUAL, *, expires: bool = False, writes: bool = True) -> History:
    """A lock with fencing tokens and, with `writes`, a register behind it that only holders write.

    A holder that timed out is gone, and its lock is free; an acquire of unknown outcome never took
    effect, a release of unknown outcome did at the latest when the next one acquired. With `expires`
    the lock is also taken from a living holder now and then; the register then refuses its older token.
    """
    values, attempts = itertools.count(1), itertools.count(1)

    def choose(client: Client, rng: Random) -> Request:
        if "token" not in client.memory:
            return "acquire", "lock", None, {}
        if rng.random() < 0.4 or not writes:
            return "release", "lock", None, {"token": client.memory["token"]}
        return "write", "lock", next(values), {"token": client.memory["token"]}

    def apply(state: dict[str, Any], client: Client, request: Request) -> tuple[bool, Any]:
        kind, _, _, extra = request
        holder, process = state["holder"]
        if kind == "acquire":
            alive = holder is not None and holder.process == process
            if client.gone or (alive and not (expires and next(attempts) % 4 == 0)):
                return False, None
            state["token"] += 1
            state["holder"] = (client, client.process)
            client.memory["token"] = state["token"]
            return True, state["token"]
        if kind == "release":
            client.memory.pop("token", None)
            if process == client.process:
                state["holder"] = (None, None)
            return True, None
        if extra["token"] < state["seen"]:
            client.memory.pop("token", None)
            return False, None
        state["seen"] = extra["token"]
        return True, None

    state = {"holder": (None, None), "token": 0, "seen": 0}
    return simulate(state, choose, apply, lambda _: [], shape, seed)


def identifiers(seed: int, shape: Shape = USUAL) -> History:
    """Requests for ids that are given out in order."""
    given = itertools.count(1000)

    def choose(client: Client, rng: Random) -> Request:
        return "generate", None, None, {}

    def apply(state: None, client: Client, request: Request) -> tuple[bool, Any]:
        return True, next(given)

    return simulate(None, choose, apply, lambda _: [], shape, seed)


def banks(seed: int, shape: Shape = USUAL, *, accounts: int = 5) -> History:
    """Transfers between accounts of ten each, and reads of all balances."""

    def choose(client: Client, rng: Random) -> Request:
        if rng.random() < 0.5:
            return "read", None, None, {}
        source, target = rng.sample(range(accounts), 2)
        return "transfer", None, {"from": source, "to": target, "amount": rng.randint(1, 5)}, {}

    def apply(state: dict[int, int], client: Client, request: Request) -> tuple[bool, Any]:
        if request[0] == "read":
            return True, dict(state)
        wish = request[2]
        if state[wish["from"]] < wish["amount"]:
            return False, None
        state[wish["from"]] -= wish["amount"]
        state[wish["to"]] += wish["amount"]
        return True, None

    state = dict.fromkeys(range(accounts), 10)
    return simulate(state, choose, apply, lambda _: [("read", None, None, {})], shape, seed)


def forks(seed: int, shape: Shape = USUAL, *, keys: int = 3) -> History:
    """Groups of keys that are each written once and read together."""
    unwritten: list[int] = []
    group = itertools.count()

    def choose(client: Client, rng: Random) -> Request:
        if not unwritten:
            base = next(group) * keys
            unwritten.extend(rng.sample(range(base, base + keys), keys))
        base = unwritten[-1] // keys * keys
        if rng.random() < 0.25:
            return "txn", None, [["w", unwritten.pop(), 1]], {}
        return "txn", None, [["r", key, None] for key in range(base, base + keys)], {}

    def apply(state: dict[int, int], client: Client, request: Request) -> tuple[bool, Any]:
        answer = []
        for function, key, value in request[2]:
            if function == "w":
                state[key] = value
            answer.append([function, key, state.get(key) if function == "r" else value])
        return True, answer

    return simulate({}, choose, apply, lambda _: [], shape, seed)


def logs(seed: int, shape: Shape = USUAL, *, partitions: int = 3, offsets: bool = True) -> History:
    """Producers and consumers of partitioned logs; each process polls its partitions from where it was.

    With `offsets` polls return `[offset, value]` pairs by partition, otherwise values of one partition.
    """
    values = itertools.count(1)

    def choose(client: Client, rng: Random) -> Request:
        partition = rng.randrange(partitions)
        if rng.random() < 0.5:
            return "send", partition, next(values), {}
        return "poll", None if offsets else partition, None, {}

    def apply(state: dict[int, list[int]], client: Client, request: Request) -> tuple[bool, Any]:
        kind, key, value, _ = request
        memory: dict[Any, int] = client.memory
        if kind == "send":
            log = state.setdefault(key, [])
            log.append(value)
            return True, len(log) - 1 if offsets else None
        found: dict[int, list[Any]] = {}
        for partition in state if key is None else [key]:
            log = state.get(partition, [])
            at = memory.get(partition, 0)
            found[partition] = [[n, log[n]] for n in range(at, min(len(log), at + 5))]
            memory[partition] = at + len(found[partition])
        return True, found if offsets else [element for _, element in found[key]]

    def final(state: dict[int, list[int]]) -> list[Request]:
        most = max(map(len, state.values()), default=0)
        if offsets:
            return [("poll", None, None, {})] * (most // 5 + 2)
        return [("poll", key, None, {}) for key in sorted(state) for _ in range(most // 5 + 2)]

    return simulate({}, choose, apply, final, shape, seed, final_nodes=False)


def feeds(seed: int, shape: Shape = USUAL, *, keys: int = 3) -> History:
    """Writes of a few keys, and subscribers that each follow the feed of changes."""
    values = itertools.count(1)

    def choose(client: Client, rng: Random) -> Request:
        if rng.random() < 0.6:
            return "put", f"k{rng.randrange(keys)}", f"v{next(values)}", {}
        return "changes", None, None, {}

    def apply(state: list[dict[str, Any]], client: Client, request: Request) -> tuple[bool, Any]:
        kind, key, value, _ = request
        if kind == "put":
            state.append({"seq": len(state) + 1, "key": key, "value": value})
            return True, None
        at = client.memory.get("at", 0)
        client.memory["at"] = min(len(state), at + 20)
        return True, state[at : client.memory["at"]]

    def final(state: list[dict[str, Any]]) -> list[Request]:
        return [("changes", None, None, {})] * (len(state) // 20 + 2)

    return simulate([], choose, apply, final, shape, seed, final_nodes=False)


def tenants(seed: int, shape: Shape = USUAL) -> History:
    """Two tenants that write, read and list on two surfaces, and try each other's objects in vain."""
    numbers = itertools.count(1)

    def choose(client: Client, rng: Random) -> Request:
        tenant = rng.choice(("acme", "umbra"))
        surface = rng.choice(("api", "export"))
        extra: dict[str, Any] = {"tenant": tenant, "surface": surface}
        fate = rng.random()
        if fate < 0.4:
            name = f"o{next(numbers)}"
            return "put", name, f"secret-of-{tenant}-{name}", extra | {"expect": "allow"}
        if fate < 0.6:
            return "list", None, None, extra
        owner = rng.choice(("acme", "umbra"))
        expect = "allow" if owner == tenant else "deny"
        key = (owner, rng.randrange(1, 50))
        return "get", f"o{key[1]}", None, extra | {"owner": owner, "expect": expect}

    def apply(state: dict[str, tuple[str, str]], client: Client, request: Request) -> tuple[bool, Any]:
        kind, key, value, extra = request
        if kind == "put":
            state[key] = (extra["tenant"], value)
            return True, None
        if kind == "list":
            return True, [v for owner, v in state.values() if owner == extra["tenant"]][-20:]
        owner, held = state.get(key, (extra["owner"], None))
        if extra["expect"] == "deny":
            return False, None
        return True, held if owner == extra["tenant"] else None

    history = simulate({}, choose, apply, lambda _: [], shape, seed)
    answered = [
        replace(o, error="403 forbidden") if o.error == "precondition" else o for o in history.operations
    ]
    return replace(history, operations=answered)


def groups(seed: int, shape: Shape = USUAL) -> History:
    """Reads and writes by three groups that are served alike, on a schedule."""
    values = itertools.count(1)

    def choose(client: Client, rng: Random) -> Request:
        extra = {"group": ("gold", "silver", "bronze")[next(values) % 3]}
        return ("read", "k", None, extra) if rng.random() < 0.5 else ("write", "k", next(values), extra)

    def apply(state: dict[str, Any], client: Client, request: Request) -> tuple[bool, Any]:
        if request[0] == "write":
            state[request[1]] = request[2]
        return True, state.get(request[1]) if request[0] == "read" else None

    history = simulate({}, choose, apply, lambda _: [], shape, seed)
    rng = Random(seed)
    scheduled = [
        replace(o, extra={**o.extra, "scheduled_ns": o.invoked_ns - rng.randrange(100_000)})
        for o in history.operations
    ]
    return replace(history, operations=scheduled)
