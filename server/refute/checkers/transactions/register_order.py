"""One order of all that read and wrote registers, found or refuted: saturation, a schedule, few choices.

Of two writers of a key of which one was read, the other comes before that one or after its readers.
Where what is known of the order decides which, the edge is added, until nothing changes (saturation): a
cycle then proves that there is no order. Otherwise a schedule is laid out that lets each read wait for
its value and each write for the readers of what it replaces. Where it gets stuck, one open pair is
chosen, and then the other way if that fails. Exact, exponential at worst, always within budget.

Papadimitriou, 1979, "The Serializability of Concurrent Database Updates" (polygraphs); Gibbons and Korach,
1997, "Testing Shared Memories" (sequential consistency is such a question); Biswas and Enea, 2019, "On the
Complexity of Checking Transactional Consistency" (saturation decides the weaker levels).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from refute.checkers.transactions.schedule import Read, Stuck, scheduled, topological

Edge = tuple[int, int]
Reason = tuple[int, int, int]
"""Writer, reader and the other writer of a key, of which an edge was derived."""

_LOOK_EVERY = 256  # nodes or reads, each with one operation on sets of all nodes
_MOST_BLAME = 400  # edges that are followed back; of a contradiction that rests on more, all is to blame
_MOST_RINGS = 20  # cycles among which the shortest is taken: short ones blame little


@dataclass(frozen=True, slots=True)
class Refuted:
    """There is no order of these nodes: what is known of them alone closes a cycle."""

    nodes: frozenset[int]


@dataclass(slots=True)
class _Choice:
    """An edge that was chosen, the one for the other case, and what refuted the first case."""

    edges: int
    edge: Edge
    other: Edge | None
    nodes: set[int] = field(default_factory=set)
    chosen: set[Edge] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class _Reason:
    """An edge was derived of a writer, its reader and another writer, and of so many edges."""

    read: Read
    other: int
    edges: int


@dataclass(slots=True)
class RegisterOrder:
    """Nodes with what each wrote and read, and edges known beforehand; `hint` orders the nodes in time.

    `writers` has for each key the nodes that write it, `reads` who read whose write of which key. The
    reader of an initial value is told by edges to all writers of its key.
    """

    nodes: int
    known: list[Edge]
    writers: Sequence[Sequence[int]]
    reads: Sequence[Read]
    hint: Sequence[int]
    _edges: list[Edge] = field(default_factory=list, init=False)
    _reasons: dict[Edge, _Reason] = field(default_factory=dict, init=False)
    _choices: list[_Choice] = field(default_factory=list, init=False)

    def solve(self, check: Callable[[], None]) -> list[int] | Refuted:
        """An order in which every read sees the last write before it; or nodes that have none.

        `check` is called often and may raise to stop the search.
        """
        self._edges = list(dict.fromkeys([*self.known, *((read.writer, read.reader) for read in self.reads)]))
        while True:
            found = self._saturate(check)
            if found is None:
                order = scheduled(self.nodes, self._edges, self.writers, self.reads, self.hint)
                if not isinstance(order, Stuck):
                    return order
                self._choices.append(_Choice(len(self._edges), order.likely, order.against))
                self._edges.append(order.likely)
            else:
                refuted = self._back(*found)
                if refuted is not None:
                    return refuted

    def _back(self, nodes: set[int], chosen: set[Edge]) -> Refuted | None:
        """Goes to the other case of the last choice that a contradiction rests on; or all is refuted."""
        while self._choices:
            choice = self._choices[-1]
            if choice.edge not in chosen:
                self._choices.pop()  # whichever way it goes
                continue
            choice.nodes |= nodes
            choice.chosen |= chosen - {choice.edge}
            for edge in self._edges[choice.edges :]:
                self._reasons.pop(edge, None)
            del self._edges[choice.edges :]
            if choice.other is not None:
                choice.edge, choice.other = choice.other, None
                self._edges.append(choice.edge)
                return None
            nodes, chosen = choice.nodes, choice.chosen
            self._choices.pop()
        return Refuted(frozenset(nodes))

    def _saturate(self, check: Callable[[], None]) -> tuple[set[int], set[Edge]] | None:
        """Adds edges until nothing follows; the nodes and the choices of a contradiction, or None.

        O(n^2 / 64) a round.
        """
        while True:
            check()
            order = topological(self.nodes, self._edges)
            if order is None:
                return self._blamed(check)
            fresh = self._following(order, check)
            if not fresh:
                return None
            self._reasons |= fresh
            self._edges.extend(fresh)

    def _following(self, order: list[int], check: Callable[[], None]) -> dict[Edge, _Reason]:
        """The edges that follow from one look at all reads, without those that others imply.

        Sets are bits by place in the order, so the last of what comes before is the highest bit.
        """
        place = [0] * self.nodes
        for at, node in enumerate(order):
            place[node] = at
        onward: list[list[int]] = [[] for _ in order]
        for source, target in self._edges:
            onward[place[source]].append(place[target])
        before, after = [0] * self.nodes, [0] * self.nodes
        for at in range(self.nodes - 1, -1, -1):
            bits = 0
            for target in onward[at]:
                bits |= after[target] | 1 << target
            after[at] = bits
            if not at % _LOOK_EVERY:
                check()
        for at in range(self.nodes):
            bits = before[at] | 1 << at
            for target in onward[at]:
                before[target] |= bits
            if not at % _LOOK_EVERY:
                check()
        masks = [sum(1 << place[node] for node in set(nodes)) for nodes in self.writers]
        fresh: dict[Edge, _Reason] = {}
        edges = len(self._edges)
        for number, read in enumerate(self.reads):
            if not number % _LOOK_EVERY:
                check()
            writer, reader = place[read.writer], place[read.reader]
            others = masks[read.key] & ~(1 << writer | 1 << reader)
            early = before[reader] & others & ~before[writer]
            while early:
                other = early.bit_length() - 1
                fresh.setdefault((order[other], read.writer), _Reason(read, order[other], edges))
                early &= ~(before[other] | 1 << other)
            late = after[writer] & others & ~after[reader]
            while late:
                other = (late & -late).bit_length() - 1
                fresh.setdefault((read.reader, order[other]), _Reason(read, order[other], edges))
                late &= ~(after[other] | 1 << other)
        return fresh

    def _blamed(self, check: Callable[[], None]) -> tuple[set[int], set[Edge]]:
        """The nodes of a cycle and of all that its derived edges rest on, and the choices among those.

        An edge rests on a way that was there when it was derived. Where that gets too much, all is to blame.
        """
        onward: list[list[tuple[int, int]]] = [[] for _ in range(self.nodes)]
        for number, (source, target) in enumerate(self._edges):
            onward[source].append((target, number))
        made = {choice.edge for choice in self._choices}
        blamed: set[int] = set()
        seen: set[Edge] = set()
        todo = _ring(onward)
        while todo:
            edge = todo.pop()
            if edge in seen:
                continue
            check()
            seen.add(edge)
            blamed.update(edge)
            reason = self._reasons.get(edge)
            if reason is None:
                continue
            if len(seen) > _MOST_BLAME:
                return set(range(self.nodes)), made
            read, other = reason.read, reason.other
            blamed.update((read.reader, read.writer, other))
            start, goal = (other, read.reader) if edge == (other, read.writer) else (read.writer, other)
            todo += _way(onward, start, goal, reason.edges)
        return blamed, seen & made


def _ring(onward: list[list[tuple[int, int]]]) -> list[Edge]:
    """The edges of a cycle, the shortest through one of some of its nodes."""
    degree = [0] * len(onward)
    for targets in onward:
        for target, _ in targets:
            degree[target] += 1
    ready = [node for node, count in enumerate(degree) if not count]
    left = set(range(len(onward)))
    while ready:
        node = ready.pop()
        left.discard(node)
        for target, _ in onward[node]:
            degree[target] -= 1
            if not degree[target]:
                ready.append(target)
    edges = sum(map(len, onward))
    rings = (_way(onward, node, node, edges) for node in sorted(left))
    found = (ring for ring in rings if ring)  # what is left may lie behind a cycle
    return min(islice(found, _MOST_RINGS), key=len)


def _way(onward: list[list[tuple[int, int]]], start: int, goal: int, edges: int) -> list[Edge]:
    """A shortest way, of one edge at least, along the first so many edges; nothing where there is none."""
    came: dict[int, int] = {}
    layer = [start]
    while layer and goal not in came:
        further = []
        for node in layer:
            for target, number in onward[node]:
                if number < edges and target not in came:
                    came[target] = node
                    further.append(target)
        layer = further
    if goal not in came:
        return []
    way = [(came[goal], goal)]
    while way[-1][0] != start:
        way.append((came[way[-1][0]], way[-1][0]))
    return way
