"""Damaged files: while a node is down a file of it becomes other than it was, and it is started with that."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, ClassVar

from refute.history.fault import Reading, Signal
from refute.nemesis.errors import FaultInputError, NemesisError
from refute.nemesis.plane import Fault, Probe, Readings, Site, Snapshot
from refute.nemesis.storage.damage import copy_of, damage, digest_of, mark_unread, put_back, was_read
from refute.nemesis.storage.data_files import DataFiles, regular_files
from refute.nemesis.storage.family import kill_all, not_running
from refute.nemesis.storage.node_log import NodeLogs
from refute.nemesis.undo import Undo
from refute.system.errors import ClusterError
from refute.system.placement import NodePlacement

_NOT_STARTED = "not started"
_READY = "ready"

# The times of access are set back, so that reading for the copy does not pass for reading by the node.
_KEEP = (
    'rm -rf "$2" && mkdir -p "$1" "$2" && cp -a "$1/." "$2/" && '
    '(cd "$2" && find . -type f -exec touch -a -r {} "$1/{}" ";") || '
    '{ echo "refute: $1 cannot be copied" >&2; exit 69; }; shift 2; exec "$@"'
)


@dataclass(slots=True)
class _Damaged:
    """One damaged file: where it is, its digests, its copy, and what came of the next start."""

    name: str
    path: Path
    original: Path
    ran: bool
    before: str = ""
    after: str = ""
    unread_ns: int | None = None
    start: str = _NOT_STARTED


class DamagedFiles:
    """Damage that stays. A node that runs is killed for it, and is started by the heal.

    A node that ends when it is started with the damage is right to do so: how it ended is the evidence. It
    gets its file back then, so that the run can go on.
    """

    kinds: ClassVar[frozenset[str]] = frozenset({"torn-tail", "bit-flip", "lost-file", "swapped-file"})

    def __init__(self, site: Site, files: DataFiles) -> None:
        self._site = site
        self._cluster = site.cluster
        self._files = files
        self._logs = NodeLogs(site.cluster, "damage")
        self._damaged: dict[str, dict[str, _Damaged]] = {}

    @staticmethod
    def probe(kind: str) -> Probe:
        """A file of our own is damaged."""
        with tempfile.TemporaryDirectory(prefix="refute-probe-") as place:
            path, earlier = Path(place, "file"), Path(place, "earlier")
            path.write_bytes(bytes(range(256)))
            earlier.write_bytes(b"earlier")
            before = digest_of(path)
            damage(path, kind, {}, Random(1), earlier)
            return Probe(
                digest_of(path) != before, "" if digest_of(path) != before else "it stayed as it was"
            )

    @staticmethod
    def earlier_versions(site: Site) -> Path:
        """Where each node's data of its last start are kept, where a fault is wanted that needs them."""
        return site.run_dir / "storage" / "earlier"

    def targets(self, fault: Fault) -> tuple[str, ...]:
        """The nodes; each with a file that matches."""
        if not fault.nodes:
            raise FaultInputError(f"{fault.kind}: name a node")
        if "file" not in fault.parameters:
            raise FaultInputError(
                f"{fault.kind}: file: write a pattern for the file's path, such as wal/*.log"
            )
        for node in fault.nodes:
            name = self._files.newest(node, str(fault.parameters["file"]))
            self._earlier(fault, node, name)
        return fault.nodes

    def undos(self, fault: Fault) -> tuple[Undo, ...]:  # noqa: ARG002 (a verb)
        """None: the damage is meant to stay, in data that end with the run."""
        return ()

    def apply(self, fault: Fault, take: Callable[[str], None]) -> Mapping[str, Any]:  # noqa: ARG002 (a verb)
        """Kill the nodes that run, and damage one file of each."""
        self._logs.follow(fault.nodes)
        running = {node: self._cluster.node(node).running for node in fault.nodes}
        exits = kill_all(self._cluster, fault.nodes)
        done = {}
        damaged = self._damaged[fault.id] = {}
        for node in fault.nodes:
            name = self._files.newest(node, str(fault.parameters["file"]))  # what it has left behind
            path = self._files.folder(node) / name
            original = self._site.run_dir / "storage" / f"{fault.id}-{node}-{path.name}.original"
            copy_of(path, original)
            one = damaged[node] = _Damaged(name, path, original, running[node], before=digest_of(path))
            earlier = self._earlier(fault, node, name)
            did = damage(path, fault.kind, fault.parameters, self._site.rng, earlier)
            one.after = digest_of(path)
            one.unread_ns = mark_unread(path)
            done[node] = {"file": name, "copy": str(original), **did, "digests": [one.before, one.after]}
        return {"exits": exits, "damaged": done}

    def measure(self) -> Snapshot:
        """Digests around each damage, whether the file was read since, and what came of the start."""
        values: dict[str, Reading] = {}
        for fault, damaged in list(self._damaged.items()):
            for node, one in list(damaged.items()):
                here = f"{node}.storage.{fault}"
                values |= {f"{here}.before": one.before or None, f"{here}.after": one.after or None}
                values[f"{here}.read"] = was_read(one.path, one.unread_ns) if one.after else None
                values[f"{here}.start"] = one.start
        return values | dict(self._logs.measure())

    def signals(self, fault: Fault, readings: Readings) -> tuple[Signal, ...]:
        """The digests; and of the start that came after: how it went, what was said, whether it was read.

        The damage stays, so that the readings after the heal are those of the time when it is on.
        """
        now = (readings.after or readings.during, readings.after)
        signals: list[Signal] = []
        for node, one in self._damaged.get(fault.id, {}).items():
            here = f"{node}.storage.{fault.id}"
            read, start = (
                now[0].values.get(f"{here}.{name}") if now[0] else None for name in ("read", "start")
            )
            before, after = (
                now[0].values.get(f"{here}.{name}") if now[0] else None for name in ("before", "after")
            )
            signals += [
                Signal("injector", f"{node}: digest of {one.name}", "SHA-256", "changes", before, after),
                Signal(
                    "victim",
                    f"{node}: {one.name} is read, or made anew, after the damage",
                    "time of access",
                    "becomes",
                    False,
                    read,
                    None,
                    True,
                ),
                Signal(
                    "victim",
                    f"{node}: how it starts",
                    "its exit, or its readiness",
                    "changes",
                    _READY if one.ran else None,
                    None if start == _NOT_STARTED else start,
                ),
                self._logs.signal(node, readings, until_after=True),
            ]
        return tuple(signals)

    def heal(self, fault: Fault, version: str | None) -> None:
        """Start the nodes with the damage; whoever ends because of it gets its file back."""
        damaged = self._damaged.get(fault.id, {})
        waiting = [node for node in fault.nodes if not self._cluster.node(node).running]
        for node in waiting:
            self._cluster.start_node(node, version)
        for node in waiting:
            one = damaged.get(node)
            if one is None or one.start != _NOT_STARTED:
                continue
            try:
                self._cluster.wait_ready([node])
                one.start = _READY
            except ClusterError:
                ended = self._cluster.node(node).exit
                one.start = str(ended) if ended else "not ready in time"
                if ended:
                    put_back(one.original, one.path)
                    self._cluster.start_node(node, version)
        self._logs.leave(fault.nodes)

    def verify_healed(self, fault: Fault) -> str | None:
        """Every node runs."""
        return not_running(self._cluster, fault.nodes)

    def close(self) -> None:
        """Earlier versions are no evidence; the originals of what was damaged are kept."""
        remove_copies(self.earlier_versions(self._site))

    def _earlier(self, fault: Fault, node: str, name: str) -> Path | None:
        if fault.kind != "swapped-file":
            return None
        kept = self.earlier_versions(self._site) / node
        if name not in regular_files(kept):
            raise NemesisError(
                f"there is no earlier version of {name}: it was not there when the node was started last",
                where=node,
                hint="restart the node once before, or ask for planes: [storage/swapped-file] at the start",
            )
        return kept / name


def keeping(site: Site, data: Mapping[str, Path]) -> dict[str, NodePlacement]:
    """What makes each start of a node keep a copy of its data as they are then, before it runs."""
    kept = DamagedFiles.earlier_versions(site)
    site.ledger.resource("earlier versions", Undo("remove-copies", {"folder": str(kept)}))
    return {
        node: NodePlacement(prefix=("sh", "-c", _KEEP, "refute-keep", str(folder), str(kept / node)))
        for node, folder in data.items()
    }


def remove_copies(folder: Path) -> None:
    """Remove the copies of the nodes' data."""
    shutil.rmtree(folder, ignore_errors=True)
