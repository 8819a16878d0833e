"""Tools on runs: start one in the background, look at it, stop it, verify and report it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Literal

from pydantic import Field

from refute.interpreter import python
from refute.plan.check import refuse_unrunnable
from refute.plan.reader import read_plan
from refute.run.execute import owner_runs
from refute.session.files import read_json
from refute.session.record import Session
from refute.session.report import write_report as write
from refute.session.verify import verify_session
from refute.tools.answer import Answer, Request
from refute.tools.problems import ToolError

_PATIENCE_S = 15.0


class StartRunRequest(Request):
    """A plan, which of its scenarios (none named: all), and the budget."""

    plan: str
    scenarios: list[str] = Field(default_factory=list)
    budget: Literal["smoke", "hardening", "release"] = "smoke"
    seed: int = 1
    session_root: str = "test-sessions"
    variables: dict[str, str] = Field(default_factory=dict)
    parallel: int = Field(default=1, ge=1, le=8)


class RunRequest(Request):
    """A run, by its session folder."""

    session: str


class ScenarioState(Answer):
    """A scenario's verdict so far, and why."""

    id: str
    name: str
    verdict: str
    rate: str | None = None
    why: str = ""


class RunState(Answer):
    """How far a run is. `state` is running, complete, cancelled, failed, or dead: its owner is gone."""

    session: str
    state: str
    budget: str
    scenarios: list[ScenarioState]
    last: list[str]
    report: str | None = None


class ReportWritten(Answer):
    """The outcome of verifying a session; its report is written only where everything matched."""

    session: str
    verified: bool
    files: int
    verdicts: dict[str, str]
    mismatches: list[str]
    report: str | None


def start_run(request: StartRunRequest) -> RunState:
    """Starts `refute run` as a process of its own and returns as soon as its session exists.

    Raises PlanError for a plan that cannot be run, ToolError where the run ended before it had a session.
    """
    plan = read_plan(Path(request.plan))
    refuse_unrunnable(plan)
    root = Path(request.session_root).resolve()
    before = set(root.glob(f"{plan.slug}/*/session.json"))
    root.mkdir(parents=True, exist_ok=True)
    words = python("-m", "refute.faces.cli", "run", request.plan, "--budget", request.budget)
    words += ["--seed", str(request.seed), "--session-root", str(root), "--parallel", str(request.parallel)]
    for scenario in request.scenarios:
        words += ["--scenario", scenario]
    for name, value in request.variables.items():
        words += ["--var", f"{name}={value}"]
    log = root / f".start-{os.getpid()}-{time.monotonic_ns()}.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, start_new_session=True
        )
    limit = time.monotonic() + _PATIENCE_S
    while time.monotonic() < limit:
        for path in set(root.glob(f"{plan.slug}/*/session.json")) - before:
            session = Session.open(path.parent)
            if session.index.owner.get("pid") == process.pid or process.poll() is not None:
                log.unlink(missing_ok=True)
                return get_run(RunRequest(session=str(path.parent)))
        if process.poll() is not None:
            said = log.read_text(errors="replace").strip().splitlines()
            raise ToolError(said[-1] if said else f"the run ended with {process.returncode}")
        time.sleep(0.05)
    raise ToolError("the run did not make a session in time", where=log)


def get_run(request: RunRequest) -> RunState:
    """How far a run is: verdicts so far and the last lines of its log."""
    session = Session.open(Path(request.session))
    state: str = session.index.state
    if state == "running" and not owner_runs(session):
        state = "dead"
    log = session.folder / "session-log.md"
    lines = log.read_text(encoding="utf-8").splitlines() if log.is_file() else []
    report = session.folder / "report.md"
    return RunState(
        session=str(session.folder),
        state=state,
        budget=session.index.budget,
        scenarios=[_scenario_state(session, scenario) for scenario in session.index.scenarios],
        last=lines[-8:],
        report=str(report) if report.is_file() else None,
    )


def cancel_run(request: RunRequest) -> RunState:
    """Asks a run to stop: faults are healed, nodes stopped, the session sealed. Waits for up to 30 s."""
    session = Session.open(Path(request.session))
    if owner_runs(session):
        os.kill(session.index.owner["pid"], signal.SIGTERM)
        limit = time.monotonic() + 30
        while time.monotonic() < limit and owner_runs(Session.open(session.folder)):
            time.sleep(0.1)
    return get_run(request)


def verify(request: RunRequest) -> ReportWritten:
    """Computes every verdict of a session again, changing nothing. Raises ToolError while it still runs."""
    folder = Path(request.session)
    session = Session.open(folder)
    if owner_runs(session):
        raise ToolError("the run is still going on", where=folder, hint="wait for it, or cancel it")
    verification = verify_session(folder)
    path = folder / "report.md"
    return ReportWritten(
        session=str(folder),
        verified=not verification.mismatches,
        files=verification.files,
        verdicts=verification.verdicts,
        mismatches=[f"{mismatch.file}: {mismatch.what}" for mismatch in verification.mismatches],
        report=str(path) if not verification.mismatches else None,
    )


def write_report(request: RunRequest) -> ReportWritten:
    """Verifies a session, and writes its report anew where only the report is missing or was changed.

    Where the evidence or a verdict does not match, nothing is written and the mismatches are the answer.
    """
    verified = verify(request)
    written = ("report.md: ", "report.html: ", "findings/")
    if verified.mismatches and all(mismatch.startswith(written) for mismatch in verified.mismatches):
        write(Session.open(Path(request.session)))
        return verify(request)
    return verified


def runs_below(root: str = "test-sessions", most: int = 100) -> list[RunState]:
    """The runs of a session root, the latest first, at most so many."""
    folders = sorted(Path(root).glob("*/*/session.json"), key=lambda path: path.parent.name, reverse=True)
    return [get_run(RunRequest(session=str(path.parent))) for path in folders[:most]]


def _scenario_state(session: Session, scenario: str) -> ScenarioState:
    entry = session.index.scenarios[scenario]
    path = session.scenario_folder(scenario) / "verdict.json"
    if not path.is_file():
        return ScenarioState(id=scenario, name=entry.name, verdict="NOT-RUN", why="no verdict yet")
    recorded = read_json(path)
    rate = recorded["rate"]
    return ScenarioState(
        id=scenario,
        name=entry.name,
        verdict=recorded["verdict"],
        rate=f"{rate[0]} of {rate[1]}" if rate else None,
        why=recorded["reasons"][0]["sentence"] if recorded["reasons"] else "",
    )
