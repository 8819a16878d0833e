"""What becomes of a scenario whose attempts do not all go well."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from refute.errors import UnavailableError
from refute.plan.document import PlanError
from refute.plan.reader import read_plan
from refute.run import series
from refute.run.execute import run_plan
from refute.run.progress import silent
from refute.session.files import read_json
from refute.session.record import Session
from tests.run.plans import ISOLATED, write_plan


def test_a_recorded_violation_survives_a_rerun_that_cannot_start(
    failing: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(shutil.copytree(failing.folder, tmp_path / "session"))
    session = Session.open(folder)
    for attempt in session.attempts("S1")[1:]:
        shutil.rmtree(attempt)
    (folder / "scenarios" / "S1" / "verdict.json").unlink()

    def cannot_start(*_: Any, **__: Any) -> None:
        raise UnavailableError("port 7001 is in use")

    monkeypatch.setattr(series, "run_attempt", cannot_start)
    plan = read_plan(folder / "plan.md")
    running = series.Series(session, plan, "S1", progress=silent, stop=threading.Event())
    with pytest.raises(UnavailableError):
        running.run()
    assert read_json(folder / "scenarios" / "S1" / "verdict.json")["verdict"].startswith("FAIL")


def test_a_timed_fault_is_waited_out_beside_one_that_stays_on(tmp_path: Path) -> None:
    scenario = """workload: {generator: register, clients: 2, rate: 60/s, duration: 2s, via: leader}
nemesis:
  - {when: {leader: known}, delay: {by: 5ms}, node: leader}
  - {when: {leader: known}, isolate: leader, for: 800ms}
check: [{linearizable: {model: register}}]
"""
    scenario = scenario.replace("delay: {by: 5ms}, node: leader", "delay: {node: leader, by: 5ms}")
    stop = threading.Event()
    threading.Timer(40, stop.set).start()
    session = run_plan(
        write_plan(tmp_path, scenario),
        seed=1,
        session_root=tmp_path / "s",
        variables={"release": "--next"},
        stop=stop,
    )
    assert session.index.state == "complete", "the schedule did not wait for the fault that stays on"


def test_a_control_that_leaves_out_an_unknown_step_is_refused(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, ISOLATED + "control: {omit: [no-such-label]}\n")
    with pytest.raises(PlanError, match="no-such-label"):
        read_plan(plan)
