"""The description of a cluster of `peer.py` nodes, and how a test asks one of them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from refute.plan.system_spec import SystemSpec
from refute.system.cluster import Cluster
from refute.system.http_probe import HttpProbe

PROGRAM = Path(__file__).with_name("peer.py")


def peer_spec(nodes: int = 3, **changes: Any) -> SystemSpec:
    described: dict[str, Any] = {
        "system": "peers",
        "nodes": nodes,
        "ports": ["client", "peer"],
        "command": [
            *("{python}", str(PROGRAM), "--name", "{node}", "--data", "{data}", "--host", "{host}"),
            *("--client", "{port.client}", "--peer", "{port.peer}", "--peers", "{peers}"),
        ],
        "links": {"port": "peer"},
        "ready": {"http": "/status"},
        "ready_timeout": "15s",
        "states": {
            "leader": {"http": "/status", "value": "role", "equals": "leader"},
            "role": {"http": "/status", "value": "role"},
            "is_leader": {"http": "/metrics", "metric": "peer_is_leader", "at_least": 1},
            "from_n1": {"http": "/metrics", "metric": 'peer_received_bytes{from="n1"}'},
            "logged_term": {"log": r"role leader term (\d+)"},
            "boots": {"http": "/status", "value": "boots"},
            "accepts": {"tcp": "client"},
        },
    }
    return SystemSpec.model_validate(described | changes)


def ask(cluster: Cluster, node: str, path: str = "/status", body: Any = None) -> dict[str, Any]:
    probe = HttpProbe(cluster.address(node, "client"), "POST" if body else "GET", path, {}, body, 2.0)
    try:
        return json.loads(probe.ask()[1])
    finally:
        probe.close()


def become(cluster: Cluster, node: str, role: str, term: int) -> dict[str, Any]:
    return ask(cluster, node, "/become", {"role": role, "term": term})


def eventually(holds: Callable[[], bool], within_s: float = 20.0) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        if holds():
            return True
        time.sleep(0.02)
    return holds()
