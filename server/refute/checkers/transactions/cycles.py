"""Which classes of cycles a dependency graph has, and short cycles as the witnesses of each.

Whether a class is there is decided for the whole graph at once by strongly connected components
(Kingsbury and Alvaro 2020), on data alone, with session order, and with real-time order. A witness is
then a shortest way back from an edge that may lie on such a cycle.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from refute.checkers.spending import Meter
from refute.checkers.transactions.graph import (
    PROCESS,
    REALTIME,
    RW,
    WR,
    WW,
    Dependencies,
    components,
    on_cycles,
    on_nonadjacent_cycles,
)
from refute.checkers.transactions.models import closure
from refute.checkers.transactions.paths import ADJACENT, EXTRA, RW_AGAIN, Edge, Paths

_ANCHORS = 64  # edges from which the witnesses of one class are sought
_STEPS = 40_000  # states that the search for the witnesses of one class may visit
_DECIDING_STEPS = 1_500_000  # states that deciding G-single on one level may visit
_SHOWN = 4  # witnesses of one class


@dataclass(frozen=True, slots=True)
class Cycle:
    """A simple cycle of transactions and its class; `edges` are (transaction, kind, next)."""

    name: str
    edges: tuple[Edge, ...]


@dataclass(slots=True)
class Cycles:
    """The cycles found, at least one for every class that is there, and the classes left undecided."""

    found: list[Cycle] = field(default_factory=list)
    undecided: set[str] = field(default_factory=set)


def classify(edges: Iterable[Edge]) -> str:
    """The name of a simple cycle by the kinds of its edges.

    >>> classify([(0, RW, 1), (1, WW, 0)])
    'G-single'
    """
    kinds = [kind for _, kind, _ in edges]
    anti = kinds.count(RW)
    if anti == 0:
        base = "G1c" if WR in kinds else "G0"
    elif anti == 1:
        base = "G-single"
    elif any(kinds[place] == RW == kinds[place - 1] for place in range(len(kinds))):
        base = "G2-item"
    else:
        base = "G-nonadjacent"
    level = "-realtime" if REALTIME in kinds else "-process" if PROCESS in kinds else ""
    return base + level


def find_cycles(
    graph: Dependencies,
    meter: Meter,
    cycles: Cycles | None = None,
    unordered: Sequence[Sequence[int]] = (),
) -> Cycles:
    """All classes of cycles of the graph with witnesses, O(nodes + edges) but for G-single.

    Whether there is a G-single is asked of each anti-dependency in turn, within the stretch of a
    topological order that lies between its ends, and is left undecided past a bound. `unordered` are
    groups of transactions that wrote one key in an unknown order: where two of them are on cycles
    together, either order may make a G-single, which is undecided then too. `cycles` is filled as
    classes are decided, so that a caller whose budget ends has what was found by then.
    """
    cycles = cycles if cycles is not None else Cycles()
    whole = graph.select(on_cycles(graph))
    meter.check()
    if not len(whole.source):
        return cycles
    session = whole.select(whole.kind != REALTIME)
    session = session.select(on_cycles(session))
    data = session.of_kinds(WW, WR, RW)
    data = data.select(on_cycles(data))
    for level, extra, part in (
        ("", -1, data),
        ("-process", PROCESS, session),
        ("-realtime", REALTIME, whole),
    ):
        if len(part.source) and (extra < 0 or bool((part.kind == extra).any())):
            _Level(part, level, extra, meter, cycles).search()
        if unordered and len(part.source):
            _ask_order(part, level, cycles, unordered)
    return cycles


def _ask_order(part: Dependencies, level: str, cycles: Cycles, unordered: Sequence[Sequence[int]]) -> None:
    """Marks what depends on the unknown order of writers that lie on cycles together.

    Writers in different components can be taken in the order of those; so can all writers where only
    dependencies matter (G0, G1c), and where no cycle at all is allowed there is none to begin with.
    """
    labels = components(part.nodes, part.source, part.target)
    cyclic = np.zeros(part.nodes, bool)
    cyclic[part.source] = True
    for group in unordered:
        members = np.asarray(group)
        shared = labels[members[cyclic[members]]]
        if len(np.unique(shared)) < len(shared):
            cycles.undecided |= {"G-single" + level, "G-nonadjacent" + level}
            return


class _Level:
    """One of the three forms of the classes: on data, with session order, with real-time order."""

    def __init__(self, graph: Dependencies, level: str, extra: int, meter: Meter, cycles: Cycles) -> None:
        self._graph, self._level, self._extra = graph, level, extra
        self._meter, self._cycles = meter, cycles
        self._needs = EXTRA if extra >= 0 else 0
        self._best: dict[str, dict[frozenset[int], Cycle]] = {}

    def search(self) -> None:
        """Decides the five classes, weakest model first, each with its witnesses."""
        informed = self._graph.select(self._graph.kind != RW)
        informed = informed.select(on_cycles(informed))
        written = informed.select(informed.kind != WR)
        written = written.select(on_cycles(written))
        self._witness("G0", written, self._extra if self._extra >= 0 else WW)
        self._witness("G1c", informed, WR)
        nonadjacent = self._graph.select(on_nonadjacent_cycles(self._graph))
        self._single(nonadjacent)
        self._witness("G-nonadjacent", nonadjacent, RW, needs=RW_AGAIN, adjacent=False)
        self._witness("G2-item", self._graph, RW, needs=ADJACENT)
        known = {(cycle.name, frozenset(edge[0] for edge in cycle.edges)) for cycle in self._cycles.found}
        for name, best in self._best.items():
            fresh = [cycle for nodes, cycle in best.items() if (name, nodes) not in known]
            self._cycles.found.extend(sorted(fresh, key=lambda cycle: len(cycle.edges))[:_SHOWN])

    def _names(self) -> frozenset[str]:
        return closure([*self._best, *(cycle.name for cycle in self._cycles.found)])

    def _keep(self, paths: Paths, walk: list[Edge]) -> None:
        for edges in paths.simple_cycles(walk):
            cycle = Cycle(classify(edges), edges)
            nodes = frozenset(edge[0] for edge in edges)
            self._best.setdefault(cycle.name, {}).setdefault(nodes, cycle)

    def _witness(
        self, base: str, part: Dependencies, anchor_kind: int, *, needs: int = 0, adjacent: bool = True
    ) -> None:
        self._meter.check()
        if not len(part.source):
            return
        paths = Paths(part)
        anchors = self._anchors(part, anchor_kind)
        steps = _STEPS
        for anchor in anchors:
            walk, visited = paths.back(
                anchor, needs=needs | self._needs, adjacent=adjacent, extra=self._extra, steps=steps
            )
            steps -= visited
            if walk is not None:
                self._keep(paths, walk)
            if steps <= 0 or len(self._best.get(base + self._level, ())) >= 4 * _SHOWN:
                break
        if base + self._level not in self._names():
            # The components say that the class is there: any way back from any such edge shows it.
            kind = self._extra if self._extra >= 0 else anchor_kind
            anchors = self._anchors(part, kind)
            if anchors:
                walk, _ = paths.back(anchors[0], adjacent=adjacent)
                if walk is None:
                    raise AssertionError("an edge within a strongly connected component has no way back")
                self._keep(paths, walk)

    def _anchors(self, part: Dependencies, kind: int) -> list[Edge]:
        places = np.flatnonzero((part.kind == kind) & (part.source < part.transactions))
        if len(places) > _ANCHORS:
            places = places[np.linspace(0, len(places) - 1, _ANCHORS).astype(np.int64)]
        return [(int(part.source[i]), kind, int(part.target[i])) for i in places]

    def _single(self, part: Dependencies) -> None:
        """G-single: an anti-dependency whose target leads back to its source by dependencies."""
        self._meter.check()
        if not len(part.source):
            return
        paths = Paths(part)
        steps = _STEPS
        for anchor in self._anchors(part, RW):
            walk, visited = paths.back(anchor, needs=self._needs, anti=False, extra=self._extra, steps=steps)
            steps -= visited
            if walk is not None:
                self._keep(paths, walk)
            if steps <= 0 or len(self._best.get("G-single" + self._level, ())) >= 4 * _SHOWN:
                break
        if "G-single" + self._level in self._names():
            return
        anchor_or_doubt = _some_single(part, self._meter)
        if anchor_or_doubt is None:
            self._cycles.undecided.add("G-single" + self._level)
        elif anchor_or_doubt:
            walk, _ = paths.back(anchor_or_doubt[0], anti=False)
            if walk is not None:
                self._keep(paths, walk)


def _some_single(graph: Dependencies, meter: Meter) -> list[Edge] | None:
    """An anti-dependency that closes a cycle of dependencies, in a list; [] for none, None for undecided."""
    flow = graph.select(graph.kind != RW)
    labels = components(graph.nodes, flow.source, flow.target)
    if bool((labels[flow.source] < labels[flow.target]).any()):
        labels = -labels
    if bool((labels[flow.source] < labels[flow.target]).any()):  # no topological order: no pruning
        labels = np.zeros_like(labels)
    out = _adjacency(flow)
    rank = labels.tolist()
    ends = _adjacency(graph.select(graph.kind == RW))
    visited = 0
    for source, heads in ends.items():
        if source >= graph.transactions:
            continue
        floor = rank[source]
        for head in heads:
            # An anti-dependency may go through relays: what matters is where it ends.
            stack, seen = [head], {head}
            while stack:
                node = stack.pop()
                visited += 1
                relayed = node >= graph.transactions and node in ends
                for target in ends[node] if relayed else out.get(node, ()):
                    if target == source:
                        return [(source, RW, head)]
                    if target not in seen and (relayed or rank[target] >= floor):
                        seen.add(target)
                        stack.append(target)
            if visited > _DECIDING_STEPS:
                return None
        meter.check()
    return []


def _adjacency(graph: Dependencies) -> dict[int, list[int]]:
    out: dict[int, list[int]] = {}
    for source, target in zip(graph.source.tolist(), graph.target.tolist(), strict=True):
        out.setdefault(source, []).append(target)
    return out
