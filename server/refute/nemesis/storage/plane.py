"""The storage plane: faults of what a node keeps on disk, by family."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from refute.errors import RefuteError
from refute.history.fault import Reading, Signal
from refute.nemesis.errors import FaultUnavailableError, NemesisError
from refute.nemesis.plane import Fault, Probe, Readings, Site, Snapshot
from refute.nemesis.storage.call_faults import CallFaults
from refute.nemesis.storage.damaged_files import DamagedFiles, keeping
from refute.nemesis.storage.data_files import DataFiles
from refute.nemesis.storage.family import Family
from refute.nemesis.storage.power_loss import PowerLoss
from refute.nemesis.storage.refused_writes import RefusedWrites
from refute.nemesis.storage.volumes import Volumes
from refute.nemesis.undo import Undo
from refute.system.placement import NodePlacement, Placement

_FAMILIES: tuple[type[Family], ...] = (PowerLoss, RefusedWrites, CallFaults, DamagedFiles)
_ON_VOLUMES = PowerLoss.kinds | RefusedWrites.kinds
_FAMILY_OF = {kind: family for family in _FAMILIES for kind in family.kinds}


class StoragePlane:
    """Faults of storage. Those that need a file system of their own have to be wanted before the start."""

    name: ClassVar[str] = "storage"
    kinds: ClassVar[frozenset[str]] = frozenset(_FAMILY_OF)

    def __init__(self, site: Site) -> None:
        self._site = site
        self._cluster = site.cluster
        self._volumes: Volumes | None = None
        self._families: dict[str, Family] = {}

    @staticmethod
    def probe(kind: str) -> Probe:
        """Tried on a file system, a process or a file of our own."""
        return _FAMILY_OF[kind].probe(kind)

    def prepare(self) -> Placement:
        """A volume for each node where a fault is wanted that needs one. Raises FaultUnavailableError."""
        wanted = {kind for plane, kind in self._site.wanted if plane == self.name}
        nodes: dict[str, NodePlacement] = {}
        if wanted & _ON_VOLUMES:
            if os.geteuid() != 0 and any(plane == "netns" for plane, _ in self._site.wanted):
                raise FaultUnavailableError(
                    "only root can give a node both a file system and a network of its own: an ordinary user "
                    "has each in a user namespace, and a process is in one of them",
                    hint="put the faults of storage and of netns into two scenarios, or use the plane proxy",
                )
            self._volumes = Volumes.for_faults(self._site, wanted & _ON_VOLUMES)
            nodes = {node: self._volumes.placement(node) for node in self._volumes.of}
            self._add(PowerLoss(self._cluster, self._volumes))
            self._add(RefusedWrites(self._cluster, self._volumes))
        files = DataFiles(self._cluster, self._volumes)
        calls = CallFaults(self._site, files)
        self._add(calls)
        self._add(DamagedFiles(self._site, files))
        if "swapped-file" in wanted:
            keep = keeping(self._site, {node: self._data(node) for node in self._cluster.spec.everyone})
            nodes = {node: keep[node].with_(nodes.get(node, NodePlacement())) for node in keep}
        for node, placed in calls.prepare(frozenset(wanted) & calls.kinds).items():
            nodes[node] = placed.with_(nodes.get(node, NodePlacement()))
        return Placement(nodes=nodes)

    def targets(self, fault: Fault) -> tuple[str, ...]:
        """The nodes themselves. Raises FaultInputError, NemesisError."""
        return self._family(fault).targets(fault)

    def undos(self, fault: Fault) -> tuple[Undo, ...]:
        """As its family says."""
        return self._family(fault).undos(fault)

    def apply(self, fault: Fault, take: Callable[[str], None]) -> Mapping[str, Any]:
        """As its family says."""
        return self._family(fault).apply(fault, take)

    def measure(self) -> Snapshot:
        """The readings of all families that are there."""
        values: dict[str, Reading] = {}
        if self._volumes is not None:
            with suppress(OSError, RefuteError):
                values |= self._volumes.measure()
        for family in dict.fromkeys(self._families.values()):
            with suppress(OSError, RefuteError):
                values |= family.measure()
        return values

    def signals(self, fault: Fault, readings: Readings) -> tuple[Signal, ...]:
        """As its family says."""
        return self._family(fault).signals(fault, readings)

    def is_over(self, fault: Fault) -> bool:  # noqa: ARG002 (a verb of all planes)
        """None ends by itself."""
        return False

    def heal(self, fault: Fault, version: str | None) -> None:
        """As its family says."""
        self._family(fault).heal(fault, version)

    def verify_healed(self, fault: Fault) -> str | None:
        """As its family says."""
        return self._family(fault).verify_healed(fault)

    def close(self) -> None:
        """Volumes go; the nodes have ended."""
        for family in dict.fromkeys(self._families.values()):
            family.close()
        if self._volumes is not None:
            self._volumes.close()

    def _data(self, node: str) -> Path:
        return self._volumes.of[node].data if self._volumes else self._cluster.data_directory(node)

    def _add(self, family: Family) -> None:
        self._families |= dict.fromkeys(family.kinds, family)

    def _family(self, fault: Fault) -> Family:
        if fault.kind not in self._families:
            raise NemesisError(
                f"{fault.kind} needs the nodes' data on a file system of their own, from their start on",
                hint=f"ask for it when the system is started: planes: [storage/{fault.kind}]",
            )
        return self._families[fault.kind]
