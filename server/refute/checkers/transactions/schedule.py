"""Lays out an order in which reads wait for their values, and writes for the readers of what they replace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import NamedTuple


class Read(NamedTuple):
    """`reader` saw what `writer` wrote to `key`."""

    reader: int
    key: int
    writer: int


@dataclass(frozen=True, slots=True)
class Stuck:
    """Nothing can come next: of a read's two ways around another writer, the likelier edge and the other."""

    likely: tuple[int, int]
    against: tuple[int, int]


def topological(nodes: int, edges: Sequence[tuple[int, int]]) -> list[int] | None:
    """An order that keeps all edges, or None where they close a cycle."""
    onward: list[list[int]] = [[] for _ in range(nodes)]
    missing = [0] * nodes
    for source, target in edges:
        onward[source].append(target)
        missing[target] += 1
    order = [node for node in range(nodes) if not missing[node]]
    for node in order:
        for target in onward[node]:
            missing[target] -= 1
            if not missing[target]:
                order.append(target)
    return order if len(order) == nodes else None


def scheduled(
    nodes: int,
    edges: Sequence[tuple[int, int]],
    writers: Sequence[Sequence[int]],
    reads: Sequence[Read],
    hint: Sequence[int],
) -> list[int] | Stuck:
    """An order in which each read sees the last write before it, or the first place where none can go on.

    Of all that can come next, what the hint puts first. A write waits while what it would replace has
    readers to come, so a read whose writer came finds its value. There must be an edge from each writer
    to its readers, and no cycle. O((n + edges) log n).
    """
    onward: list[list[int]] = [[] for _ in range(nodes)]
    missing = [0] * nodes
    for source, target in edges:
        onward[source].append(target)
        missing[target] += 1
    registers = _Registers(nodes, writers, reads, hint)
    ready = [(hint[node], node) for node in range(nodes) if not missing[node]]
    heapify(ready)
    order: list[int] = []
    while ready:
        _, node = heappop(ready)
        came, woken = registers.offer(node)
        for sleeper in woken:
            heappush(ready, (hint[sleeper], sleeper))
        if not came:
            continue
        order.append(node)
        for target in onward[node]:
            missing[target] -= 1
            if not missing[target]:
                heappush(ready, (hint[target], target))
    return order if len(order) == nodes else registers.stuck(set(order))


class _Registers:
    """What the registers hold, who has yet to read it, and who waits for that."""

    def __init__(
        self, nodes: int, writers: Sequence[Sequence[int]], reads: Sequence[Read], hint: Sequence[int]
    ) -> None:
        self._reads, self._hint = reads, hint
        self._writes: list[list[int]] = [[] for _ in range(nodes)]
        for key, some in enumerate(writers):
            for node in dict.fromkeys(some):
                self._writes[node].append(key)
        self._own: list[list[Read]] = [[] for _ in range(nodes)]
        self._expected: dict[tuple[int, int], int] = {}
        for read in reads:
            self._own[read.reader].append(read)
            self._expected[read.key, read.writer] = self._expected.get((read.key, read.writer), 0) + 1
        self._current: dict[int, int] = {}
        self._asleep: dict[int, list[tuple[int, int]]] = {}
        self._updaters: dict[int, list[int]] = {}
        self._woken_for: dict[int, int] = {}

    def offer(self, node: int) -> tuple[bool, list[int]]:
        """Whether the node came, and who is to be offered again; it sleeps where it did not come."""
        before = self._woken_for.pop(node, None)
        key = self._hindrance(node)
        if key is not None:
            if any(read.key == key for read in self._own[node]):
                self._updaters.setdefault(key, []).append(node)
            else:
                heappush(self._asleep.setdefault(key, []), (self._hint[node], node))
            return False, [] if before in (None, key) else self._wake(before)
        touched = dict.fromkeys(self._writes[node])
        for read in self._own[node]:
            self._expected[read.key, read.writer] -= 1
            touched[read.key] = None
        for key in self._writes[node]:
            self._current[key] = node
        return True, [sleeper for key in touched for sleeper in self._wake(key)]

    def _hindrance(self, node: int) -> int | None:
        """A key whose value the node would replace while others have yet to read it."""
        for key in self._writes[node]:
            if self._readers(key) > sum(read.key == key for read in self._own[node]):
                return key
        return None

    def _readers(self, key: int) -> int:
        """How many have yet to read what a key holds."""
        return self._expected.get((key, self._current[key]), 0) if key in self._current else 0

    def _wake(self, key: int | None) -> list[int]:
        """Those that wait for a key and may come now: of those that only write it, one at a time."""
        if key is None:
            return []
        woken = self._updaters.pop(key, [])
        if self._asleep.get(key) and not self._readers(key):
            _, node = heappop(self._asleep[key])
            self._woken_for[node] = key
            woken.append(node)
        return woken

    def stuck(self, done: set[int]) -> Stuck:
        """The two cases of the earliest one that sleeps."""
        sleepers = [(*pair, key) for key, some in self._asleep.items() for pair in some]
        sleepers += [(self._hint[node], node, key) for key, some in self._updaters.items() for node in some]
        _, node, key = min(sleepers)
        now = self._current[key]
        reader = next(
            read.reader
            for read in self._reads
            if (read.key, read.writer) == (key, now) and read.reader not in done and read.reader != node
        )
        first, second = (node, now), (reader, node)
        return Stuck(first, second) if self._hint[node] < self._hint[now] else Stuck(second, first)
