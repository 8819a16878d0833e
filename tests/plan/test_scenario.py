"""What a scenario says beyond its text: the runs of its sweep, and what these may ask for."""

from __future__ import annotations

from typing import Any

import pytest

from refute.plan.scenario import Scenario


def scenario(**changes: Any) -> Scenario:
    written: dict[str, Any] = {
        "id": "S1",
        "name": "n",
        "falsifies": "C1",
        "system": "s",
        "check": "linearizable",
    }
    written["steps"] = [{"sleep": {"ms": 1}}]
    return Scenario.model_validate(written | changes)


@pytest.mark.parametrize(
    ("asked", "file_system"),
    [({}, None), ({"file_system": "any"}, None), ({"file_system": "fuse"}, "fuse")],
)
def test_the_file_system_is_the_one_that_a_step_or_a_schedule_asks_for(
    asked: dict[str, Any], file_system: str | None
) -> None:
    cut = {"plane": "storage", "kind": "power-loss", "node": "n1", **asked}
    (stepped,) = scenario(steps=[{"fault": cut}]).arms()
    (scheduled,) = scenario(
        nemesis=[{"fault": {"plane": "process", "kind": "kill", "node": "n1"}}, {"fault": cut}]
    ).arms()
    assert stepped.file_system == scheduled.file_system == file_system
    assert ("storage", "power-loss") in stepped.faults & scheduled.faults


@pytest.mark.parametrize(
    ("asked", "through"), [({}, None), ({"through": "any"}, None), ({"through": "preload"}, "preload")]
)
def test_failing_calls_go_through_what_the_first_of_the_faults_asks_for(
    asked: dict[str, Any], through: str | None
) -> None:
    fails = {"plane": "storage", "kind": "io-error", "node": "n1", **asked}
    (arm,) = scenario(steps=[{"fault": {**fails, "through": "any"}}, {"fault": fails}]).arms()
    assert (arm.calls_through, arm.file_system) == (through, None)


def test_the_file_system_may_be_swept() -> None:
    cut = {"plane": "storage", "kind": "power-loss", "node": "n1", "file_system": "$on"}
    arms = scenario(sweep={"on": ["ext4", "fuse"]}, steps=[{"fault": cut}]).arms()
    assert [arm.file_system for arm in arms] == ["ext4", "fuse"]
