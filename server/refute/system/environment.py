"""What this machine is and can do, found out by doing: the content of `environment.json`."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from refute.system.cluster import Cluster
from refute.system.templates import render_words

_TOOLS = {
    # tool -> what shows that it works, not merely that it is there
    "unshare": ["unshare", "--user", "--map-root-user", "--net", "--mount", "true"],
    "nft": ["nft", "--version"],
    "ip": ["ip", "-V"],
    "tc": ["tc", "-V"],
    "strace": ["strace", "-o", os.devnull, "true"],
    "cc": ["cc", "--version"],
    "faketime": ["faketime", "--version"],
    # Asked for more they start something: Podman keeps a process for an ordinary user from then on. Whether
    # an engine works is asked by the docker plane, at its socket.
    "docker": ["docker", "--version"],
    "podman": ["podman", "--version"],
}
_TIMEOUT_S = 5.0


def environment(cluster: Cluster | None = None) -> dict[str, Any]:
    """Facts about the machine and, with a cluster, about the programs that its nodes run.

    >>> sorted(environment())[:3]
    ['cores', 'disk_free_bytes', 'kernel']
    """
    facts: dict[str, Any] = {
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "disk_free_bytes": shutil.disk_usage(cluster.root if cluster and cluster.root.exists() else ".").free,
        "root": os.geteuid() == 0,
        "tools": {tool: try_tool(argv) for tool, argv in _TOOLS.items()},
    }
    facts["user_namespaces"] = facts["tools"]["unshare"]["works"]
    if cluster is not None:
        facts["nodes"] = {node: _program(cluster, node) for node in cluster.spec.nodes}
        if "version" in cluster.spec.commands:
            facts["system_version"] = cluster.run_command("version").output.strip()
    return facts


def try_tool(argv: list[str]) -> dict[str, Any]:
    """Whether a tool works here, the first line that it says, and the reason where it does not."""
    if shutil.which(argv[0]) is None:
        return {"works": False, "reason": f"{argv[0]} is not installed"}
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=_TIMEOUT_S, stdin=subprocess.DEVNULL, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"works": False, "reason": str(error)}
    said = (done.stdout.strip() or done.stderr.strip()).splitlines()
    if done.returncode == 0:
        return {"works": True, "says": said[0] if said else ""}
    return {"works": False, "reason": said[-1] if said else f"exit {done.returncode}"}


def _program(cluster: Cluster, node: str) -> dict[str, Any]:
    # Asking an unknown program for its version might start it: its digest says which build it is.
    argv = render_words(cluster.spec.command, cluster.variables(node), where=f"command of {node}")
    found = shutil.which(argv[0], path=cluster.environment(node).get("PATH"))
    if found is None:
        return {"command": argv, "path": None}
    path = Path(found).resolve()
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"command": argv, "path": str(path), "sha256": digest}
