"""Exact search for an order of transactions that explains what registers read: serial or by snapshots.

Which of two writers of a key comes first is a choice; what is known and what is chosen must have no
cycle. The search keeps the transitive closure as bit sets, forces every choice whose other side would
close a cycle, tries the order that time suggests, and only then branches. Papadimitriou, "The
Serializability of Concurrent Database Updates" (1979) for polygraphs; Tan et al., "Cobra" (2020) and
Huang et al., "PolySI" (2023) for pruning with the closure. Exponential at worst; always within budget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

Edge = tuple[int, int]
Choice = tuple[tuple[Edge, ...], tuple[Edge, ...]]


class _ConflictError(Exception):
    """The edges so far close a cycle."""


@dataclass(slots=True)
class Polygraph:
    """Known edges between `nodes`, and choices between two sets of edges; `hint` orders the nodes in time."""

    nodes: int
    known: list[Edge] = field(default_factory=list)
    choices: list[Choice] = field(default_factory=list)
    hint: Sequence[int] = ()

    def solve(self, check: Callable[[], None]) -> list[int] | None:
        """An order of the nodes that satisfies everything, or None where there is none.

        `check` is called often and may raise to stop the search.
        """
        closure = _Closure(self.nodes)
        try:
            for source, target in self.known:
                check()
                closure.add(source, target)
        except _ConflictError:
            return None
        stack: list[tuple[_Closure, list[Choice]]] = [(closure, self.choices)]
        while stack:
            closure, open_choices = stack.pop()
            try:
                open_choices = self._force(closure, open_choices, check)
            except _ConflictError:
                continue
            order = closure.order(self.hint)
            place = {node: at for at, node in enumerate(order)}
            broken = [
                choice for choice in open_choices
                if not any(all(place[a] < place[b] for a, b in side) for side in choice)
            ]  # fmt: skip
            if not broken:
                return order
            choice = max(broken, key=lambda one: len(one[0]) + len(one[1]))
            rest = [one for one in open_choices if one is not choice]
            first, second = choice
            if sum(place[a] > place[b] for a, b in first) <= sum(place[a] > place[b] for a, b in second):
                first, second = second, first
            for side in (first, second):  # the more likely side is tried first: it is popped first
                branch = closure.copy()
                try:
                    branch.extend(side)
                except _ConflictError:
                    continue
                stack.append((branch, rest))
            check()
        return None

    @staticmethod
    def _force(closure: _Closure, choices: list[Choice], check: Callable[[], None]) -> list[Choice]:
        """Takes what is left of choices one side of which would close a cycle, until nothing changes."""
        while True:
            remaining = []
            for left, right in choices:
                check()
                if not closure.allows(left):
                    closure.extend(right)
                elif not closure.allows(right):
                    closure.extend(left)
                else:
                    remaining.append((left, right))
            if len(remaining) == len(choices):
                return remaining
            choices = remaining


class _Closure:
    """A transitive closure: `after[n]` and `before[n]` are bit sets of the nodes reachable from and to n."""

    def __init__(self, nodes: int) -> None:
        self.after = [0] * nodes
        self.before = [0] * nodes

    def copy(self) -> _Closure:
        other = _Closure(0)
        other.after, other.before = list(self.after), list(self.before)
        return other

    def allows(self, edges: Iterable[Edge]) -> bool:
        return not any(source == target or self.after[target] >> source & 1 for source, target in edges)

    def extend(self, edges: Iterable[Edge]) -> None:
        for source, target in edges:
            self.add(source, target)

    def add(self, source: int, target: int) -> None:
        if source == target or self.after[target] >> source & 1:
            raise _ConflictError
        if self.after[source] >> target & 1:
            return
        onward = self.after[target] | 1 << target
        backward = self.before[source] | 1 << source
        for node in _members(backward):
            self.after[node] |= onward
        for node in _members(onward):
            self.before[node] |= backward

    def order(self, hint: Sequence[int]) -> list[int]:
        """A topological order; of what could come next, what the hint puts first."""
        from heapq import heapify, heappop, heappush

        missing = [self.before[node].bit_count() for node in range(len(self.after))]
        rank = hint if len(hint) else range(len(self.after))
        ready = [(rank[node], node) for node, count in enumerate(missing) if not count]
        heapify(ready)
        order: list[int] = []
        while ready:
            _, node = heappop(ready)
            order.append(node)
            for later in _members(self.after[node]):
                missing[later] -= 1
                if not missing[later]:
                    heappush(ready, (rank[later], later))
        return order


def _members(bits: int) -> list[int]:
    """The places of the set bits, lowest first."""
    found = []
    while bits:
        low = bits & -bits
        found.append(low.bit_length() - 1)
        bits ^= low
    return found
