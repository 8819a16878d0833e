"""A failing scenario is made smaller by running it, into a plan that still fails, and the session stays true."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from refute.errors import InputError
from refute.plan.reader import read_plan
from refute.plan.scenario import Check, Scenario
from refute.plan.smaller import only_failing, smaller_scenarios
from refute.run.execute import run_plan
from refute.run.reduction import RunBudget, reduce_run
from refute.session.record import Session
from refute.session.verify import verify_session


def scenario(**changes: object) -> Scenario:
    written = {
        "id": "S1",
        "name": "a",
        "falsifies": "C1",
        "system": "s",
        "steps": [
            {"write": {"key": "k", "value": 1, "via": "leader"}},
            {"pause": "leader as old", "label": "cut"},
            {"read": {"key": "k", "via": "old", "count": 4}},
        ],
        "check": ["linearizable", "exactly-once"],
        "control": {"omit": ["cut"]},
    }
    return Scenario.model_validate(written | changes)


def test_each_smaller_scenario_has_one_thing_less() -> None:
    whole = scenario()
    smaller = {each.what: each.scenario for each in smaller_scenarios(whole)}
    assert len(smaller["without write"].steps) == 2
    assert len(smaller["without read"].steps) == 2
    assert smaller["read once for 4 times"].steps[2]["read"]["count"] == 1
    without = smaller["without pause leader as old"]
    assert without.control.omit == ()
    assert all(each.check == whole.check for each in smaller.values())


def test_the_load_and_its_faults_become_smaller() -> None:
    load = {"generator": "register", "clients": 8, "keys": 4, "duration": "20s"}
    whole = scenario(
        steps=[],
        control={},
        workload=load,
        nemesis=[{"kill": "n1", "for": "1s", "repeat": 3}, {"pause": "n2", "for": "1s"}],
        budget={"smoke": {"seeds": 1, "duration": "20s"}},
    )
    smaller = {each.what: each.scenario for each in smaller_scenarios(whole)}
    assert smaller["4 clients for 8"].workload.clients == 4  # type: ignore[union-attr]
    assert smaller["2 keys for 4"].workload.keys == 2  # type: ignore[union-attr]
    shorter = smaller["10 s for 20 s"]
    assert shorter.workload.duration == 10  # type: ignore[union-attr]
    assert shorter.budget["smoke"].duration == 10  # type: ignore[union-attr]
    assert smaller["kill n1 once for 3 times"].nemesis[0]["repeat"] == 1
    assert len(smaller["without the fault pause n2"].nemesis) == 1


def test_only_the_arm_that_failed_is_left() -> None:
    swept = scenario(sweep={"gap": [0, 5]}, steps=[{"sleep": {"ms": "$gap"}}], control={})
    alone = only_failing(swept, "gap=5", {"gap": 5}, Check(checker="linearizable"))
    assert alone.steps == ({"sleep": {"ms": 5}},)
    assert not alone.sweep
    assert [check.checker for check in alone.check] == ["linearizable"]


def test_a_failing_run_becomes_a_smaller_plan_that_fails_too(failing: Session, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(failing.folder, tmp_path / "session"))
    outcome = reduce_run(Session.open(folder), "S1", RunBudget(reruns=1, most_runs=14))
    before = Session.open(folder)
    whole = read_plan(folder / "plan.md").scenarios["S1"]
    assert len(outcome.scenario.steps) < len(whole.steps)
    assert outcome.rate == (1, 1)
    assert outcome.finished or outcome.reason == "14 runs were made"
    assert verify_session(folder).mismatches == ()
    assert before.index.scenarios["S1"].verdict == "FAIL-reproducible"
    note = json.loads((outcome.folder / "reduction.json").read_text())
    assert [each["kept"] for each in note["tried"]].count(True) >= 2
    assert not list(outcome.folder.rglob("data"))
    (plan,) = outcome.folder.glob("*.md")
    assert read_plan(plan).scenarios["S1"] == outcome.scenario
    again = run_plan(plan, scenarios=("S1",), session_root=tmp_path / "again")
    assert again.index.scenarios["S1"].verdict.startswith("FAIL")


def test_a_failure_that_does_not_come_again_is_not_reduced(
    failing: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("refute.run.reduction.run_attempt", lambda spec, folder, **_: None)
    folder = Path(shutil.copytree(failing.folder, tmp_path / "session"))
    with pytest.raises(InputError, match="did not come again: it failed 0 of 2 times"):
        reduce_run(Session.open(folder), "S1", RunBudget(reruns=3))
    assert verify_session(folder).mismatches == ()
