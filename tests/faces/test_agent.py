"""`refute agent` against a stand-in for the API: what the model may do, and that its word is not the outcome."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anthropic
import pytest

from refute.errors import UnavailableError
from refute.faces.agent import Assignment, Outcome, converse, new_client
from tests.faces.model_stub import ModelStub, call, model_stub, words
from tests.run.plans import ISOLATED, write_plan


def talk(stub: ModelStub, assignment: Assignment, *, agrees: bool = False, most: int = 9) -> Outcome:
    asked: list[str] = []

    def ask(what: str) -> bool:
        asked.append(what)
        return agrees

    client = anthropic.AsyncAnthropic(api_key="k", base_url=stub.url, max_retries=0)
    return asyncio.run(
        converse(
            assignment,
            model="some-model",
            most_replies=most,
            ask=ask,
            say=lambda _: None,
            record=lambda _: None,
            client=client,
        )
    )


@pytest.fixture
def design(tmp_path: Path) -> Assignment:
    (tmp_path / "README.md").write_text("# Store\n\nAn acknowledged write is never lost.\n")
    plans = tmp_path / "docs" / "testing-plans"
    plans.mkdir(parents=True)
    return Assignment("design", "make a plan", tmp_path, plans)


def test_the_model_gets_the_skill_and_the_tools_of_its_task(design: Assignment) -> None:
    with model_stub(words("done")) as stub:
        outcome = talk(stub, design)
    assert outcome == Outcome("done", 1, ())
    names = {tool["name"] for tool in stub.requests[0]["tools"]}
    assert {"extract_claims", "check_plan", "scaffold_plan", "read", "edit", "write"} <= names
    assert not names & {"inject_fault", "start_run", "manage_system", "bash"}
    assert "Claims" in stub.requests[0]["system"][0]["text"]


def test_whoever_executes_writes_no_file(tmp_path: Path) -> None:
    with model_stub(words("done")) as stub:
        talk(stub, Assignment("execute", "run it", tmp_path, None))
    names = {tool["name"] for tool in stub.requests[0]["tools"]}
    assert {"start_run", "inject_fault", "write_report", "read"} <= names
    assert not names & {"write", "edit", "scaffold_plan", "bash"}


def test_a_tool_answers_and_the_conversation_goes_on(design: Assignment) -> None:
    with model_stub(call("extract_claims", repository=str(design.reads)), words("one claim")) as stub:
        outcome = talk(stub, design)
    assert outcome.replies == 2
    (result,) = stub.results()
    assert "never lost" in json.dumps(result["content"])
    assert not result.get("is_error")


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (call("extract_claims", repository="/nowhere/at/all"), "nowhere"),
        (call("extract_claims", repo="x"), "repo"),
        (call("read", file_path="/etc/passwd"), "outside"),
        (call("write", file_path="../../README.md", content="x"), "outside"),
        (call("write", file_path="/tmp/elsewhere.md", content="x"), "outside"),
        (call("scaffold_plan", repository=".", slug="s", output="/tmp/elsewhere.md"), "not below"),
    ],
)
def test_what_the_model_may_not_do_is_an_error_that_it_is_told(
    design: Assignment, reply: dict[str, Any], said: str
) -> None:
    before = (design.reads / "README.md").read_text()
    with model_stub(reply, words("sorry")) as stub:
        talk(stub, design)
    (result,) = stub.results()
    assert result["is_error"]
    assert said in json.dumps(result["content"])
    assert (design.reads / "README.md").read_text() == before
    assert not Path("/tmp/elsewhere.md").exists()


def test_the_plan_is_written_in_its_folder(design: Assignment) -> None:
    with model_stub(call("write", file_path="s.md", content="# A plan\n"), words("done")) as stub:
        talk(stub, design)
    assert design.writes is not None
    assert (design.writes / "s.md").read_text() == "# A plan\n"


def test_nothing_is_done_to_a_system_without_the_person(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, ISOLATED)
    start = call("start_run", plan=str(plan), session_root=str(tmp_path / "sessions"))
    with model_stub(start, words("it may not be")) as stub:
        outcome = talk(stub, Assignment("execute", "run it", tmp_path, None))
    (result,) = stub.results()
    assert result["is_error"]
    assert "did not agree" in json.dumps(result["content"])
    assert outcome.sessions == ()
    assert not (tmp_path / "sessions").exists()


def test_a_conversation_that_does_not_end_is_cut_short(design: Assignment) -> None:
    with model_stub(call("list_faults", probe=False)) as stub:
        outcome = talk(stub, design, most=3)
    assert (outcome.replies, outcome.stopped) == (3, "3 replies were not enough")


def test_a_reply_that_is_too_long_is_told(design: Assignment) -> None:
    cut = {"content": [{"type": "text", "text": "and then"}], "stop_reason": "max_tokens"}
    with model_stub(cut) as stub:
        assert "max_tokens" in talk(stub, design).stopped


@pytest.mark.parametrize(("status", "hint"), [(401, "ANTHROPIC_API_KEY"), (404, "--model"), (400, "400")])
def test_an_error_of_the_api_is_one_line(design: Assignment, status: int, hint: str) -> None:
    with model_stub(words(""), status=status) as stub, pytest.raises(UnavailableError, match=hint):
        talk(stub, design)


def test_an_api_that_is_not_there_is_one_line(design: Assignment) -> None:
    with model_stub(words("")) as stub:
        pass
    with pytest.raises(UnavailableError, match="cannot be reached"):
        talk(stub, design)


def test_without_a_key_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UnavailableError, match="refute mcp"):
        new_client()


def refute(stub: ModelStub, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": stub.url}
    return subprocess.run(
        [sys.executable, "-m", "refute.faces.cli", "agent", *map(str, arguments)],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_model_s_word_for_a_plan_is_not_taken(design: Assignment, tmp_path: Path) -> None:
    with model_stub(words("the plan is perfect")) as stub:
        none = refute(stub, "design", design.reads, "--slug", "s")
    assert none.returncode == 1
    assert "no plan was written" in none.stderr
    weak = call("write", file_path="s.md", content="# A plan\n\nAll is well.\n")
    with model_stub(weak, words("the plan is perfect")) as stub:
        done = refute(
            stub, "design", design.reads, "--slug", "s", "--json", "--transcript", tmp_path / "said.jsonl"
        )
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert found["words"] == "the plan is perfect"
    assert found["checked"]["ok"] is False
    said = [json.loads(line) for line in (tmp_path / "said.jsonl").read_text().splitlines()]
    assert [message["role"] for message in said] == ["user", "assistant", "assistant"]


def test_the_model_s_word_for_a_run_is_not_taken(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, ISOLATED)
    with model_stub(words("everything passed")) as stub:
        done = refute(stub, "execute", plan, "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["verdicts"] == []


def test_no_terminal_is_a_no(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, ISOLATED)
    with model_stub(call("start_run", plan=str(plan)), words("not allowed")) as stub:
        done = refute(stub, "execute", plan)
    assert done.returncode == 2
    assert "nobody can be asked" in done.stderr
    assert stub.results()[0]["is_error"]


def test_a_run_that_was_agreed_to_gives_the_exit_code_of_its_verdicts(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, ISOLATED)
    sessions = tmp_path / "sessions"

    def look(asked: dict[str, Any]) -> dict[str, Any]:
        found = next(sessions.glob("*/*/session.json")).parent
        over = json.loads((found / "session.json").read_text())["state"] != "running"
        return words("all is well") if over else call("get_run", session=str(found))

    start = call("start_run", plan=str(plan), session_root=str(sessions))
    with model_stub(start, look) as stub:
        done = refute(stub, "execute", plan, "--yes", "--json", "--max-replies", "10000")
    found = json.loads(done.stdout)
    assert found["sessions"][0]["verified"] is True
    failed = any(verdict.startswith("FAIL") for verdict in found["verdicts"])
    assert found["verdicts"]
    assert done.returncode == (
        1 if failed else 0 if all(v.startswith("PASS") for v in found["verdicts"]) else 2
    )
