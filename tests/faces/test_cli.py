"""The command line as a person or a script meets it: exit codes, one line for an error, pure JSON."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from refute.history import HistoryWriter, Outcome
from refute.session.record import Session
from tests.run.plans import ISOLATED, write_plan


def refute(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "refute.faces.cli", *map(str, words)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def histories(tmp_path: Path) -> dict[str, Path]:
    paths = {}
    for name, read in (("fresh", 2), ("stale", 1)):
        paths[name] = tmp_path / f"{name}.jsonl"
        with HistoryWriter(paths[name]) as writer:
            writer.complete(writer.invoke(1, "write", key="k", input=1), Outcome.OK)
            writer.complete(writer.invoke(1, "write", key="k", input=2), Outcome.OK)
            writer.complete(writer.invoke(1, "read", key="k"), Outcome.OK, output=read)
    paths["empty"] = tmp_path / "empty.jsonl"
    with HistoryWriter(paths["empty"]):
        pass
    return paths


@pytest.mark.parametrize(("name", "code"), [("fresh", 0), ("stale", 1), ("empty", 2)])
def test_check_exits_by_its_answer(histories: dict[str, Path], name: str, code: int) -> None:
    done = refute("check", histories[name], "--model", "register", "--json")
    assert done.returncode == code, done.stderr
    assert json.loads(done.stdout)["valid"] == {0: True, 1: False, 2: "unknown"}[code]


def test_an_answer_that_nobody_reads_is_no_success(histories: dict[str, Path]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    words = [
        sys.executable,
        "-m",
        "refute.faces.cli",
        "check",
        str(histories["stale"]),
        "--model",
        "register",
    ]
    try:
        done = subprocess.run(words, stdout=writing, stderr=subprocess.PIPE, timeout=120, check=False)
    finally:
        os.close(writing)
    assert done.returncode == 141
    assert not done.stderr


def test_verify_exits_0_for_a_true_record_and_1_for_a_false_one(failing: Session) -> None:
    assert refute("verify", failing.folder).returncode == 0
    path = failing.folder / "report.md"
    true = path.read_text()
    path.write_text(true.replace("FAIL-reproducible", "PASS-hardening"))
    try:
        done = refute("verify", failing.folder)
    finally:
        path.write_text(true)
    assert done.returncode == 1
    assert "report.md" in done.stdout


def test_run_exits_1_where_something_failed_and_keeps_stdout_for_the_verdicts(tmp_path: Path) -> None:
    done = refute("run", write_plan(tmp_path, ISOLATED), "--session-root", tmp_path / "s", "--json")
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["scenarios"][0]["verdict"] == "FAIL-reproducible"
    assert re.search(r"^the plan has \d+ errors and \d+ warnings, .*: refute plan check ", done.stderr, re.M)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["check", "/no/such/file"], 64, "/no/such/file"),
        (["check", "{stale}", "--model", "regster"], 64, "regster"),
        (["check", "{stale}", "--option", "model"], 64, "NAME=VALUE"),
        (["run", "/no/such/plan.md"], 64, "/no/such/plan.md"),
        (["run"], 64, "--resume"),
        (["run", "--resume", "/no/such/session"], 64, "session.json"),
        (["verify", "/no/such/session"], 64, "session.json"),
        (["plan", "check", "/no/such/plan.md"], 64, "/no/such/plan.md"),
        (["map", "/no/such/repository"], 64, "/no/such/repository"),
        (["nonsense"], 64, "nonsense"),
    ],
)
def test_bad_input_is_one_line_and_64(
    histories: dict[str, Path], words: list[str], code: int, said: str
) -> None:
    done = refute(*[word.format(**histories) for word in words])
    assert done.returncode == code
    assert done.stdout == ""
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_missing_program_is_one_line_and_nothing_is_left_running(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, ISOLATED)
    plan.write_text(plan.read_text().replace("{python} -m quorumkv", "{python} -m no_such_module"))
    done = refute("run", plan, "--session-root", tmp_path / "s")
    assert done.returncode == 69
    assert "no_such_module" in done.stderr
    left = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert str(tmp_path) not in left


def test_plan_check_exits_1_while_an_error_stands(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, ISOLATED.replace("linearizable", "logs-look-fine"))
    done = refute("plan", "check", plan)
    assert done.returncode in (1, 64)
    assert "logs-look-fine" in done.stdout + done.stderr


def test_plan_check_exits_64_where_a_plan_or_a_block_of_it_cannot_be_read(tmp_path: Path) -> None:
    empty = tmp_path / "empty.md"
    empty.write_text("", encoding="utf-8")
    done = refute("plan", "check", empty)
    assert (done.returncode, done.stdout) == (64, "")
    assert "empty.md: the file is empty (begin with" in done.stderr
    done = refute("plan", "check", write_plan(tmp_path, ISOLATED.replace("check: [", "check: [[")))
    assert done.returncode == 64
    assert "[bad-yaml]" in done.stdout and "of 1 blocks that are no YAML nothing was judged" in done.stdout


def test_help_needs_nothing_heavy() -> None:
    code = "import sys; from refute.faces.cli import build_parser; build_parser(); print(sorted({'mcp', 'numpy', 'pydantic', 'anthropic'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_missing_report_is_written_again_and_a_false_verdict_is_not_reported(
    failing: Session, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(failing.folder, tmp_path / "session"))
    (folder / "report.md").unlink()
    assert refute("verify", folder).returncode == 1
    assert not (folder / "report.md").exists(), "verify changes nothing"
    assert refute("report", folder).returncode == 0
    assert (folder / "report.md").read_bytes() == (failing.folder / "report.md").read_bytes()
    verdict = folder / "scenarios" / "S1" / "verdict.json"
    verdict.write_text(verdict.read_text().replace("FAIL-reproducible", "PASS-smoke"))
    (folder / "report.md").unlink()
    assert refute("report", folder).returncode == 1
    assert not (folder / "report.md").exists()
