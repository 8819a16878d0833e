"""Limits of a node's control groups: CPU, memory, I/O, and the freezer."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from refute.history.fault import Reading, Signal
from refute.nemesis.errors import FaultInputError, NemesisError
from refute.nemesis.plane import (
    Fault,
    Readings,
    Site,
    Snapshot,
    Timed,
    around,
    cpu_time_stops,
    rate,
    rate_before,
)
from refute.nemesis.resource.cgroups import Group, Hierarchy, hierarchy
from refute.nemesis.resource.device import device_of, moved_bytes
from refute.nemesis.resource.limits import LIMITS, Memory, share_in_thousandths
from refute.nemesis.serving import Serving
from refute.nemesis.undo import Undo
from refute.plan.units import byte_count, bytes_per_second
from refute.system.cpu_time import cpu_ns
from refute.system.node import NodeProcess
from refute.system.process_table import state

_ENFORCED = {
    "cpu": "periods in which it was throttled",
    "memory": "times that its memory reached the limit",
    "io": "bytes that went through its control group",
}
_SUFFERED = {
    "cpu": "time for which it was kept from running",
    "memory": "processes killed for want of memory",
}
_WHILE_INSIDE = "control group, counted while the processes that serve the node's ports are in it"


class LimitedNodes:
    """Each node lives in groups of its own from its start on: all of its memory is charged to them."""

    def __init__(self, site: Site, serving: Serving) -> None:
        self._site = site
        self._cluster = site.cluster
        self._serving = serving
        self._groups: dict[tuple[str, str], Group] = {}
        self._inside: dict[tuple[str, str], bool] = {}

    def prepare(self) -> Mapping[str, str]:
        """A group for each node in each hierarchy that is needed; nodes are put into them as they start."""
        refused = {}
        for kind in sorted({kind for plane, kind in self._site.wanted if plane == "resource"} & set(LIMITS)):
            try:
                self._make_groups(kind)
            except (NemesisError, OSError) as error:
                refused[kind] = str(error)
        self._cluster.on_started.append(self._take_in)
        return refused

    def check(self, fault: Fault, node: str) -> None:
        """In a group, without a limit so far, and with a value that can be read."""
        group = self._group(fault, node)
        said = LIMITS[fault.kind].said(group)
        if said != "none":
            raise NemesisError(f"its {fault.kind} is limited already ({said}): heal that first", where=node)
        self._value(fault, node)

    def undos(self, fault: Fault) -> tuple[Undo, ...]:
        """Lift exactly this limit of exactly these groups."""
        return tuple(
            Undo("lift-limit", {"limit": fault.kind, "node": node, **_handle(self._group(fault, node))})
            for node in fault.nodes
        )

    def apply(self, fault: Fault) -> Mapping[str, Any]:
        """Write the limit of each group."""
        said = {}
        for node in fault.nodes:
            group = self._group(fault, node)
            try:
                LIMITS[fault.kind].put(group, self._value(fault, node))
            except OSError as error:
                raise NemesisError(f"the limit is refused: {error.strerror}", where=node) from error
            said[node] = LIMITS[fault.kind].said(group)
        return {"limits": said}

    def measure(self) -> Snapshot:
        """Of each group: its limit, what was enforced and suffered; CPU time and bytes moved."""
        values: dict[str, Reading] = {}
        for (name, kind), group in self._groups.items():
            if (node := self._cluster.nodes.get(name)) is None:
                continue
            limit, counted = LIMITS[kind], LIMITS[kind].counters(group)
            values[f"{name}.{kind}.limit"] = limit.said(group)
            values[f"{name}.{kind}.enforced"] = counted["enforced"]
            inside = self._is_inside(name, kind, self._serving.pids(node), group)
            values[f"{name}.{kind}.suffered"] = counted["suffered"] if inside else None
            if kind == "freezer":
                values[f"{name}.freezer.cpu_ns"] = cpu_ns(self._serving.pids(node))
            if kind == "io":
                values[f"{name}.io.moved"] = moved_bytes(group.members()) if inside else None
        return values

    def signals(self, fault: Fault, readings: Readings) -> tuple[Signal, ...]:
        """What the kernel enforced, and what the processes of the node suffered."""
        signals: list[Signal] = []
        for node in fault.nodes:
            prefix = f"{node}.{fault.kind}"
            if fault.kind == "freezer":
                signals += _frozen(node, readings)
                continue
            signals.append(
                Signal(
                    *("injector", f"{node}: {_ENFORCED[fault.kind]}", "its control group", "increases"),
                    *around(readings, f"{prefix}.enforced"),
                    target=node,
                )
            )
            if fault.kind == "io":
                signals.append(_within(node, self._rate(fault), readings))
            else:
                signals.append(
                    Signal(
                        *("victim", f"{node}: {_SUFFERED[fault.kind]}", _WHILE_INSIDE, "increases"),
                        *around(readings, f"{prefix}.suffered"),
                        target=node,
                    )
                )
        return tuple(signals)

    def healed(self, fault: Fault) -> None:
        """The groups stay until the run is over."""

    def close(self) -> None:
        """Remove the groups; nobody is left in them by now."""
        for group in dict.fromkeys(self._groups.values()):
            group.dissolve(group.path.parent)
        self._groups.clear()

    def _make_groups(self, kind: str) -> None:
        place = _hierarchy_for(kind)
        for number, node in enumerate(self._cluster.spec.everyone, 1):
            group = Group(place.version, place.root / f"refute-{self._site.ledger.run}-{number}")
            if group not in self._groups.values():
                undo = Undo("dissolve-group", {"back": str(place.own), **_handle(group)})
                self._site.ledger.resource(f"control group {group.path}", undo)
                group.create()
            self._groups[node, kind] = group

    def _take_in(self, node: NodeProcess) -> None:
        for group in {group for (name, _), group in self._groups.items() if name == node.node}:
            # What it started before that is moved too; what it starts from then on is born there.
            group.add(node.pid)
            while outside := {member.pid for member in node.members()} - set(group.members()):
                for pid in outside:
                    group.add(pid)

    def _group(self, fault: Fault, node: str) -> Group:
        if (node, fault.kind) not in self._groups:
            raise NemesisError(
                "the nodes were not started in control groups of their own",
                where=node,
                hint=f"ask for it when the system is started: planes: [resource/{fault.kind}]",
            )
        return self._groups[node, fault.kind]

    def _is_inside(self, node: str, kind: str, serving: list[int], group: Group) -> bool:
        # Of those that are gone it holds what was seen while they lived: a limit may have killed them.
        living = {pid for pid in serving if state(pid) not in ("", "Z", "X")}
        if living:
            self._inside[node, kind] = living <= set(group.members())
        return self._inside.get((node, kind), False)

    def _value(self, fault: Fault, node: str) -> str:
        given = fault.parameters
        if fault.kind == "cpu":
            return share_in_thousandths(float(given.get("share", 0.1)))
        if fault.kind == "memory":
            if "spare" in given and "limit" in given:
                raise FaultInputError("memory: write limit or spare, not both")
            if "spare" not in given:
                return str(byte_count(given.get("limit", "256MiB")))
            return str(Memory().used(self._group(fault, node)) + byte_count(given["spare"]))
        if fault.kind == "io":
            return f"{device_of(Path(self._cluster.variables(node)['data']))} {round(self._rate(fault))}"
        return "on"

    @staticmethod
    def _rate(fault: Fault) -> float:
        rate_ = bytes_per_second(fault.parameters.get("rate", "1MB/s"))
        if rate_ < 1:
            raise FaultInputError("io: rate: write at least 1B/s")
        return rate_


def _hierarchy_for(kind: str) -> Hierarchy:
    return hierarchy(LIMITS[kind].controllers)


def _handle(group: Group) -> dict[str, Any]:
    return {"version": group.version, "group": str(group.path)}


def _frozen(node: str, readings: Readings) -> list[Signal]:
    return [
        Signal(
            *("injector", f"{node}: its control group", "state of the group", "becomes"),
            *around(readings, f"{node}.freezer.limit"),
            "frozen",
            target=node,
        ),
        cpu_time_stops(node, f"{node}.freezer.cpu_ns", readings),
    ]


def _within(node: str, limit: float, readings: Readings) -> Signal:
    moved = f"{node}.io.moved"

    def within(begin: Timed | None, end: Timed | None) -> bool | None:
        seen = rate(begin, end, moved)
        return None if seen is None else seen <= 1.5 * limit

    before = rate_before(readings, moved)
    return Signal(
        "victim",
        f"{node}: it moves no more than half above {limit:.0f} bytes per second",
        "bytes read and written by its processes",
        "becomes",
        None if before is None else before <= 1.5 * limit,
        within(readings.settled or readings.start, readings.during),
        within(readings.during, readings.after),
        True,
        target=node,
    )
