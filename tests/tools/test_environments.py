"""What a plan's scenarios find on this machine is told scenario by scenario."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute import resources
from refute.plan.document import PlanError
from refute.tools.environments import ProbeEnvironmentRequest, probe_environment


def test_each_scenario_is_told_which_of_its_faults_work_here() -> None:
    plan = str(resources.folder("testing-plans") / "refute.md")
    answer = probe_environment(ProbeEnvironmentRequest(plane="process", plan=plan))
    assert answer.scenarios["R1"] == "process/kill works"
    assert answer.scenarios["R5"] == "needs no fault"
    assert list(answer.planes) == ["process"]
    assert "R1: process/kill works" in answer.text()


def test_what_was_not_probed_is_not_said_to_work(tmp_path: Path) -> None:
    plan = str(resources.folder("testing-plans") / "quorumkv.md")
    answer = probe_environment(ProbeEnvironmentRequest(plane="process", plan=plan))
    assert answer.scenarios["S1"] == "proxy/partition was not probed"
    with pytest.raises(PlanError):
        probe_environment(ProbeEnvironmentRequest(plane="process", plan=str(tmp_path / "none.md")))
