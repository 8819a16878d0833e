"""The resource plane: less CPU, memory, I/O or descriptors for a node, a frozen node, noisy neighbours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from refute.history.fault import Signal
from refute.nemesis.errors import FaultInputError, FaultUnavailableError, NemesisError
from refute.nemesis.plane import Fault, Probe, Readings, Site, Snapshot
from refute.nemesis.resource.limited import LimitedNodes
from refute.nemesis.resource.limits import LIMITS
from refute.nemesis.resource.means import Means
from refute.nemesis.resource.neighbours import Neighbours
from refute.nemesis.resource.starved import StarvedNodes
from refute.nemesis.resource.trial import try_resource
from refute.nemesis.serving import Serving
from refute.nemesis.undo import Undo, verb
from refute.system.placement import Placement


class ResourcePlane:
    """Faults of what a node may use; the children of its processes are under the same limit."""

    name: ClassVar[str] = "resource"
    kinds: ClassVar[frozenset[str]] = frozenset({*LIMITS, "descriptors", "noisy-neighbour"})

    def __init__(self, site: Site) -> None:
        self._site = site
        self._cluster = site.cluster
        serving = Serving(site.cluster)
        limited = LimitedNodes(site, serving)
        self._means: dict[str, Means] = {
            **dict.fromkeys(LIMITS, limited),
            "descriptors": StarvedNodes(site, serving),
            "noisy-neighbour": Neighbours(site, serving),
        }
        self._refused: dict[str, str] = {}

    @staticmethod
    def probe(kind: str) -> Probe:
        """A process of our own is put under the limit and looked at."""
        return try_resource(kind)

    def prepare(self) -> Placement:
        """Control groups, where needed. Raises FaultUnavailableError where they are wanted in vain."""
        for means in self._distinct():
            self._refused |= means.prepare()
        wanted = {kind for plane, kind in self._site.wanted if plane == self.name}
        missing = wanted & set(self._refused)
        if missing and (missing == wanted or wanted != self.kinds):  # who asks for all takes what there is
            kind = min(missing)
            raise FaultUnavailableError(f"{kind}: {self._refused[kind]}")
        return Placement()

    def targets(self, fault: Fault) -> tuple[str, ...]:
        """The nodes themselves; neighbours are noisy to all of them unless some are named."""
        if why := self._refused.get(fault.kind):
            raise NemesisError(f"{fault.kind}: {why}")
        nodes = self._nodes(fault)
        if not nodes:
            raise FaultInputError(f"{fault.kind}: name a node")
        for node in nodes:
            if node not in self._cluster.present:
                raise FaultInputError(f"{fault.kind}: {node} is no node", where=node)
            try:
                self._means[fault.kind].check(fault, node)
            except ValueError as error:
                raise FaultInputError(f"{fault.kind}: {error}") from error
        return nodes

    def undos(self, fault: Fault) -> tuple[Undo, ...]:
        """As the means of the kind says."""
        return self._means[fault.kind].undos(fault)

    def apply(self, fault: Fault, take: Callable[[str], None]) -> Mapping[str, Any]:  # noqa: ARG002
        """As the means of the kind does it."""
        return self._means[fault.kind].apply(fault)

    def measure(self) -> Snapshot:
        """All readings of all means."""
        values: dict[str, Any] = {}
        for means in self._distinct():
            values |= means.measure()
        return values

    def signals(self, fault: Fault, readings: Readings) -> tuple[Signal, ...]:
        """What was enforced, and what was suffered."""
        return self._means[fault.kind].signals(replace(fault, nodes=self._nodes(fault)), readings)

    def is_over(self, fault: Fault) -> bool:  # noqa: ARG002
        """A limit stays until it is lifted."""
        return False

    def heal(self, fault: Fault, version: str | None) -> None:
        """Undo it, and start a node that the limit has killed."""
        for undo in self.undos(fault):
            verb(undo.verb).undo(undo.handle)
        self._means[fault.kind].healed(fault)
        if fault.kind == "memory":
            for node in fault.nodes:
                if not self._cluster.node(node).running:
                    self._cluster.start_node(node, version)

    def verify_healed(self, fault: Fault) -> str | None:
        """What the kernel says of the limits, and who carries the mark of the fault."""
        left = [verb(undo.verb).left(undo.handle) for undo in self.undos(fault)]
        return "; ".join(filter(None, left)) or None

    def close(self) -> None:
        """Control groups and neighbours go."""
        for means in self._distinct():
            means.close()

    def _distinct(self) -> list[Means]:
        return list({id(means): means for means in self._means.values()}.values())

    def _nodes(self, fault: Fault) -> tuple[str, ...]:
        everybody = self._cluster.present if fault.kind == "noisy-neighbour" else ()
        return fault.nodes or everybody
