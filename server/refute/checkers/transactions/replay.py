"""A serial order guessed from the dependency graph and time, and proved by replaying it."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np

from refute.checkers.transactions.graph import PROCESS, REALTIME, Dependencies
from refute.checkers.transactions.register_columns import RegisterColumns
from refute.checkers.transactions.timeline import OK


def serial_order(columns: RegisterColumns, graph: Dependencies, level: str) -> list[int] | None:
    """A serial order that explains every read and respects the level, or None where the guess fails.

    The guess is a topological order of the graph in which, of what may come next, that comes first
    which was earliest in time. What comes back is a proof: it has been replayed. None proves nothing.
    O(n log n).
    """
    dropped = {"": (PROCESS, REALTIME), "-process": (REALTIME,), "-realtime": ()}[level]
    if dropped:
        graph = graph.select(~np.isin(graph.kind, dropped))
    operations, outcome = columns.timeline.operations, columns.timeline.outcome
    happened = columns.happened()
    after: list[list[int]] = [[] for _ in range(graph.nodes)]
    missing = [0] * graph.nodes
    for source, target in zip(graph.source.tolist(), graph.target.tolist(), strict=True):
        after[source].append(target)
        missing[target] += 1
    rank = [
        op.invoked_ns + (op.invoked_ns if op.completed_ns is None else op.completed_ns) for op in operations
    ] + [-1] * (graph.nodes - len(operations))
    ready = [(rank[node], node) for node in range(graph.nodes) if not missing[node]]
    heapify(ready)
    state = list(columns.initial)
    order: list[int] = []
    placed = 0
    while ready:
        _, node = heappop(ready)
        placed += 1
        for target in after[node]:
            missing[target] -= 1
            if not missing[target]:
                heappush(ready, (rank[target], target))
        if node >= len(operations) or not happened[node]:
            continue
        order.append(node)
        for is_write, version in columns.micro[node]:
            if is_write:
                state[columns.key[version]] = version
            elif outcome[node] == OK and state[columns.key[version]] != version:
                return None
    return order if placed == graph.nodes else None
