"""The dependency graph of transactions: typed edges in columns, in a size linear in the history.

Sets of edges that would be quadratic (everything that ended before everything that began later; every
reader of the last version before every writer that came after it) go through *relay* nodes, which stand
for no transaction. A path through relays is one edge between the transactions at its ends.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

WW, WR, RW, PROCESS, REALTIME = range(5)
KIND_NAMES = ("ww", "wr", "rw", "process", "realtime")

Column = np.ndarray[Any, Any]


@dataclass(slots=True)
class Dependencies:
    """Edges `source -> target` by kind. Nodes below `transactions` are transactions, the rest relays."""

    transactions: int
    nodes: int
    source: Column
    target: Column
    kind: Column

    def select(self, keep: Column) -> Dependencies:
        """The same nodes with only the edges that the mask keeps."""
        return Dependencies(
            self.transactions, self.nodes, self.source[keep], self.target[keep], self.kind[keep]
        )

    def of_kinds(self, *kinds: int) -> Dependencies:
        """Only the edges of these kinds."""
        return self.select(np.isin(self.kind, kinds))


@dataclass(slots=True)
class DependencyBuilder:
    """Gathers edges in chunks of columns; self-edges are dropped."""

    transactions: int
    nodes: int = 0
    _chunks: list[tuple[Column, Column, Column]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.nodes = self.transactions

    def add(self, source: Sequence[int] | Column, target: Sequence[int] | Column, kind: int) -> None:
        """Adds edges of one kind, given as two columns of equal length."""
        src, dst = np.asarray(source, np.int32), np.asarray(target, np.int32)
        keep = src != dst
        src, dst = src[keep], dst[keep]
        self._chunks.append((src, dst, np.full(len(src), kind, np.int8)))

    def relay(self) -> int:
        """A new node that stands for no transaction."""
        self.nodes += 1
        return self.nodes - 1

    def fan(self, sources: Sequence[int], targets: Sequence[int], kind: int) -> None:
        """Edges from every source to every target but itself, O(sources + targets) of them.

        Where the product is large each target hangs on two chains, one that reaches all targets up
        to it and one that reaches all from it on, so that a source which is itself the target at
        place j can enter both chains beside its own place.
        """
        targets = list(dict.fromkeys(targets))
        sources = list(dict.fromkeys(sources))
        if not targets or not sources:
            return
        count = len(targets)
        src, dst = array("i"), array("i")
        if len(sources) * count <= 4 * (len(sources) + count):
            for one in sources:
                for other in targets:
                    src.append(one)
                    dst.append(other)
        else:
            upto = range(self.nodes, self.nodes + count)
            onward = range(self.nodes + count, self.nodes + 2 * count)
            self.nodes += 2 * count
            for place, target in enumerate(targets):
                src.extend((upto[place], onward[place]))
                dst.extend((target, target))
                if place:
                    src.extend((upto[place], onward[place - 1]))
                    dst.extend((upto[place - 1], onward[place]))
            places = {target: place for place, target in enumerate(targets)}
            for one in sources:
                place = places.get(one, -1)
                before, after = (count - 1, count) if place < 0 else (place - 1, place + 1)
                if before >= 0:
                    src.append(one)
                    dst.append(upto[before])
                if after < count:
                    src.append(one)
                    dst.append(onward[after])
        self.add(np.frombuffer(src, np.int32), np.frombuffer(dst, np.int32), kind)

    def real_time(self, invoked: Column, completed: Column, live: Column) -> None:
        """Order in real time: what completed before another was invoked comes first.

        `completed` is -1 where nobody knows the end. Completions in their order are a chain of
        relays: a transaction enters the chain where it completed, and is entered from the last
        completion before its invocation. At most 3 edges a transaction instead of one a pair; the
        reachability is exactly that of the interval order.
        """
        who = np.flatnonzero(live)
        ended = who[completed[who] >= 0]
        ended = ended[np.argsort(completed[ended], kind="stable")]
        if not len(ended):
            return
        before = np.searchsorted(completed[ended], invoked[who], side="left")
        late, place = who[before > 0], before[before > 0] - 1
        used = np.unique(place)
        first = self.nodes
        self.nodes += len(used)
        enter = np.searchsorted(used, np.arange(len(ended)))
        inside = enter < len(used)
        self.add(ended[inside], first + enter[inside], REALTIME)
        self.add(np.arange(first, self.nodes - 1), np.arange(first + 1, self.nodes), REALTIME)
        self.add(first + np.searchsorted(used, place), late, REALTIME)

    def build(self) -> Dependencies:
        """The graph of all edges added so far."""
        columns = [np.concatenate(column) for column in zip(*self._chunks, strict=True)] or [
            np.empty(0, np.int32),
            np.empty(0, np.int32),
            np.empty(0, np.int8),
        ]
        return Dependencies(self.transactions, self.nodes, columns[0], columns[1], columns[2])


def components(nodes: int, source: Column, target: Column) -> Column:
    """The label of the strongly connected component of every node, O(nodes + edges)."""
    ones = np.ones(len(source))  # not int8: parallel edges are summed, and must not wrap around to none
    matrix = csr_matrix((ones, (source, target)), shape=(nodes, nodes))
    _, labels = connected_components(matrix, directed=True, connection="strong")
    return np.asarray(labels)


def on_cycles(graph: Dependencies) -> Column:
    """Which edges lie on a cycle: those whose ends are in one strongly connected component."""
    if not len(graph.source):
        return np.zeros(0, bool)
    labels = components(graph.nodes, graph.source, graph.target)
    return np.asarray(labels[graph.source] == labels[graph.target])


def on_nonadjacent_cycles(graph: Dependencies) -> Column:
    """Which edges lie on a closed walk in which no two anti-dependencies are adjacent.

    Every transaction has a start and a commit. A dependency leads from commit to start, an
    anti-dependency from start to commit, so that two of those cannot follow one another (the graph
    of starts and commits by which snapshot isolation is characterised: Adya 1999; Cerone and
    Gotsman 2016). O(nodes + edges).
    """
    if not len(graph.source):
        return np.zeros(0, bool)
    anti = graph.kind == RW
    real_source, real_target = graph.source < graph.transactions, graph.target < graph.transactions
    source = np.where(real_source & ~anti, graph.source + graph.nodes, graph.source)
    target = np.where(real_target & anti, graph.target + graph.nodes, graph.target)
    starts = np.arange(graph.transactions, dtype=source.dtype)
    labels = components(
        2 * graph.nodes,
        np.concatenate([source, starts]),
        np.concatenate([target, starts + graph.nodes]),
    )
    return np.asarray(labels[source] == labels[target])
