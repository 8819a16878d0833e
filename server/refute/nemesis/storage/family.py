"""What the families of storage faults have in common: their part of the five verbs, and who is hit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar, Protocol

from refute.history.fault import Reading, Signal
from refute.nemesis.plane import Fault, Probe, Readings, Snapshot, Timed, counter
from refute.nemesis.undo import Undo
from refute.system.cluster import Cluster


class Family(Protocol):
    """Faults that work alike; the verbs are those of a plane."""

    kinds: ClassVar[frozenset[str]]

    @staticmethod
    def probe(kind: str) -> Probe: ...

    def targets(self, fault: Fault) -> tuple[str, ...]: ...

    def undos(self, fault: Fault) -> tuple[Undo, ...]: ...

    def apply(self, fault: Fault, take: Callable[[str], None]) -> Mapping[str, Any]: ...

    def measure(self) -> Snapshot: ...

    def signals(self, fault: Fault, readings: Readings) -> tuple[Signal, ...]: ...

    def heal(self, fault: Fault, version: str | None) -> None: ...

    def verify_healed(self, fault: Fault) -> str | None: ...

    def close(self) -> None: ...


def kill_all(cluster: Cluster, nodes: Sequence[str]) -> dict[str, str]:
    """SIGKILL those of the nodes that run, all at the same time; how each has ended. Raises ClusterError."""
    running = [node for node in nodes if node in cluster.nodes and cluster.node(node).running]
    if not running:
        return {}
    with ThreadPoolExecutor(len(running)) as pool:
        return dict(zip(running, map(str, pool.map(cluster.kill, running)), strict=True))


def start_those_that_ended(cluster: Cluster, nodes: Sequence[str], version: str | None) -> None:
    """Start those of the nodes that do not run."""
    for node in nodes:
        if not cluster.node(node).running:
            cluster.start_node(node, version)


def not_running(cluster: Cluster, nodes: Sequence[str]) -> str | None:
    """Which of the nodes do not run, in words."""
    left = [node for node in nodes if not cluster.node(node).running]
    return f"{', '.join(left)} does not run" if left else None


def worst(at: Timed | None, nodes: Sequence[str], name: str, wanted: Reading) -> Reading:
    """A reading of several nodes as one: `wanted` only where it was read at all of them.

    A fault of three nodes that has hit two has not landed as it was asked for.
    """
    values = [at.values.get(f"{node}.{name}") if at else None for node in nodes]
    return next((value for value in values if value != wanted), wanted)


def listed(nodes: Sequence[str]) -> str:
    """`n1, n2`."""
    return ", ".join(nodes)


def moments(readings: Readings) -> tuple[Timed | None, Timed | None, Timed | None]:
    """Before, during and after the fault."""
    return readings.before, readings.during, readings.after


def three(readings: Readings, name: str) -> tuple[Reading, Reading, Reading]:
    """A reading before, during and after the fault."""
    before, during, after = (at.values.get(name) if at else None for at in moments(readings))
    return before, during, after


def fewest(at: Timed | None, nodes: Sequence[str], name: str) -> float | None:
    """The smallest of a counter's readings at several nodes; None where one was not read."""
    values = [counter(at, f"{node}.{name}") for node in nodes]
    return None if None in values else min(value for value in values if value is not None)


def most(at: Timed | None, nodes: Sequence[str], name: str) -> float | None:
    """The largest of a counter's readings at several nodes; None where one was not read."""
    values = [counter(at, f"{node}.{name}") for node in nodes]
    return None if None in values else max(value for value in values if value is not None)
