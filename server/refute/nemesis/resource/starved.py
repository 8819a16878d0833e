"""Nodes that may open no more files and sockets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refute.history.fault import Reading, Signal
from refute.nemesis.errors import NemesisError
from refute.nemesis.plane import Fault, Readings, Site, Snapshot, around
from refute.nemesis.resource.descriptors import can_still_open, handle_of, limit_of, set_soft_limit
from refute.nemesis.serving import Serving
from refute.nemesis.undo import Undo
from refute.system.node import NodeProcess
from refute.system.process_table import ProcessId, identify


class StarvedNodes:
    """The soft limit of open descriptors is lowered for all processes of the node; the hard limit stays."""

    def __init__(self, site: Site, serving: Serving) -> None:
        self._cluster = site.cluster
        self._serving = serving
        self._handles: dict[str, dict[str, dict[str, Any]]] = {}
        self._least: dict[str, int] = {}

    def prepare(self) -> Mapping[str, str]:
        """Nothing is changed about the start."""
        return {}

    def check(self, fault: Fault, node: str) -> None:  # noqa: ARG002
        """It has to run, and not to be limited by us already."""
        if not self._cluster.node(node).running:
            raise NemesisError("it has ended", where=node)
        if node in self._least:
            raise NemesisError("its descriptors are limited already: heal that first", where=node)
        if not any(limit_of(process.pid) for process in self._processes(self._cluster.node(node))):
            raise NemesisError(
                "the limits of its processes cannot be read: they are another user's", where=node
            )

    def undos(self, fault: Fault) -> tuple[Undo, ...]:
        """Each process gets the limit back that it had."""
        if fault.id not in self._handles:
            spare = int(fault.parameters.get("spare", 1))
            self._handles[fault.id] = {
                node: handle_of(self._processes(self._cluster.node(node)), spare) for node in fault.nodes
            }
        return tuple(Undo("restore-descriptors", handle) for handle in self._handles[fault.id].values())

    def apply(self, fault: Fault) -> Mapping[str, Any]:
        """Lower the limits."""
        said = {}
        for node, handle in self._handles[fault.id].items():
            for pid, _, _, lowered in handle["limits"]:
                try:
                    set_soft_limit(pid, lowered)
                except OSError as error:
                    raise NemesisError(f"the limit is refused: {error.strerror}", where=node) from error
            said[node] = {str(pid): lowered for pid, _, _, lowered in handle["limits"]}
            self._least[node] = self._free(self._cluster.node(node)) or 0
        return {"limits": said}

    def measure(self) -> Snapshot:
        """Of who serves: the limit, and how many more can be opened; the least of it while a fault is on."""
        values: dict[str, Reading] = {}
        for name, node in list(self._cluster.nodes.items()):
            limits = [limits for pid in self._serving.pids(node) if (limits := limit_of(pid))]
            free = self._free(node)
            if name in self._least and free is not None:
                free = self._least[name] = min(free, self._least[name])
            values[f"{name}.descriptors.limit"] = min((soft for soft, _ in limits), default=None)
            values[f"{name}.descriptors.free"] = free
        return values

    def signals(self, fault: Fault, readings: Readings) -> tuple[Signal, ...]:
        """The limit as it is read back, and whether the node ran into it."""
        signals: list[Signal] = []
        for node in fault.nodes:
            signals += [
                Signal(
                    *("injector", f"{node}: descriptors that it may have open", "its limits", "changes"),
                    *around(readings, f"{node}.descriptors.limit"),
                    target=node,
                ),
                Signal(
                    "victim",
                    f"{node}: descriptors that it can still open, at the least",
                    "limit and open descriptors of the processes that serve its ports",
                    "becomes",
                    *around(readings, f"{node}.descriptors.free"),
                    0,
                    target=node,
                ),
            ]
        return tuple(signals)

    def healed(self, fault: Fault) -> None:
        """What is free is what is free now again."""
        for node in fault.nodes:
            self._least.pop(node, None)

    def close(self) -> None:
        """Nothing is held."""

    def _free(self, node: NodeProcess) -> int | None:
        found = [free for pid in self._serving.pids(node) if (free := can_still_open(pid)) is not None]
        return min(found, default=None)

    def _processes(self, node: NodeProcess) -> list[ProcessId]:
        serving = [process for pid in self._serving.pids(node) if (process := identify(pid))]
        return list(dict.fromkeys([*node.members(), *serving]))
