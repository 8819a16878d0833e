"""SIGSTOP to nodes, until not one of their threads can do anything any more."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from functools import partial

from refute.nemesis.errors import NemesisError
from refute.nemesis.waiting import within
from refute.system.cluster import Cluster
from refute.system.node import NodeProcess
from refute.system.process_table import at_rest

STOPPED_WITHIN_S = 1.0
_ASKED_EVERY_S = 0.0002


def stop(cluster: Cluster, nodes: Sequence[str]) -> None:
    """Stop all processes of these nodes, and wait until they stand still. Raises NemesisError."""
    for node in nodes:
        process = cluster.node(node)
        if not process.send(signal.SIGSTOP):
            raise NemesisError(f"it ended ({process.exit}) before it could be stopped", where=node)
    for node in nodes:
        if not within(STOPPED_WITHIN_S, partial(_stands_still, cluster.node(node)), every_s=_ASKED_EVERY_S):
            raise NemesisError("it goes on although it was sent SIGSTOP", where=node)


def _stands_still(node: NodeProcess) -> bool:
    return at_rest(node.pid) and all(at_rest(member.pid) for member in node.members())
