"""Breadth first search for a short closed walk of a wanted shape through a given edge."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np

from refute.checkers.transactions.graph import PROCESS, REALTIME, RW, WR, WW, Dependencies

Edge = tuple[int, int, int]  # node, kind, next node

# What a walk has met: its last edge, two adjacent anti-dependencies, an anti-dependency besides the
# first edge, an edge of the extra kind (session or real time).
LAST_RW, ADJACENT, RW_AGAIN, EXTRA = 1, 2, 4, 8


class Paths:
    """The adjacency of a graph as lists, and the search over it."""

    def __init__(self, graph: Dependencies) -> None:
        order = np.argsort(graph.source, kind="stable")
        nodes, starts = np.unique(graph.source[order], return_index=True)
        bounds = [*starts.tolist(), len(order)]
        targets, kinds = graph.target[order].tolist(), graph.kind[order].tolist()
        self._out: dict[int, list[tuple[int, int]]] = {
            node: list(zip(targets[low:high], kinds[low:high], strict=True))
            for node, low, high in zip(nodes.tolist(), bounds, bounds[1:], strict=False)
        }
        self._transactions = graph.transactions

    def back(
        self,
        anchor: Edge,
        *,
        needs: int = 0,
        anti: bool = True,
        adjacent: bool = True,
        extra: int = -1,
        steps: int | None = None,
    ) -> tuple[list[Edge] | None, int]:
        """A shortest closed walk beginning with the edge `anchor`, and how many states were visited.

        The walk has all the flags in `needs`; `anti` and `adjacent` say whether it may take further
        anti-dependencies and two in a row; `extra` is the kind that sets the flag EXTRA. The anchor
        leads out of a transaction. None where there is no such walk or `steps` do not suffice.
        """
        first, first_kind, start = anchor
        flags = (LAST_RW if first_kind == RW else 0) | (EXTRA if first_kind == extra else 0)
        begin = (start, flags)
        came: dict[tuple[int, int], tuple[tuple[int, int], int] | None] = {begin: None}
        queue = deque([begin])
        visited = 0
        while queue:
            state = queue.popleft()
            node, flags = state
            visited += 1
            if steps is not None and visited > steps:
                return None, visited
            for target, kind in self._out.get(node, ()):
                new = flags
                if node < self._transactions:  # what leaves a relay continues the edge that entered it
                    if kind == RW:
                        if not anti or (flags & LAST_RW and not adjacent):
                            continue
                        new |= LAST_RW | RW_AGAIN | (ADJACENT if flags & LAST_RW else 0)
                    else:
                        new &= ~LAST_RW
                    if kind == extra:
                        new |= EXTRA
                if target == first:
                    if new & LAST_RW and first_kind == RW:
                        if not adjacent:
                            continue
                        new |= ADJACENT
                    if new & needs == needs:
                        return self._walk(anchor, came, state, kind), visited
                following = (target, new)
                if following not in came:
                    came[following] = (state, kind)
                    queue.append(following)
        return None, visited

    @staticmethod
    def _walk(
        anchor: Edge,
        came: dict[tuple[int, int], tuple[tuple[int, int], int] | None],
        state: tuple[int, int],
        kind: int,
    ) -> list[Edge]:
        edges = [(state[0], kind, anchor[0])]
        while (step := came[state]) is not None:
            before, kind = step
            edges.append((before[0], kind, state[0]))
            state = before
        edges.append(anchor)
        return edges[::-1]

    def simple_cycles(self, walk: list[Edge]) -> Iterator[tuple[Edge, ...]]:
        """The simple cycles of transactions that a closed walk consists of.

        Relays are passed over, successive edges of one transitive order are one edge, and where two
        transactions have a stronger dependency than the one walked, that one is taken: the class of the
        cycle implies that of the walk.
        """
        stack: list[Edge] = []
        places: dict[int, int] = {}
        for source, kind, target in self._without_relays(walk):
            places[source] = len(stack)
            stack.append((source, kind, target))
            if target in places:
                cycle = stack[places[target] :]
                yield tuple(self._strongest(edge) for edge in self._merged(cycle))
                del stack[places[target] :]
                places = {edge[0]: place for place, edge in enumerate(stack)}

    def _without_relays(self, walk: list[Edge]) -> Iterator[Edge]:
        source = kind = -1
        for node, edge_kind, target in walk:
            if node < self._transactions:
                source, kind = node, edge_kind
            if target < self._transactions:
                yield source, kind, target

    @staticmethod
    def _merged(cycle: list[Edge]) -> list[Edge]:
        for kind in (PROCESS, REALTIME):
            merged: list[Edge] = []
            for edge in cycle:
                if merged and edge[1] == kind == merged[-1][1]:
                    merged[-1] = (merged[-1][0], kind, edge[2])
                else:
                    merged.append(edge)
            if len(merged) > 2 and merged[0][1] == kind == merged[-1][1]:
                merged[0] = (merged[-1][0], kind, merged[0][2])
                merged.pop()
            cycle = merged
        return cycle

    def _strongest(self, edge: Edge) -> Edge:
        source, kind, target = edge
        kinds = {other for node, other in self._out.get(source, ()) if node == target} | {kind}
        if kind != RW:
            kinds.discard(RW)  # with one anti-dependency more the cycle would be of a class that implies less
        return source, min(kinds, key=(WW, WR, RW, PROCESS, REALTIME).index), target
