"""The environment is found out by doing, and says why something does not work."""

from __future__ import annotations

import sys
from pathlib import Path

from refute.system.cluster import Cluster
from refute.system.environment import environment, try_tool
from tests.nemesis.peers import peer_spec


def test_the_machine_and_the_programs_of_the_nodes_are_recorded(tmp_path: Path) -> None:
    with Cluster(peer_spec(1), root=tmp_path, plan_dir=tmp_path) as cluster:
        facts = environment(cluster)
    assert facts["cores"] >= 1
    assert facts["memory_bytes"] > 2**20
    assert facts["python"] == sys.version.split()[0]
    assert facts["user_namespaces"] == facts["tools"]["unshare"]["works"]
    assert facts["nodes"]["n1"]["path"] == str(Path(sys.executable).resolve())
    assert len(facts["nodes"]["n1"]["sha256"]) == 64


def test_a_tool_works_only_if_it_was_seen_to_work() -> None:
    assert try_tool(["true"])["works"]
    assert try_tool(["sh", "-c", "echo it is broken >&2; exit 1"]) == {
        "works": False,
        "reason": "it is broken",
    }
    assert try_tool(["no-such-tool"]) == {"works": False, "reason": "no-such-tool is not installed"}
