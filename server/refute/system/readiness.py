"""Waiting until every node of a cluster is ready, and saying why one is not."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from refute.plan.system_spec import State
from refute.system.cluster import Cluster
from refute.system.errors import ClusterError
from refute.system.source import open_source

_POLL_S = 0.01


def wait_ready(cluster: Cluster, nodes: Sequence[str], timeout_s: float) -> float:
    """Seconds until all readiness probes held at all these nodes; with none written, all ports accept.

    Raises ClusterError as soon as one node has exited, or at the time limit, with the tail of its log.
    """
    began = time.monotonic()
    with ThreadPoolExecutor(len(nodes)) as pool:
        waits = [pool.submit(_wait_for_node, cluster, node, began + timeout_s) for node in nodes]
        failures = [error for wait in waits if (error := wait.exception())]
    if failures:
        raise failures[0]
    return time.monotonic() - began


def _probes(cluster: Cluster) -> list[tuple[str, State]]:
    spec = cluster.spec
    if not spec.ready:
        return [(f"port {name}", State(tcp=name)) for name in spec.ports]
    return [
        (probe, spec.states[probe]) if isinstance(probe, str) else (f"ready[{place}]", probe)
        for place, probe in enumerate(spec.ready)
    ]


def _wait_for_node(cluster: Cluster, node: str, deadline: float) -> None:
    process = cluster.node(node)
    for name, state in _probes(cluster):
        source = open_source(cluster, node, state, where=f"{name} of {node}")
        try:
            while not (seen := source.read()).holds:
                if process.exit is not None:
                    raise ClusterError(
                        f"it ended ({process.exit}) before it was ready{_logged(cluster, node)}",
                        where=node,
                        hint=_looked_for_elsewhere(cluster, node),
                    )
                if time.monotonic() > deadline:
                    raise ClusterError(f"not ready: {name} is {seen}{_logged(cluster, node)}", where=node)
                time.sleep(_POLL_S)
        finally:
            source.close()
    if process.exit is not None:
        # Somebody else may answer on its port.
        raise ClusterError(
            f"it ended ({process.exit}) while its probes held{_logged(cluster, node)}", where=node
        )


def _looked_for_elsewhere(cluster: Cluster, node: str) -> str | None:
    """What to write where the command names a file that is here or beside the plan, and not where it runs."""
    folder = cluster.working_directory(node)
    for word in cluster.command(node)[1:]:
        if word.startswith("-") or (folder / word).exists():
            continue
        if any((place / word).is_file() for place in (cluster.plan_dir, Path.cwd())):
            return (
                f"{word} is looked for in {folder}, where the node runs: name it from the plan's folder, "
                "{plan_dir}/…, or give `cwd`"
            )
    return None


def _logged(cluster: Cluster, node: str) -> str:
    tail = cluster.node(node).tail()
    return f"; the end of {cluster.log_path(node)}:\n{tail}" if tail else "; it has logged nothing"
