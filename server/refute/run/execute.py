"""Runs a plan: a session is made, each scenario runs in a process of its own, the report is written."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil

from refute.errors import InputError, RefuteError, UnavailableError
from refute.interpreter import python
from refute.plan.check import refuse_unrunnable
from refute.plan.document import Plan
from refute.plan.reader import read_plan
from refute.plan.scenario import BudgetName
from refute.run.progress import Progress, ProgressEvent, silent
from refute.session.files import read_json, write_json
from refute.session.record import ScenarioEntry, Session, SessionIndex
from refute.session.report import write_report
from refute.system.environment import environment


class RunError(RefuteError):
    """A scenario's process ended without a verdict."""


def run_plan(
    plan_path: Path,
    *,
    scenarios: Sequence[str] = (),
    budget: BudgetName = "smoke",
    seed: int = 1,
    session_root: Path = Path("test-sessions"),
    variables: dict[str, str] | None = None,
    parallel: int = 1,
    progress: Progress = silent,
    stop: threading.Event | None = None,
) -> Session:
    """Runs the plan's scenarios (all, or those named) and returns the sealed session with its report.

    Raises InputError for a plan that cannot be run or a scenario that it does not have, UnavailableError
    where the system cannot be started; the session, with what was recorded until then, is sealed all the
    same. Setting `stop` heals what is on, stops what runs and seals the session as cancelled.
    """
    plan = read_plan(plan_path)
    refuse_unrunnable(plan)
    chosen = _chosen(plan, scenarios)
    known = {name for scenario in chosen for name in plan.systems[plan.scenarios[scenario].system].variables}
    for name in variables or {}:
        if name not in known:
            raise InputError(f"no system of the plan has a variable {name!r}", where=plan_path)
    index = SessionIndex(
        plan=str(plan_path),
        plan_path=str(plan_path.resolve()),
        slug=plan.slug,
        plan_digest=plan.digest,
        budget=budget,
        seed=seed,
        variables=variables or {},
        started=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    )
    for scenario in chosen:
        described = plan.scenarios[scenario]
        folder = f"scenarios/{scenario}"
        index.scenarios[scenario] = ScenarioEntry(
            id=scenario, name=described.name, folder=folder, falsifies=described.falsifies
        )
    session = Session.create(session_root.resolve(), index, plan.source)
    write_json(session.folder / "environment.json", environment())
    return _carry_out(session, parallel, progress, stop or threading.Event(), judge_only=False)


def resume_session(
    folder: Path,
    *,
    parallel: int = 1,
    judge_only: bool = False,
    progress: Progress = silent,
    stop: threading.Event | None = None,
) -> Session:
    """Goes on with a session that was interrupted, or with `judge_only` judges what is on disk.

    Attempts that ended are kept. Raises SessionError for a folder that is none, InputError while its
    owner still runs or where it is complete.
    """
    session = Session.open(folder)
    if session.index.state == "complete" and not judge_only:
        raise InputError("this session is complete", where=folder, hint="refute verify, or a new run")
    if owner_runs(session):
        raise InputError(f"process {session.index.owner['pid']} is still running it", where=folder)
    return _carry_out(session, parallel, progress, stop or threading.Event(), judge_only=judge_only)


def owner_runs(session: Session) -> bool:
    """Whether the process that runs this session is alive: the same pid, started at the same time."""
    owner = session.index.owner
    if session.index.state != "running" or "pid" not in owner:
        return False
    try:
        process = psutil.Process(owner["pid"])
        ours = process.create_time() == owner["started"]
        return bool(ours and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _carry_out(
    session: Session, parallel: int, progress: Progress, stop: threading.Event, *, judge_only: bool
) -> Session:
    session.index.state = "running"
    session.index.owner = {"pid": os.getpid(), "started": psutil.Process().create_time()}
    session.save()
    told = _Told(session, progress)
    state: Any = "failed"
    try:
        # Whoever raises first is raised; the others are told to stop, and are waited for.
        halt = threading.Event()
        with ThreadPoolExecutor(max(1, parallel)) as pool:
            running = [
                pool.submit(_scenario, session, scenario, told, (stop, halt), judge_only)
                for scenario in session.index.scenarios
            ]
            failure = None
            for future in running:
                try:
                    future.result()
                except RefuteError as error:
                    failure = failure or error
                    halt.set()
        if failure is not None:
            raise failure
        state = "cancelled" if stop.is_set() else "complete"
    finally:
        _take_verdicts(session)
        session.index.owner = {}
        write_report(session)
        session.seal(state)
    return session


def _scenario(
    session: Session,
    scenario: str,
    told: _Told,
    stops: tuple[threading.Event, ...],
    judge_only: bool,
) -> None:
    if any(stop.is_set() for stop in stops) and not judge_only:
        return
    words = python("-m", "refute.run.scenario_process", str(session.folder), scenario)
    log = session.folder / "logs" / f"{scenario}.stderr"
    log.parent.mkdir(exist_ok=True)
    with log.open("ab") as errors:
        process = subprocess.Popen(
            [*words, *(["--judge"] if judge_only else [])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    over = threading.Event()
    threading.Thread(target=_pass_on, args=(process, stops, over), daemon=True).start()
    failure: dict[str, Any] = {}
    try:
        assert process.stdout is not None
        for line in process.stdout:
            try:
                read = json.loads(line)
            except ValueError:
                continue
            if "error" in read:
                failure = read
            else:
                told(ProgressEvent(scenario, read["attempt"], read["text"]))
    finally:
        over.set()
        code = process.wait()
    if failure:
        kind = {64: InputError, 69: UnavailableError}.get(failure["exit_code"], RunError)
        raise kind(failure["error"])
    if code != 0 and not any(stop.is_set() for stop in stops):
        raise RunError(f"the process of scenario {scenario} ended with {code}", where=log)


def _pass_on(
    process: subprocess.Popen[str], stops: tuple[threading.Event, ...], over: threading.Event
) -> None:
    while not over.wait(0.05):
        if any(stop.is_set() for stop in stops):
            process.terminate()
            return


class _Told:
    """Hands progress on, and keeps the session's log and its last lines for whoever asks from outside."""

    def __init__(self, session: Session, progress: Progress) -> None:
        self._session, self._progress = session, progress
        self._lock = threading.Lock()

    def __call__(self, event: ProgressEvent) -> None:
        with self._lock:
            where = f"{event.scenario} {event.attempt}".strip()
            self._session.log(f"{where}: {event.text}")
            self._progress(event)


def _take_verdicts(session: Session) -> None:
    for scenario, entry in session.index.scenarios.items():
        path = session.scenario_folder(scenario) / "verdict.json"
        if path.is_file():
            recorded = read_json(path)
            entry.verdict = recorded["verdict"]
            entry.rate = tuple(recorded["rate"]) if recorded["rate"] else None


def _chosen(plan: Plan, names: Sequence[str]) -> list[str]:
    for name in names:
        if name not in plan.scenarios:
            known = ", ".join(plan.scenarios) or "none"
            raise InputError(f"the plan has no scenario {name!r}", where=plan.path, hint=f"it has: {known}")
    return [scenario for scenario in plan.scenarios if not names or scenario in names]
