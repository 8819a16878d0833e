"""Which processes do a node's work: whoever listens on its ports, be it a child that has left its session."""

from __future__ import annotations

from collections.abc import Iterable

from refute.system.cluster import Cluster
from refute.system.node import NodeProcess
from refute.system.placement import NodePlacement
from refute.system.socket_diagnosis import SocketTable
from refute.system.socket_owners import listening_pids


class Serving:
    """Looked up once a process of a node, as it is asked all the time; again while nobody is found."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._found: dict[str, tuple[int, list[int]]] = {}

    def pids(self, node: NodeProcess) -> list[int]:
        """The processes that listen on the node's ports; the one that was started while nobody does."""
        return self.listeners(node) or [node.pid]

    def listeners(self, node: NodeProcess) -> list[int]:
        """The processes that listen on the node's ports."""
        pid, found = self._found.get(node.node, (0, []))
        if pid != node.pid or not found:
            ports = self._cluster.ports[node.node].values()
            placed = self._cluster.placement.nodes.get(node.node, NodePlacement()).namespace
            members = [member.pid for member in node.members()]
            found = _listeners_of(ports, members, placed) or _listeners_of(ports, None, placed)
            self._found[node.node] = (node.pid, found)
        return found


def _listeners_of(ports: Iterable[int], among: list[int] | None, namespace: SocketTable | None) -> list[int]:
    return sorted({owner for port in ports for owner in listening_pids(port, among, namespace)})
