"""The clock plane: the wall clock of one node jumps, drifts or stands still; the machine's is never set."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from refute.history.fault import Signal
from refute.nemesis.clock.trial import try_clock
from refute.nemesis.errors import FaultInputError, NemesisError
from refute.nemesis.plane import Fault, Probe, Readings, Site, Snapshot, around
from refute.nemesis.preload.build import built_shim
from refute.nemesis.preload.carrying import carried_by_nodes
from refute.nemesis.preload.page import SECOND_NS, ClockSetting, ShimPage
from refute.nemesis.serving import Serving
from refute.nemesis.undo import Undo, still_on, undo_each
from refute.plan.units import seconds
from refute.system.placement import Placement
from refute.system.process_table import parent_of

_FASTEST = 1000.0


class ClockPlane:
    """Faults of what the C library tells the processes of one node about the wall clock.

    Monotonic clocks stay true: they may never go back, and a heal would have to set them back.
    """

    name: ClassVar[str] = "clock"
    kinds: ClassVar[frozenset[str]] = frozenset({"jump", "skew", "drift", "freeze"})

    def __init__(self, site: Site) -> None:
        self._site = site
        self._cluster = site.cluster
        self._pages: dict[str, ShimPage] = {}
        self._refused: dict[str, str] = {}
        self._serving = Serving(site.cluster)
        self._belongs: dict[str, dict[int, bool]] = {}

    @staticmethod
    def probe(kind: str) -> Probe:
        """The shim is built, and a process of our own sees its clock change and be true again."""
        return try_clock(kind)

    def prepare(self) -> Placement:
        """Nodes are started with the shim and a page each. Raises FaultUnavailableError where none can be."""
        carried = carried_by_nodes(self._site, built_shim, ShimPage, "the clock of no node can be changed")
        self._pages, self._refused = carried.pages, carried.refused
        self._belongs = {node: {} for node in self._pages}
        return Placement(nodes=carried.placements)

    def targets(self, fault: Fault) -> tuple[str, ...]:
        """The nodes themselves: each with the shim, and with a true clock so far."""
        if not fault.nodes:
            raise FaultInputError(f"{fault.kind}: name a node")
        if fault.kind == "skew" and len(fault.nodes) < 2:
            raise FaultInputError("skew: name at least two nodes, or write a jump")
        for node in fault.nodes:
            if why := self._refused.get(node):
                raise NemesisError(f"its clock cannot be changed: {why}", where=node)
            if node not in self._pages:
                raise FaultInputError("it is no node with a clock of its own", where=node)
            if (clock := self._pages[node].clock()).on:
                raise NemesisError(f"its clock is off already ({clock.words}): heal that first", where=node)
            self._setting(fault, node)  # a parameter in error is found before anything is written
        return fault.nodes

    def undos(self, fault: Fault) -> tuple[Undo, ...]:
        """The true time is written to each page."""
        return tuple(
            Undo("true-time", {"page": str(self._pages[node].path), "node": node}) for node in fault.nodes
        )

    def apply(self, fault: Fault, take: Callable[[str], None]) -> Mapping[str, Any]:  # noqa: ARG002
        """Write the new setting to each page; the next call of a process sees it."""
        said = {}
        for node in fault.nodes:
            setting = self._setting(fault, node)
            self._pages[node].set_clock(setting)
            said[node] = setting.words
        return {"clocks": said, "on_ns": time.monotonic_ns()}

    def measure(self) -> Snapshot:
        """Of each node: what its clock is told to say, and what its processes were told by the shim."""
        values: dict[str, Any] = {}
        for name, node in list(self._cluster.nodes.items()):
            if (page := self._pages.get(name)) is None:
                continue
            serving = self._serving.listeners(node) if self._cluster.spec.ports else [node.pid]
            own = [count for pid, count in page.counts().items() if self._is_of(name, pid, serving)]
            values[f"{name}.clock"] = page.clock().words
            values[f"{name}.asked"] = sum(count.asked for count in own)
            values[f"{name}.altered"] = sum(count.altered for count in own)
        return values

    def signals(self, fault: Fault, readings: Readings) -> tuple[Signal, ...]:
        """The setting of each page, and how often the processes that serve were told something untrue."""
        signals = []
        for node in fault.nodes:
            signals += [
                Signal(
                    *("injector", f"{node}: its clock", "the page that the shim reads", "changes"),
                    *around(readings, f"{node}.clock"),
                    target=node,
                ),
                Signal(
                    "victim",
                    f"{node}: answers with an altered time",
                    "counted by the shim inside the processes that serve its ports and their children",
                    "increases",
                    *around(readings, f"{node}.altered"),
                    target=node,
                ),
            ]
        return tuple(signals)

    def is_over(self, fault: Fault) -> bool:  # noqa: ARG002
        """A clock stays off until it is healed."""
        return False

    def heal(self, fault: Fault, version: str | None) -> None:  # noqa: ARG002
        """Write the true time to each page; for a node whose clock was ahead this is a jump back."""
        undo_each(self.undos(fault))

    def verify_healed(self, fault: Fault) -> str | None:
        """What the pages say."""
        return still_on(self.undos(fault))

    def close(self) -> None:
        """The pages stay with the run's directory as a record; nobody reads them any more."""

    def _is_of(self, node: str, pid: int, serving: list[int]) -> bool:
        # A process that has ended keeps what was found out about it while it lived.
        known = self._belongs[node]
        if not known.get(pid):
            known[pid] = pid in serving or parent_of(pid) in serving
        return known[pid]

    def _setting(self, fault: Fault, node: str) -> ClockSetting:
        now = time.time_ns()
        given, rate, by_s = fault.parameters, SECOND_NS, 0.0
        if fault.kind == "jump":
            by_s = seconds(given.get("by", "60s")) * (-1 if given.get("back") else 1)
        elif fault.kind == "skew":
            by_s = seconds(given.get("by", "10s")) * (fault.nodes.index(node) + 1) / len(fault.nodes)
        elif fault.kind == "drift":
            factor = float(given.get("factor", 1.5))
            if not 0 < factor <= _FASTEST or factor == 1:
                raise FaultInputError(f"drift: write a factor above 0, other than 1, up to {_FASTEST:g}")
            rate = round(factor * SECOND_NS)
        else:
            rate = 0
        if fault.kind in ("jump", "skew") and by_s == 0:
            raise FaultInputError(f"{fault.kind}: by: a clock that is off by nothing is not off")
        return ClockSetting(now, now + int(by_s * SECOND_NS), rate, True)
