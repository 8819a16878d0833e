"""What this machine's kernel may lack works on another one: delay by netem, version 2 of control groups."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.nemesis.other_kernel import run_on_other_kernel

pytestmark = pytest.mark.nightly
PYTEST = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp=/run/pytest"]
# Disks need a device, and neighbours a kernel that says how long a thread has waited: neither is there.
ON_VERSION_2 = (
    "test_a_node_gets_a_small_share_of_a_core",
    "test_a_node_that_needs_more_memory_than_it_has_is_killed_and_started_again",
    "test_every_kind_works_here_and_its_probe_leaves_nothing[cpu]",
    "test_every_kind_works_here_and_its_probe_leaves_nothing[freezer]",
)


def test_packets_are_delayed_by_netem_and_nothing_of_it_is_left(tmp_path: Path) -> None:
    code, said = run_on_other_kernel(
        [sys.executable, "-B", "-m", "tests.nemesis.netem_by_hand"], tmp_path, 300
    )
    assert code == 0, said
    seen = json.loads(said.splitlines()[-1])
    assert seen["netem"] is True
    assert seen["by"] == "Shaping"
    assert "still at a->b" in seen["on"]
    assert seen["during_s"] > 0.2 > seen["before_s"]
    assert seen["after_s"] < 0.2
    assert seen["packets"] >= 5
    assert (seen["left"], seen["queues"]) == (None, 0)


def test_nodes_are_limited_by_control_groups_of_version_2(tmp_path: Path) -> None:
    tests = [f"tests/nemesis/test_resource_plane.py::{test}" for test in ON_VERSION_2]
    code, said = run_on_other_kernel([*PYTEST, *tests], tmp_path, 600)
    assert code == 0, said[-3000:]
    assert f"{len(ON_VERSION_2)} passed" in said
