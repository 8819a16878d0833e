"""Sets and multisets that only grow, by distinct values, and are read whole: decided by a graph."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from refute.checkers.linearizable.containers import members
from refute.checkers.linearizable.search import NEVER, Timed
from refute.checkers.real_time import interval_reduction

_MOST_STARTS = (
    200  # calls from which a shorter cycle is sought: the first found is proof, a short one is read
)
_CHECK_EVERY = 64  # reads


@dataclass(frozen=True, slots=True)
class Grown:
    """What was found: `pattern` is empty where there is an order, else the calls tell what is wrong.

    The patterns: `garbage` (shown and never added), `repeated` (shown twice), `cycle` (each call must come
    before the next one, and the last before the first).
    """

    pattern: str = ""
    calls: tuple[Timed, ...] = ()
    value: Hashable = None


def grown(calls: Sequence[Timed], check: Callable[[], Any]) -> Grown | None:
    """Whether the calls on a set or multiset are linearizable; None where this cannot tell.

    It can where every value is added once and nothing is removed. Then a call that shows a value comes
    after its add, one that lacks it before, and those edges together with real time have a cycle or an
    order. Whole reads form a chain, each with all that the one before showed, so edges to and from the
    links of that chain say as much as one for every value of every read. An add without an answer that
    nobody saw is left out. Linear in the number of values shown, n log n in the number of calls.
    """
    added: dict[Hashable, Timed] = {}
    reads: list[tuple[Timed, tuple[Any, ...]]] = []
    looks: list[Timed] = []
    for timed in calls:
        call = timed.call
        if call.kind == "read":
            reads.append((timed, members(call.output)))
        elif call.kind == "contains":
            looks.append(timed)
        elif call.kind != "add" or call.input in added or (call.known and call.output == ("bool", False)):
            return None
        else:
            added[call.input] = timed
    if not reads:
        return None
    reads.sort(key=lambda pair: len(pair[1]))
    first: dict[Hashable, int] = {}
    links: list[list[Timed]] = []
    before: frozenset[Hashable] = frozenset()
    for number, (read, shown) in enumerate(reads):
        if not number % _CHECK_EVERY:
            check()
        now = frozenset(shown)
        wrong = _odd(read, shown, now, added)
        if wrong is not None:
            return wrong
        if not before <= now:
            lacked = next(iter(before - now))
            other = links[-1][-1]
            gained = next(iter(now - before))
            return Grown("cycle", (added[gained], read, added[lacked], other))
        if not links or len(now) > len(before):
            first |= dict.fromkeys(now - before, len(links))
            links.append([])
        links[-1].append(read)
        before = now
    for look in looks:
        if look.call.output == ("bool", True) and look.call.input not in added:
            return Grown("garbage", (look,), look.call.input)
    cycle = _cycle(_graph(added, first, links, looks))
    return Grown("cycle", cycle) if cycle else Grown()


def _odd(
    read: Timed, shown: tuple[Any, ...], now: frozenset[Hashable], added: dict[Hashable, Timed]
) -> Grown | None:
    """What a read shows that no add explains."""
    if not now <= added.keys():
        value = next(value for value in shown if value not in added)
        return Grown("garbage", (read,), value)
    if len(now) < len(shown):
        value = next(value for place, value in enumerate(shown) if value in shown[:place])
        return Grown("repeated", (added[value], read), value)
    return None


_Node = tuple[str, int]
_Graph = tuple[dict[_Node, list[_Node]], dict[_Node, Timed]]


def _graph(
    added: dict[Hashable, Timed], first: dict[Hashable, int], links: list[list[Timed]], looks: list[Timed]
) -> _Graph:
    """Which call must come before which, by way of links: `in` j before what shows j, `out` j after it."""
    onward: dict[_Node, list[_Node]] = defaultdict(list)
    nodes: dict[_Node, Timed] = {}

    def node(timed: Timed) -> _Node:
        nodes["call", timed.row] = timed
        return "call", timed.row

    for number, link in enumerate(links):
        for read in link:
            onward["in", number].append(node(read))
            onward[node(read)].append(("out", number))
        if number:
            onward["in", number - 1].append(("in", number))
            onward["out", number - 1].append(("out", number))
    seen = {look.call.input for look in looks if look.call.output == ("bool", True)}
    for value, add in added.items():
        if value not in first and value not in seen and add.end == NEVER:
            continue
        place = first.get(value, len(links))
        if place < len(links):
            onward[node(add)].append(("in", place))
        if place:
            onward["out", place - 1].append(node(add))
        node(add)
    for look in looks:
        about = added.get(look.call.input)
        if about is not None and ("call", about.row) in nodes:
            there = look.call.output == ("bool", True)
            before, after = (about, look) if there else (look, about)
            onward[node(before)].append(node(after))
        node(look)
    times = [(one.start, None if one.end == NEVER else one.end, one.row) for one in nodes.values()]
    for earlier, later in interval_reduction(times):
        onward["call", earlier].append(("call", later))
    return onward, nodes


def _cycle(graph: _Graph) -> tuple[Timed, ...]:
    """The calls of a short cycle, without those that real time alone puts between two others; or nothing."""
    onward, nodes = graph
    degree: dict[_Node, int] = defaultdict(int)
    for source, targets in onward.items():
        degree[source] += 0
        for target in targets:
            degree[target] += 1
    ready = [node for node, count in degree.items() if not count]
    left = dict.fromkeys(degree)
    while ready:
        node = ready.pop()
        del left[node]
        for target in onward.get(node, ()):
            degree[target] -= 1
            if not degree[target]:
                ready.append(target)
    if not left:
        return ()
    best: list[_Node] = []
    # What is left may lie behind a cycle and on none, so that the first of it may be no start of any.
    for start in [node for node in (*_circle(onward, left), *left) if node[0] == "call"][:_MOST_STARTS]:
        found = _around(start, onward, left)
        if found and (not best or len(found) < len(best)):
            best = found
    calls = [nodes[node] for node in best if node in nodes]
    return tuple(
        one for place, one in enumerate(calls)
        if not (calls[place - 1].end < one.start and one.end < calls[(place + 1) % len(calls)].start)
    )  # fmt: skip


def _circle(onward: dict[_Node, list[_Node]], left: dict[_Node, None]) -> list[_Node]:
    """The nodes of one cycle: each that is left comes after another that is left, so a way back closes."""
    before = {target: node for node in left for target in onward.get(node, ()) if target in left}
    way: dict[_Node, None] = {}
    node = next(iter(left))
    while node not in way:
        way[node] = None
        node = before[node]
    return list(way)[list(way).index(node) :]


def _around(start: _Node, onward: dict[_Node, list[_Node]], left: dict[_Node, None]) -> list[_Node]:
    """The shortest way from a node back to it, among those that are left."""
    came: dict[_Node, _Node] = {}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for target in onward.get(node, ()):
            if target == start:
                path = [node]
                while path[-1] != start:
                    path.append(came[path[-1]])
                return path[::-1]
            if target in left and target not in came:
                came[target] = node
                queue.append(target)
    return []
