"""A failure is made smaller by one call, and the session that it belongs to stays what it was."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest

from refute.errors import InputError
from refute.faces.consent import needs_consent
from refute.history import HistoryWriter, Outcome
from refute.history.event_reader import read_history
from refute.session.record import Session
from refute.session.verify import verify_session
from refute.tools.problems import ToolError
from refute.tools.reductions import ReduceFailureRequest, reduce_failure
from refute.tools.registry import tool
from tests.faces.test_cli import refute


@pytest.fixture
def copied(failing: Session, tmp_path: Path) -> Path:
    return Path(shutil.copytree(failing.folder, tmp_path / "session"))


@pytest.fixture
def stale(tmp_path: Path) -> Path:
    path = tmp_path / "stale.jsonl"
    with HistoryWriter(path) as writer:
        for key in ("other", "k"):
            for value in (1, 2):
                writer.complete(writer.invoke(1, "write", key=key, input=value), Outcome.OK)
        writer.complete(writer.invoke(2, "read", key="other"), Outcome.OK, output=2)
        writer.complete(writer.invoke(2, "read", key="k"), Outcome.OK, output=1)
    return path


def test_a_finding_is_reduced_beside_its_attempt_and_the_session_stays_true(copied: Path) -> None:
    answer = reduce_failure(ReduceFailureRequest(session=str(copied), id="S1"))
    assert answer.anomaly == "stale read"
    assert len(answer.operations) == 3 < answer.of
    assert answer.minimal
    path = Path(answer.history)
    assert path.parent == copied / "scenarios" / "S1" / "run-1"
    assert len(read_history(path)) == 3
    assert Path(answer.picture).read_text().startswith("<!doctype html><!-- a picture by refute -->")
    note = json.loads(path.with_suffix(".json").read_text())
    assert len(note["operations_in_the_whole"]) == 3
    assert verify_session(copied).mismatches == ()


def test_what_is_written_fails_by_itself(stale: Path) -> None:
    done = refute("reduce", stale, "--model", "register", "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert Path(answer["history"]) == stale.with_name("stale.reduced.jsonl")
    assert [operation["key"] for operation in answer["operations"]] == ["k", "k", "k"]
    assert refute("check", answer["history"], "--model", "register").returncode == 1


def test_twice_is_the_same_as_once(stale: Path) -> None:
    request = ReduceFailureRequest(history=str(stale), model="register")
    assert reduce_failure(request) == reduce_failure(request)


def test_what_did_not_fail_is_not_reduced(copied: Path, tmp_path: Path) -> None:
    path = tmp_path / "fresh.jsonl"
    with HistoryWriter(path) as writer:
        writer.complete(writer.invoke(1, "write", key="k", input=1), Outcome.OK)
    with pytest.raises(ToolError, match="nothing to reduce"):
        reduce_failure(ReduceFailureRequest(history=str(path), model="register"))
    with pytest.raises(InputError, match="no scenario 'S9'"):
        reduce_failure(ReduceFailureRequest(session=str(copied), id="S9"))
    done = refute("reduce", copied)
    assert done.returncode == 64
    assert len(done.stderr.splitlines()) == 1


def test_a_smaller_run_is_looked_for_in_the_background(copied: Path) -> None:
    request = ReduceFailureRequest(session=str(copied), id="S1", rerun=True, reruns=1, most_runs=2)
    seen = reduce_failure(request).smaller
    assert seen is not None
    limit = time.monotonic() + 200
    while seen.state == "running" and time.monotonic() < limit:
        time.sleep(0.2)
        seen = reduce_failure(request).smaller
        assert seen is not None
    assert seen.state == "done", seen
    assert seen.plan is not None
    assert Path(seen.plan).is_file()
    assert (seen.finished, seen.reason, seen.tried) == (False, "2 runs were made", 2)
    assert verify_session(copied).mismatches == ()


def test_running_again_needs_consent_and_reading_does_not() -> None:
    row = tool("reduce_failure")
    assert needs_consent(row, {"session": "s", "id": "S1", "rerun": True})
    assert not needs_consent(row, {"session": "s", "id": "S1"})


def test_a_history_cannot_be_run_again(stale: Path) -> None:
    with pytest.raises(ValueError, match="only a scenario of a session"):
        ReduceFailureRequest(history=str(stale), rerun=True)
