"""Disk full and read-only: a node's writes are refused; what is there can still be read."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from refute.history.fault import Reading, Signal
from refute.nemesis.errors import FaultInputError, NemesisError
from refute.nemesis.plane import Fault, Probe, Readings, Snapshot
from refute.nemesis.storage.data_files import regular_files
from refute.nemesis.storage.ext4_image import Ext4Image
from refute.nemesis.storage.family import kill_all, listed, not_running, start_those_that_ended, three, worst
from refute.nemesis.storage.media import suitable
from refute.nemesis.storage.node_log import NodeLogs
from refute.nemesis.storage.power_loss import remount_undo
from refute.nemesis.storage.volume import Volume
from refute.nemesis.storage.volumes import Volumes, no_medium, seen_by, volume_for_probing
from refute.nemesis.undo import Undo
from refute.plan.units import byte_count
from refute.system.cluster import Cluster

_ERROR = {"disk-full": "ENOSPC", "read-only": "EROFS"}
_FILLED_WITHIN_S = 10.0
_SLACK_BYTES = 1 << 20


class RefusedWrites:
    """Volumes that are full, or that the kernel has made read-only after an error.

    A node that ended because of it is started again by the heal.
    """

    kinds: ClassVar[frozenset[str]] = frozenset(_ERROR)

    def __init__(self, cluster: Cluster, volumes: Volumes) -> None:
        self._cluster = cluster
        self._volumes = volumes
        self._writes: dict[str, Reading] = dict.fromkeys(volumes.of, "ok")
        self._logs = {kind: NodeLogs(cluster, kind) for kind in _ERROR}
        self._on: dict[str, str] = {}

    @staticmethod
    def probe(kind: str) -> Probe:
        """A file system of our own is filled, or made read-only while a file is open for writing."""
        media = suitable({kind}, root=os.geteuid() == 0)
        if not media:
            return Probe(False, no_medium({kind}, None))
        with volume_for_probing(media[0]) as volume:
            held = os.open(volume.namespace.outside(volume.data) / "held", os.O_CREAT | os.O_WRONLY, 0o600)
            try:
                _refuse(volume, kind, 0)
                found = volume.try_to_write()
            finally:
                os.close(held)
        works = found == _ERROR[kind]
        return Probe(works, "" if works else f"a write then ends with {found}")

    def targets(self, fault: Fault) -> tuple[str, ...]:
        """The nodes; each on its volume, and none under a fault of these kinds already."""
        if not fault.nodes:
            raise FaultInputError(f"{fault.kind}: name a node")
        for node in fault.nodes:
            self._volumes.require_used(node)
            if node in self._on:
                raise NemesisError(f"{self._on[node]} is on there already", where=node)
            made_of = self._volumes.of[node].medium
            if fault.kind == "read-only" and not isinstance(made_of, Ext4Image):
                raise NemesisError(f"its file system ({made_of.name}) has no such error", where=node)
            self._writes[node] = self._volumes.of[node].try_to_write()
        return fault.nodes

    def undos(self, fault: Fault) -> tuple[Undo, ...]:
        """The filling file is removed; a read-only volume is mounted again, its node killed for it."""
        if fault.kind == "read-only":
            return tuple(remount_undo(self._cluster, node, self._volumes.of[node]) for node in fault.nodes)
        return tuple(Undo("empty", self._volumes.of[node].handle()) for node in fault.nodes)

    def apply(self, fault: Fault, take: Callable[[str], None]) -> Mapping[str, Any]:  # noqa: ARG002 (a verb)
        """Refuse, and try to write."""
        free = byte_count(fault.parameters.get("free", "0B"))
        self._logs[fault.kind].follow(fault.nodes)
        for node in fault.nodes:
            self._on[node] = fault.kind
            _refuse(self._volumes.of[node], fault.kind, free)
        on_ns = time.monotonic_ns()
        for node in fault.nodes:
            self._writes[node] = self._volumes.of[node].try_to_write(free)
        return {"on_ns": on_ns, "writes": {node: self._writes[node] for node in fault.nodes}}

    def measure(self) -> Snapshot:
        """How a write of ours ended last; how much each node sees free, and whether it may open its files."""
        values: dict[str, Reading] = {}
        for node in self._volumes.of:
            values[f"{node}.storage.write"] = self._writes[node]
            values[f"{node}.storage.sees_free"] = self._seen_free(node)
            values[f"{node}.storage.opens"] = self._opens(node)
            process = self._cluster.nodes.get(node)
            values[f"{node}.storage.exit"] = str(process.exit) if process and process.exit else "running"
        for logs in self._logs.values():
            values |= logs.measure()
        return values

    def signals(self, fault: Fault, readings: Readings) -> tuple[Signal, ...]:
        """How writes of ours end; what each node sees of it, says of it, and whether it has ended."""
        before, during, after = readings.before, readings.during, readings.after
        error, nodes = _ERROR[fault.kind], fault.nodes
        injector = Signal(
            "injector",
            f"{listed(nodes)}: a write into the file system",
            "a write of our own",
            "becomes",
            worst(before, nodes, "storage.write", "ok"),
            worst(during, nodes, "storage.write", error),
            worst(after, nodes, "storage.write", "ok"),
            error,
        )
        victims: list[Signal] = []
        for node in nodes:
            victims += [self._as_the_node_sees_it(fault, node, readings)]
            victims += [self._logs[fault.kind].signal(node, readings)]
            how = three(readings, f"{node}.storage.exit")
            victims += [Signal("victim", f"{node}: how it ended", "exit status", "changes", *how)]
        return (injector, *victims)

    def heal(self, fault: Fault, version: str | None) -> None:
        """Give space back, or mount again; nodes that have ended are started."""
        for node in fault.nodes:
            volume = self._volumes.of[node]
            if fault.kind == "disk-full":
                empty(volume)
            elif volume.broken():
                kill_all(self._cluster, [node])
                volume.detach()
                volume.attach()
            self._writes[node] = volume.try_to_write()
        self._logs[fault.kind].leave(fault.nodes)
        start_those_that_ended(self._cluster, fault.nodes, version)

    def verify_healed(self, fault: Fault) -> str | None:
        """A write is taken everywhere, and every node runs."""
        found = {node: self._volumes.of[node].try_to_write() for node in fault.nodes}
        for node in fault.nodes:
            if found[node] == "ok":
                self._on.pop(node, None)
        words = "; ".join(f"{node}: a write fails: {how}" for node, how in found.items() if how != "ok")
        return words or not_running(self._cluster, fault.nodes)

    def close(self) -> None:
        """The volumes are not ours."""

    def _as_the_node_sees_it(self, fault: Fault, node: str, readings: Readings) -> Signal:
        if fault.kind == "read-only":
            name, source = f"{node}: opening its newest file for writing", "through the node's own root"
            seen = three(readings, f"{node}.storage.opens")
            return Signal("victim", name, source, "becomes", *seen, "EROFS")
        free = byte_count(fault.parameters.get("free", "0B"))
        before, during, after = (_beyond(seen, free) for seen in three(readings, f"{node}.storage.sees_free"))
        return Signal(
            "victim",
            f"{node}: bytes free beyond those that are left to it",
            "file system of its data directory, as the node sees it",
            "stops",
            before,
            during,
            after,
        )

    def _seen_free(self, node: str) -> Reading:
        path = self._own_data(node)
        if path is None:
            return None
        try:
            found = os.statvfs(path)
        except OSError:
            return None
        return found.f_bavail * found.f_frsize

    def _opens(self, node: str) -> Reading:
        path = self._own_data(node)
        names = regular_files(path) if path is not None else []
        if path is None or not names:
            return None
        try:
            os.close(os.open(path / names[0], os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK))
        except OSError as error:
            return errno.errorcode.get(error.errno or 0, str(error.errno))
        return "ok"

    def _own_data(self, node: str) -> Path | None:
        process = self._cluster.nodes.get(node)
        if process is None or not process.running:
            return None
        return seen_by(process.pid, self._volumes.of[node].data)


def filler_of(volume: Volume) -> Path:
    """The file that fills a volume, seen from outside."""
    return volume.namespace.outside(volume.own / "filler")


def fill(volume: Volume, free: int) -> None:
    """Leave so many bytes free. The filling is synced, so that power loss does not make room.

    Raises NemesisError where others make room as fast as it is filled.
    """
    handle = os.open(filler_of(volume), os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        size, deadline = 0, time.monotonic() + _FILLED_WITHIN_S
        step = 1 << 30
        while (spare := volume.free_bytes() - free) > 0 and step >= 1024:
            if time.monotonic() > deadline:
                raise NemesisError(f"{spare} bytes are still free")
            step = min(step, spare)
            try:
                os.posix_fallocate(handle, size, step)
                size += step
            except OSError as error:  # what is free is not free as one piece: blocks of the index are needed
                if error.errno != errno.ENOSPC:
                    raise
                step //= 2
        os.fsync(handle)
    finally:
        os.close(handle)


def empty(volume: Volume) -> None:
    """Take the filling away; again does no harm."""
    filler_of(volume).unlink(missing_ok=True)


def make_read_only(volume: Volume) -> None:
    """Let the kernel find an error, upon which it makes the file system read-only, as it does in earnest.

    What was written until now is synced first. Raises NemesisError.
    """
    minor = os.minor(volume.device())
    trigger = Path(f"/sys/fs/ext4/loop{minor}/trigger_fs_error")
    try:
        volume.sync()
        trigger.write_text("refute")
    except OSError as error:
        raise NemesisError(f"{trigger}: {error.strerror}") from error


def _refuse(volume: Volume, kind: str, free: int) -> None:
    if kind == "disk-full":
        fill(volume, free)
    else:
        make_read_only(volume)


def _beyond(seen: Reading, free: int) -> Reading:
    if seen is None or isinstance(seen, str):
        return None
    return 0 if seen <= free + _SLACK_BYTES else int(seen) - free
