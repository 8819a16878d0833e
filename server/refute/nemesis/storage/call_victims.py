"""What nodes show of failing calls, whatever makes them fail: lines of their logs, and how they end."""

from __future__ import annotations

from collections.abc import Iterable

from refute.history.fault import Reading, Signal
from refute.nemesis.plane import Readings, Snapshot
from refute.nemesis.storage.family import three
from refute.nemesis.storage.node_log import NodeLogs
from refute.system.cluster import Cluster


class CallVictims:
    """The side of the nodes: read from their logs and their exits alone, not from what strikes them."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._logs = NodeLogs(cluster, "io-error")

    def follow(self, nodes: Iterable[str]) -> None:
        """A fault is about to come."""
        self._logs.follow(nodes)

    def leave(self, nodes: Iterable[str]) -> None:
        """The fault is healed."""
        self._logs.leave(nodes)

    def measure(self) -> Snapshot:
        """Lines that name an error, and how nodes ended."""
        values: dict[str, Reading] = {}
        for node in self._cluster.spec.everyone:
            process = self._cluster.nodes.get(node)
            ended = process and process.exit
            values[f"{node}.storage.calls_exit"] = str(ended) if ended else "running"
        return values | dict(self._logs.measure())

    def signals(self, node: str, readings: Readings) -> tuple[Signal, ...]:
        """What a node says of calls that failed, and whether it ended."""
        how = three(readings, f"{node}.storage.calls_exit")
        return (
            self._logs.signal(node, readings),
            Signal("victim", f"{node}: how it ended", "exit status", "changes", *how),
        )
