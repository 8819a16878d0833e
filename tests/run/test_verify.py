"""A session is accepted as it is, and rejected after any one change, with the name of the file."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from refute.session.record import Session
from refute.session.verify import verify_session


@pytest.fixture
def copied(failing: Session, tmp_path: Path) -> Path:
    return Path(shutil.copytree(failing.folder, tmp_path / "session"))


def one(folder: Path, name: str) -> Path:
    return next(path for path in sorted(folder.rglob(name)) if "control" not in str(path))


def test_an_untouched_session_is_accepted(copied: Path) -> None:
    verification = verify_session(copied)
    assert verification.mismatches == ()
    assert verification.verdicts == {"S1": "FAIL-reproducible"}
    assert verification.files > 10


def edit_verdict(folder: Path) -> str:
    path = one(folder, "verdict.json")
    path.write_text(path.read_text().replace("FAIL-reproducible", "PASS-hardening"))
    return "verdict.json"


def delete_history_line(folder: Path) -> str:
    path = one(folder, "history.jsonl")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]))
    return "history.jsonl"


def change_landing_counter(folder: Path) -> str:
    path = one(folder, "landing.json")
    document = json.loads(path.read_text())
    document[0]["signals"][0]["during"] = 1
    path.write_text(json.dumps(document))
    return "landing.json"


def edit_report(folder: Path) -> str:
    path = folder / "report.md"
    path.write_text(path.read_text().replace("FAIL-reproducible", "PASS-smoke"))
    return "report.md"


def edit_page(folder: Path) -> str:
    path = folder / "report.html"
    path.write_text(path.read_text().replace("FAIL-reproducible", "PASS-smoke"))
    return "report.html"


def remove_faults(folder: Path) -> str:
    one(folder, "faults.jsonl").unlink()
    return "faults.jsonl"


def add_attempt(folder: Path) -> str:
    attempt = one(folder, "spec.yaml").parent
    shutil.copytree(attempt, attempt.with_name("run-9"))
    return "run-9"


TAMPERINGS = [
    edit_verdict,
    delete_history_line,
    change_landing_counter,
    edit_report,
    edit_page,
    remove_faults,
    add_attempt,
]


@pytest.mark.parametrize("tamper", TAMPERINGS)
def test_a_session_that_was_tampered_with_is_rejected(copied: Path, tamper: Callable[[Path], str]) -> None:
    name = tamper(copied)
    assert any(name in mismatch.file for mismatch in verify_session(copied).mismatches)


def test_a_forged_digest_does_not_help_a_forged_verdict(copied: Path) -> None:
    edit_verdict(copied)
    session = Session.open(copied)
    session.index.scenarios["S1"].verdict = "PASS-hardening"
    session.seal("complete")
    files = {mismatch.file for mismatch in verify_session(copied).mismatches}
    assert "session.json" in files
    assert "scenarios/S1/verdict.json" in files


def test_a_verdict_may_be_lowered_only(copied: Path) -> None:
    session = Session.open(copied)
    session.index.scenarios["S1"].lowered = "INCONCLUSIVE-env"
    session.save()
    assert any("lowered" in mismatch.what for mismatch in verify_session(copied).mismatches)
