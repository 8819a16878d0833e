"""Correct histories of realistic shape: clients, faults and timeouts against one true object in memory."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from refute.history import FaultEvent, FaultPhase, History, Operation, Outcome, Phase

Request = tuple[str, Any, Any, dict[str, Any]]
"""Kind, key, input, extra."""

Choose = Callable[["Client", Random], Request]
Apply = Callable[[Any, "Client", Request], tuple[bool, Any]]
"""Changes the true object; says whether the operation succeeded and what it returns."""


@dataclass
class Client:
    """One client: the process it now speaks as, and what it remembers."""

    number: int
    process: int
    memory: dict[str, Any] = field(default_factory=dict)
    gone: bool = False


@dataclass(frozen=True)
class Shape:
    """How large a simulated history is and how rough its ride.

    A fault covers the middle third; while it is on, timeouts are five times as frequent. Latencies
    are exponential around `latency_ns`; a client rests as long between two operations.
    """

    operations: int = 400
    clients: int = 5
    info: float = 0.02
    fail: float = 0.02
    latency_ns: int = 1_000_000
    nodes: tuple[str, ...] = ("n1", "n2", "n3")


USUAL = Shape()


def simulate(
    state: Any,
    choose: Choose,
    apply: Apply,
    final: Callable[[Any], list[Request]],
    shape: Shape,
    seed: int,
    *,
    final_nodes: bool = True,
    sticky: bool = False,
) -> History:
    """Lets clients loose on one true object, where each operation takes effect at one instant.

    An operation of unknown outcome took effect in its turn, or long after its client had given up,
    or never; its client goes on as a new process. At the end, when all late effects are in, the
    `final` requests are made one after the other on every node. The result is correct by
    construction for anything that follows from atomic effects in real time. With `sticky`, a process
    talks to one node all its life (see `home`).
    """
    rng = Random(seed)
    expected_end = shape.operations * 2 * shape.latency_ns // max(1, shape.clients)
    fault = (expected_end // 3, 2 * expected_end // 3)
    rows: list[dict[str, Any]] = []
    sequence = itertools.count()
    processes = itertools.count(shape.clients)
    events: list[tuple[int, int, Callable[[int], None]]] = []

    def at(time_ns: int, action: Callable[[int], None]) -> None:
        heapq.heappush(events, (time_ns, next(sequence), action))

    def delay() -> int:
        return 1 + int(rng.expovariate(1 / shape.latency_ns))

    def invoke(client: Client) -> Callable[[int], None]:
        def begin(now: int) -> None:
            if len(rows) >= shape.operations:
                return
            request = choose(client, rng)
            in_fault = fault[0] <= now < fault[1]
            node = home(client, shape) if sticky else rng.choice(shape.nodes)
            rows.append(_row(request, client.process, now, node, int(in_fault)))
            _schedule(rows[-1], request, client, in_fault, now)

        return begin

    def _schedule(row: dict[str, Any], request: Request, client: Client, in_fault: bool, now: int) -> None:
        fate = rng.random()
        risk = shape.info * (5 if in_fault else 1)
        if fate < risk:
            row["outcome"], row["error"] = Outcome.INFO, "timeout"
            gave_up = now + 10 * shape.latency_ns
            row["completed_ns"] = gave_up if rng.random() < 0.7 else None
            when = rng.choice((now + delay(), gave_up + 20 * delay(), None))
            if when is not None:
                gone = Client(client.number, client.process, gone=True)
                at(when, lambda _: _ignore(apply(state, gone, request)))
            client.process = next(processes)
            client.memory = {}
            at(gave_up + delay(), invoke(client))
        elif fate < risk + shape.fail:
            row["outcome"], row["error"] = Outcome.FAIL, "refused"
            row["completed_ns"] = now + delay()
            at(row["completed_ns"] + delay(), invoke(client))
        else:
            at(now + delay(), lambda then: _take_effect(row, request, client, then))

    def _take_effect(row: dict[str, Any], request: Request, client: Client, now: int) -> None:
        succeeded, row["output"] = apply(state, client, request)
        row["outcome"] = Outcome.OK if succeeded else Outcome.FAIL
        row["error"] = None if succeeded else "precondition"
        row["completed_ns"] = now + delay()
        at(row["completed_ns"] + delay(), invoke(client))

    for number in range(shape.clients):
        at(delay(), invoke(Client(number, number)))
    now = 0
    while events:
        now, _, action = heapq.heappop(events)
        action(now)
    reader = Client(-1, next(processes))
    for node in shape.nodes if final_nodes else shape.nodes[:1]:
        for request in final(state):
            now += 1000
            row = _row(request, reader.process, now, node, 0)
            succeeded, row["output"] = apply(state, reader, request)
            now += 1000
            row |= {"outcome": Outcome.OK if succeeded else Outcome.FAIL, "phase": Phase.FINAL}
            rows.append(row | {"completed_ns": now})
    rows.sort(key=lambda row: row["invoked_ns"])
    operations = [Operation(index=index, **row) for index, row in enumerate(rows)]
    return History(operations, tuple(_fault(fault)), source=f"simulated with seed {seed}")


def home(client: Client, shape: Shape) -> str:
    """The node that a process talks to where clients are sticky."""
    return shape.nodes[client.process % len(shape.nodes)]


def _row(request: Request, process: int, now: int, node: str, epoch: int) -> dict[str, Any]:
    kind, key, value, extra = request
    row: dict[str, Any] = {"process": process, "kind": kind, "key": key, "input": value, "output": None}
    return row | {"invoked_ns": now, "completed_ns": None, "node": node, "epoch": epoch, "extra": extra}


def _ignore(_: object) -> None:
    """The answer of an operation whose client has given up reaches nobody."""


def _fault(times: tuple[int, int]) -> Iterator[FaultEvent]:
    for phase, time_ns, epoch in (
        (FaultPhase.APPLIED, times[0], 1),
        (FaultPhase.HEALED, times[1], 2),
    ):
        yield FaultEvent("f1", phase, time_ns, "proxy", "partition", ("n1->n2", "n2->n1"), epoch)
