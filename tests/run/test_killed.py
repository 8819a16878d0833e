"""A whole run is killed in the middle of its faults: the guard heals, and what is on disk is judged."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

from refute.history import FaultPhase, Outcome
from refute.history.event_reader import read_history
from refute.history.faults_log import read_faults
from refute.nemesis.ledger import read_ledger
from refute.run.execute import resume_session
from refute.session.record import Session
from refute.session.verify import verify_session
from tests.run.plans import write_plan

HANGING = """steps:
  - await: {leader: known, every_node: in-sync}
  - write: {key: k, value: unique, via: leader, expect: ok}
  - read: {key: k, via: leader, expect: ok}
  - isolate: leader as old
  - pause: not old
  - sleep: 60s
check: [{linearizable: {model: register}}]
"""
RUN = "import sys; from pathlib import Path; from refute.run.execute import run_plan; run_plan(Path(sys.argv[1]), seed=1, session_root=Path(sys.argv[2]))"


def test_the_guard_heals_within_five_seconds_and_a_verdict_comes_from_disk(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, HANGING)
    root = tmp_path / "s"
    owner = subprocess.Popen([sys.executable, "-c", RUN, str(plan), str(root)], stdin=subprocess.DEVNULL)
    attempt = wait_for(lambda: next(root.rglob("faults.jsonl"), None)).parent
    wait_for(lambda: applied(attempt) == {"partition", "pause"})
    ledger = read_ledger(attempt / "ledger")
    stopped = [
        process for process in psutil.process_iter() if in_state(process, attempt, psutil.STATUS_STOPPED)
    ]
    assert stopped, "a node is paused before the kill"

    family = psutil.Process(owner.pid).children(recursive=True)
    nodes = [process for process in family if str(attempt) in " ".join(command(process))]
    for process in [psutil.Process(owner.pid), *family]:
        if process not in nodes:
            os.kill(process.pid, signal.SIGKILL)
    owner.wait()

    began = time.monotonic()
    wait_for(lambda: not any(in_state(process, attempt, psutil.STATUS_STOPPED) for process in stopped), 5.0)
    wait_for(lambda: all(entry.healed_by for entry in read_ledger(attempt / "ledger").entries.values()), 5.0)
    assert time.monotonic() - began < 5.0
    assert len(ledger.entries) == 2
    wait_for(lambda: not [p for p in psutil.process_iter() if str(attempt) in " ".join(command(p))], 10.0)

    history = read_history(attempt / "history.jsonl")
    assert [operation.outcome for operation in history.operations] == [Outcome.OK, Outcome.OK]
    session = resume_session(next(root.rglob("session.json")).parent, judge_only=True)
    assert session.index.scenarios["S1"].verdict == "INCONCLUSIVE-env"
    assert Session.open(session.folder).index.state == "complete"


def test_a_resumed_run_keeps_what_ended_and_makes_the_rest(failing: Session, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(failing.folder, tmp_path / "session"))
    session = Session.open(folder)
    session.index.state = "running"
    session.save()
    kept, cut = session.attempts("S1")[0], session.attempts("S1")[-1]
    timeline = cut / "run.jsonl"
    timeline.write_text("".join(timeline.read_text().splitlines(keepends=True)[:-2]))
    before = (kept / "history.jsonl").read_bytes()
    resumed = resume_session(folder)
    assert (kept / "history.jsonl").read_bytes() == before
    assert resumed.index.scenarios["S1"].verdict == "FAIL-reproducible"
    assert [path.name for path in (folder / "set-aside").rglob("spec.yaml")] == ["spec.yaml"]
    assert verify_session(folder).mismatches == ()


def applied(attempt: Path) -> set[str]:
    events = read_faults(attempt / "faults.jsonl")
    return {event.kind for event in events if event.phase is FaultPhase.APPLIED}


def command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def in_state(process: psutil.Process, attempt: Path, state: str) -> bool:
    try:
        return str(attempt) in " ".join(process.cmdline()) and process.status() == state
    except psutil.Error:
        return False


def wait_for(probe, timeout_s: float = 30.0):  # type: ignore[no-untyped-def]
    limit = time.monotonic() + timeout_s
    while time.monotonic() < limit:
        if found := probe():
            return found
        time.sleep(0.02)
    raise AssertionError("it did not come in time")
