"""Power loss: what was not synced is gone, the node is dead, its file system comes back from its journal."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

from refute.errors import RefuteError
from refute.history.fault import Reading, Signal
from refute.nemesis.errors import FaultInputError
from refute.nemesis.plane import Fault, Probe, Readings, Snapshot
from refute.nemesis.process.stopping import stop
from refute.nemesis.process.undo import handle_of
from refute.nemesis.storage.ext4_image import Ext4Image
from refute.nemesis.storage.family import (
    fewest,
    kill_all,
    listed,
    moments,
    most,
    not_running,
    start_those_that_ended,
    three,
    worst,
)
from refute.nemesis.storage.medium import Medium
from refute.nemesis.storage.user_space.medium import UserSpace
from refute.nemesis.storage.volume import Volume
from refute.nemesis.storage.volumes import Volumes, volume_for_probing
from refute.nemesis.undo import Undo
from refute.plan.fault_entry import ANY
from refute.system.cluster import Cluster

CUT = "write EIO, synced probe there, unsynced probe gone"
_NOT_CUT = "not cut"
_WORKS = "works"


class PowerLoss:
    """Power losses of nodes whose data are on volumes.

    The nodes of one fault lose it at one moment: all stand still before any file system is shut down, all
    file systems are shut down before any node is killed, and all are back before any node can start. A node
    stays off until the fault is healed.
    """

    kinds: ClassVar[frozenset[str]] = frozenset({"power-loss"})

    def __init__(self, cluster: Cluster, volumes: Volumes) -> None:
        self._cluster = cluster
        self._volumes = volumes
        self._probes: dict[str, Reading] = dict.fromkeys(volumes.of, _NOT_CUT)
        counting = (node for node, volume in volumes.of.items() if volume.counts())
        self._dropped: dict[str, int] = dict.fromkeys(counting, 0)

    @staticmethod
    def probe(kind: str) -> Probe:  # noqa: ARG004 (a verb of all families)
        """File systems of our own lose their power: the unsynced file is gone, the synced one is there.

        Each way is tried; `detail` says of each what came of it.
        """
        found = {medium.name: _tried(medium) for medium in (Ext4Image, UserSpace)}
        words = "; ".join(f"{name}: {how}" for name, how in found.items())
        return Probe(_WORKS in found.values(), words, found)

    def targets(self, fault: Fault) -> tuple[str, ...]:
        """The nodes; each on its volume."""
        if not fault.nodes:
            raise FaultInputError("power-loss: name a node, or all")
        version = fault.parameters.get("version")
        if version and not self._cluster.spec.has_version(version):
            raise FaultInputError(f"the system has no version {version!r}", where=listed(fault.nodes))
        asked = fault.parameters.get("file_system", ANY)
        for node in fault.nodes:
            if asked not in (ANY, there := self._volumes.of[node].medium.name):
                raise FaultInputError(
                    f"power-loss: its file system is {there}, not {asked}",
                    where=node,
                    hint="all power losses of a scenario are had on the same one; start a live system with "
                    "the file_system",
                )
            self._volumes.require_used(node)
        return fault.nodes

    def undos(self, fault: Fault) -> tuple[Undo, ...]:
        """Whoever finds a volume shut down kills its node and mounts it again; what stands still goes on."""
        remounts = [remount_undo(self._cluster, node, self._volumes.of[node]) for node in fault.nodes]
        processes = [self._cluster.node(node) for node in self._running(fault)]
        return (
            *remounts,
            *(Undo("continue", handle_of(process.identity, process.members())) for process in processes),
        )

    def apply(self, fault: Fault, take: Callable[[str], None]) -> Mapping[str, Any]:
        """Stop, cut, kill, unmount, mount, look.

        Without a disk there is no processor either. A node that ran on between the cut and its end could
        answer from memory, or take the error of a read for an empty file.
        """
        volumes = {node: self._volumes.of[node] for node in fault.nodes}
        token = _token()
        for volume in volumes.values():
            write_probes(volume, token)
        stop(self._cluster, self._running(fault))
        cut_ns = cut(list(volumes.values()))
        writes = {node: volume.try_to_write() for node, volume in volumes.items()}
        counted = {node: volume.counts() for node, volume in volumes.items()}
        for node, counts in counted.items():
            if counts:
                self._dropped[node] = self._dropped.get(node, 0) + counts["dropped_bytes"]
        exits = kill_all(self._cluster, fault.nodes)
        for node, volume in volumes.items():
            volume.detach()
            take(f"{node}.storage.in_use")
        for node, volume in volumes.items():
            self._probes[node] = _read_back(volume, token, writes[node])
        return {
            "on_ns": max(cut_ns),
            "cut_apart_ms": round((max(cut_ns) - min(cut_ns)) / 1e6, 3),
            "back_after_ms": round((time.monotonic_ns() - max(cut_ns)) / 1e6, 1),
            "exits": exits,
            "probes": {node: self._probes[node] for node in fault.nodes},
            **({"counted": counted} if any(counted.values()) else {}),
        }

    def measure(self) -> Snapshot:
        """What the last power loss of each node left of its probes; how many bytes it dropped, if counted."""
        return {f"{node}.storage.probes": found for node, found in self._probes.items()} | {
            f"{node}.storage.dropped_bytes": count for node, count in self._dropped.items()
        }

    def signals(self, fault: Fault, readings: Readings) -> tuple[Signal, ...]:
        """The probes of all nodes over the cut, and that there was something of each node to lose."""
        before, during, after = moments(readings)
        nodes = fault.nodes
        counted = [
            Signal(
                "injector",
                f"{node}: bytes that were dropped",
                "counted by the file system in user space",
                "increases",
                *three(readings, f"{node}.storage.dropped_bytes"),
            )
            for node in nodes
            if node in self._dropped
        ]
        return (
            Signal(
                "injector",
                f"{listed(nodes)}: probe files over the cut",
                "written before the cut, read after the journal was replayed",
                "becomes",
                _NOT_CUT,
                worst(during, nodes, "storage.probes", CUT),
                worst(after, nodes, "storage.probes", CUT),
                CUT,
            ),
            Signal(
                "victim",
                f"{listed(nodes)}: files of the node on the file system that was cut",
                "its open files, and those in its data directory",
                "stops",
                fewest(before, nodes, "storage.in_use"),
                most(during, nodes, "storage.in_use"),
                fewest(after, nodes, "storage.in_use"),
            ),
            *counted,
        )

    def heal(self, fault: Fault, version: str | None) -> None:
        """Power is back: the nodes are started with what is left."""
        for node in fault.nodes:
            volume = self._volumes.of[node]
            if volume.broken():
                kill_all(self._cluster, [node])
                volume.detach()
                volume.attach()
        start_those_that_ended(self._cluster, fault.nodes, version or fault.parameters.get("version"))

    def verify_healed(self, fault: Fault) -> str | None:
        """Every volume takes writes, every node runs."""
        broken = {node: self._volumes.of[node].broken() for node in fault.nodes}
        words = "; ".join(f"{node}: a write fails: {found}" for node, found in broken.items() if found)
        return words or not_running(self._cluster, fault.nodes)

    def close(self) -> None:
        """The volumes are not ours."""

    def _running(self, fault: Fault) -> list[str]:
        return [node for node in fault.nodes if self._cluster.node(node).running]


def cut(volumes: Sequence[Volume]) -> list[int]:
    """Shut all of them down at the same time; when each was (monotonic ns).

    A file system takes no writes from the moment of the call on, but it returns only when the end of the
    journal is on the disk: so nobody waits for that of another. Raises NemesisError.
    """

    def one(volume: Volume) -> int:
        called_ns = time.monotonic_ns()
        volume.shut_down()
        return called_ns

    with ThreadPoolExecutor(len(volumes)) as pool:
        return list(pool.map(one, volumes))


def write_probes(volume: Volume, token: bytes) -> None:
    """One that is synced and one that is not."""
    volume.write_synced(token)
    volume.write_unsynced(token)


def remount_undo(cluster: Cluster, node: str, volume: Volume) -> Undo:
    """Undo for a file system that takes no writes any more."""
    process = cluster.nodes.get(node)
    leader = [process.identity.pid, process.identity.started] if process else None
    return Undo("remount", {**volume.handle(), "node": leader})


def _read_back(volume: Volume, token: bytes, write: str) -> str:
    volume.detach()
    volume.attach()
    return f"write {write}, {volume.what_is_there(token)}"


def _tried(medium: type[Medium]) -> str:
    if medium.needs_root and os.geteuid() != 0:
        return "it needs root"
    try:
        with volume_for_probing(medium) as volume:
            token = _token()
            write_probes(volume, token)
            volume.shut_down()
            found = _read_back(volume, token, volume.try_to_write())
    except (RefuteError, OSError) as error:
        return str(error)
    return _WORKS if found == CUT else f"after the cut: {found}"


def _token() -> bytes:
    return uuid.uuid4().hex.encode()
