"""The process plane: pause, kill, terminate and restart nodes, once, repeatedly, or one after the other."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from refute.history.fault import Reading, Signal
from refute.interpreter import python
from refute.nemesis.errors import FaultInputError, NemesisError
from refute.nemesis.plane import (
    Fault,
    Probe,
    Readings,
    Site,
    Snapshot,
    around,
    cpu_time_stops,
)
from refute.nemesis.process.sequence import Sequence
from refute.nemesis.process.stopping import STOPPED_WITHIN_S, stop
from refute.nemesis.process.undo import VERBS, handle_of
from refute.nemesis.serving import Serving
from refute.nemesis.undo import Undo
from refute.nemesis.waiting import within
from refute.system.cpu_time import cpu_ns
from refute.system.errors import ClusterError
from refute.system.node import NodeProcess
from refute.system.placement import NodePlacement, Placement
from refute.system.process_table import is_stopped, state

_STOPPED = "T"


class ProcessPlane:
    """Faults of whole processes. What a node has written to the page cache survives all of them."""

    name: ClassVar[str] = "process"
    kinds: ClassVar[frozenset[str]] = frozenset(
        {"pause", "kill", "terminate", "restart", "crash-loop", "rolling-restart"}
    )

    def __init__(self, site: Site) -> None:
        self._site = site
        self._cluster = site.cluster
        self._handles: dict[str, dict[str, Mapping[str, Any]]] = {}
        self._sequences: dict[str, Sequence] = {}
        self._serving = Serving(site.cluster)

    @staticmethod
    def probe(kind: str) -> Probe:
        """A process of our own is stopped and continued, or killed."""
        process = subprocess.Popen(python("-c", "import time; time.sleep(30)"))
        try:
            if kind == "pause":
                os.kill(process.pid, signal.SIGSTOP)
                stopped = within(STOPPED_WITHIN_S, lambda: is_stopped(process.pid))
                os.kill(process.pid, signal.SIGCONT)
                return Probe(stopped, "" if stopped else "a process that was sent SIGSTOP went on")
            return Probe(True)
        finally:
            process.kill()
            process.wait()

    def prepare(self) -> Placement:
        """Nodes carry the mark of their run, so that strays are found."""
        marked = NodePlacement(env=self._site.environment)
        return Placement(nodes=dict.fromkeys(self._cluster.spec.everyone, marked))

    def targets(self, fault: Fault) -> tuple[str, ...]:
        """The nodes themselves; at least one, and each running."""
        if not fault.nodes:
            raise FaultInputError(f"{fault.kind}: name a node")
        for node in fault.nodes:
            process = self._cluster.node(node)
            if not process.running and fault.kind not in ("crash-loop", "rolling-restart"):
                raise NemesisError(f"cannot {fault.kind} it: it has ended ({process.exit})", where=node)
            if fault.kind == "pause" and process.running and state(process.pid) == _STOPPED:
                raise NemesisError("it is paused already", where=node)
            version = fault.parameters.get("version")
            if version and not self._cluster.spec.has_version(version):
                raise FaultInputError(f"the system has no version {version!r}", where=node)
        return fault.nodes

    def undos(self, fault: Fault) -> tuple[Undo, ...]:
        """Stopped processes are continued. A killed one is started again by its owner or not at all."""
        handles = {}
        for node in fault.nodes:
            process = self._cluster.node(node)
            handles[node] = handle_of(process.identity, process.members() if fault.kind == "pause" else [])
        self._handles[fault.id] = handles
        return tuple(Undo("continue", handle) for handle in handles.values())

    def apply(self, fault: Fault, take: Callable[[str], None]) -> Mapping[str, Any]:
        """Signal the nodes; the sequences of many steps go on in a thread of their own."""
        if fault.kind == "pause":
            stop(self._cluster, fault.nodes)
            return {"signal": "SIGSTOP"}
        if fault.kind in ("kill", "terminate"):
            return {"exits": self._end(fault)}
        sequence = Sequence(self._cluster, fault, take)
        self._sequences[fault.id] = sequence
        sequence.start()
        if fault.kind == "restart":  # what follows may count on the node
            sequence.join()
            sequence.raise_error()
        return {"steps": list(sequence.steps)}

    def measure(self) -> Snapshot:
        """Of each node: state letter, how it ended, starts, CPU time of who serves its ports, open ports."""
        values: dict[str, Reading] = {}
        for name, node in list(self._cluster.nodes.items()):
            listening = self._cluster.listening(name)
            values[f"{name}.pid"] = node.pid
            values[f"{name}.exit"] = str(node.exit) if node.exit else "running"
            values[f"{name}.state"] = _state(node)
            values[f"{name}.cpu_ns"] = cpu_ns(self._serving.pids(node))
            for port, number in self._cluster.ports[name].items():
                values[f"{name}.listens.{port}"] = number in listening
        return values

    def signals(self, fault: Fault, readings: Readings) -> tuple[Signal, ...]:
        """What the kernel says of the process that was signalled, and of whoever serves the node's ports."""
        signals: list[Signal] = []
        for node in fault.nodes:
            if fault.kind == "pause":
                signals += _pause_signals(node, readings)
            else:
                signals += self._end_signals(node, fault.kind, readings)
        return tuple(signals)

    def is_over(self, fault: Fault) -> bool:
        """Restarts are over when their last node is up again."""
        sequence = self._sequences.get(fault.id)
        return sequence is not None and not sequence.is_alive()

    def heal(self, fault: Fault, version: str | None) -> None:
        """Continue what is stopped, start what does not run."""
        if fault.kind == "pause":
            for handle in self._handles[fault.id].values():
                VERBS["continue"].undo(handle)
            return
        if sequence := self._sequences.get(fault.id):
            sequence.end()
        for node in fault.nodes:
            if not self._cluster.node(node).running:
                self._cluster.start_node(node, version or fault.parameters.get("version"))

    def verify_healed(self, fault: Fault) -> str | None:
        """No process of the fault is stopped; each node runs."""
        left = [VERBS["continue"].left(handle) for handle in self._handles[fault.id].values()]
        if fault.kind != "pause":
            left += [f"{n} does not run" for n in fault.nodes if not self._cluster.node(n).running]
        return "; ".join(filter(None, left)) or None

    def close(self) -> None:
        """Sequences end; the nodes are the cluster's."""
        for sequence in self._sequences.values():
            sequence.end()

    def _end(self, fault: Fault) -> dict[str, str]:
        exits: dict[str, str] = {}

        def end(node: str) -> None:
            ended = self._cluster.kill(node) if fault.kind == "kill" else self._cluster.terminate(node)
            exits[node] = str(ended)

        if len(fault.nodes) == 1:
            end(fault.nodes[0])
            return exits
        threads = [threading.Thread(target=end, args=(node,)) for node in fault.nodes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if missing := set(fault.nodes) - set(exits):
            raise ClusterError(f"could not be ended: {', '.join(sorted(missing))}")
        return exits

    def _end_signals(self, node: str, kind: str, readings: Readings) -> list[Signal]:
        before, during, after = readings.before, readings.during, readings.after

        def at(moment: Any, name: str) -> Reading:
            return moment.values.get(f"{node}.{name}") if moment else None

        killed = kind in ("kill", "crash-loop")
        injector = Signal(
            "injector",
            f"{node}: how the process ended",
            "exit status, collected by its parent",
            "becomes" if killed else "changes",
            at(before, "exit"),
            at(during, "exit"),
            at(after, "exit"),
            "SIGKILL" if killed else None,
            node,
        )
        ports = []
        for port in self._cluster.spec.ports:
            listens = f"listens.{port}"
            ports.append(
                Signal(
                    "victim",
                    f"{node}: somebody listens on port {port}",
                    "kernel's socket table",
                    "becomes",
                    at(before, listens),
                    at(during, listens),
                    at(after, listens),
                    False,
                    node,
                )
            )
        return [injector, *ports]


def _state(node: NodeProcess) -> str:
    if not node.running:
        return "gone"
    return _STOPPED if is_stopped(node.pid) else state(node.pid)


def _pause_signals(node: str, readings: Readings) -> list[Signal]:
    before, during, after = around(readings, f"{node}.state")
    return [
        Signal(
            "injector", f"{node}: state", "process table", "becomes", before, during, after, _STOPPED, node
        ),
        cpu_time_stops(node, f"{node}.cpu_ns", readings),
    ]
