"""The server over stdio, as a client meets it, in both eras of the protocol."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import ElicitResult, PromptReference, ResourceTemplateReference

from refute.history import HistoryWriter, Outcome
from refute.resources import folder
from refute.tools.registry import TOOLS
from tests.plan.plans import STORE
from tests.repository.repositories import commit_files, git
from tests.run.plans import ISOLATED, write_plan

SERVER = StdioServerParameters(command=sys.executable, args=["-m", "refute.faces.cli", "mcp"])
MODES = ("legacy", "auto")


def talk(mode: Any, conversation: Any) -> Any:
    async def main() -> Any:
        async with Client(stdio_client(SERVER), mode=mode) as client:
            return await conversation(client)

    return anyio.run(main)


@pytest.mark.parametrize("mode", MODES)
def test_the_tools_are_those_of_the_registry_with_honest_hints(mode: str) -> None:
    async def conversation(client: Client) -> Any:
        return (await client.list_tools()).tools

    listed = {tool.name: tool for tool in talk(mode, conversation)}
    assert set(listed) == {tool.name for tool in TOOLS}
    assert len(listed) <= 18
    for tool in TOOLS:
        annotations = listed[tool.name].annotations
        assert annotations is not None
        assert annotations.read_only_hint is not (tool.changes or bool(tool.writes))
        assert annotations.destructive_hint is tool.destroys


@pytest.mark.parametrize("mode", MODES)
def test_text_and_data_carry_the_same_facts(mode: str, tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    with HistoryWriter(path) as writer:
        writer.complete(writer.invoke(1, "write", key="k", input=1), Outcome.OK)
        writer.complete(writer.invoke(1, "write", key="k", input=2), Outcome.OK)
        writer.complete(writer.invoke(1, "read", key="k"), Outcome.OK, output=1)

    async def conversation(client: Client) -> Any:
        return await client.call_tool("check_history", {"history": str(path)})

    answer = talk(mode, conversation)
    assert not answer.is_error
    assert answer.structured_content["valid"] is False
    assert "valid: no" in answer.content[0].text
    assert answer.structured_content["anomalies"][0]["sentence"] in answer.content[0].text


def test_a_bad_request_is_a_tool_error_of_one_line(tmp_path: Path) -> None:
    async def conversation(client: Client) -> Any:
        return await client.call_tool("check_plan", {"plan": str(tmp_path / "none.md")})

    answer = talk("auto", conversation)
    assert answer.is_error
    assert "none.md" in answer.content[0].text
    assert "Traceback" not in answer.content[0].text


def test_a_run_is_confirmed_started_and_reported(tmp_path: Path) -> None:
    plan = write_plan(tmp_path, ISOLATED)
    request = {"plan": str(plan), "session_root": str(tmp_path / "sessions")}

    async def conversation(client: Client) -> Any:
        asked = await client.call_tool("start_run", request)
        assert asked.structured_content["done"] is False
        assert not (tmp_path / "sessions").exists()
        forged = await client.call_tool("start_run", request | {"confirm": "guess"})
        assert forged.is_error and "not good for this call" in forged.content[0].text
        token = {"confirm": asked.structured_content["confirm"]}
        started = await client.call_tool("start_run", request | token)
        run = {"session": started.structured_content["session"]}
        with anyio.fail_after(90):
            while True:
                state = await client.call_tool("get_run", run)
                if state.structured_content["state"] != "running":
                    break
                await anyio.sleep(0.3)
        report = await client.call_tool("write_report", run)
        read = await client.call_tool("read_artifact", run | {"file": "report.md"})
        outside = await client.call_tool("read_artifact", run | {"file": "../../../store.md"})
        return state, report, read, outside

    state, report, read, outside = talk("auto", conversation)
    assert state.structured_content["state"] == "complete"
    assert state.structured_content["scenarios"][0]["verdict"] == "FAIL-reproducible"
    assert report.structured_content["verified"] is True
    assert "stale read" in read.content[0].text
    assert outside.is_error


def test_the_read_toolset_changes_nothing_and_writes_no_file(tmp_path: Path) -> None:
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "refute.faces.cli", "mcp", "--toolsets", "read"]
    )
    path, picture = tmp_path / "history.jsonl", tmp_path / "picture.html"
    with HistoryWriter(path) as writer:
        writer.complete(writer.invoke(1, "write", key="k", input=1), Outcome.OK)

    async def main() -> Any:
        async with Client(stdio_client(server)) as client:
            listed = (await client.list_tools()).tools
            asked = {"history": str(path), "plot": str(picture)}
            return listed, await client.call_tool("check_history", asked)

    listed, answer = anyio.run(main)
    names = {tool.name for tool in listed}
    assert names == {tool.name for tool in TOOLS if tool.toolset == "read"}
    assert not names & {tool.name for tool in TOOLS if tool.changes}
    assert all(tool.annotations.read_only_hint for tool in listed)
    assert answer.is_error
    assert "changes nothing" in answer.content[0].text
    assert not picture.exists()


def test_an_argument_that_is_not_known_is_an_error_not_a_default(tmp_path: Path) -> None:
    async def conversation(client: Client) -> Any:
        return await client.call_tool("start_run", {"plan": str(tmp_path / "p.md"), "scenario": ["S1"]})

    answer = talk("auto", conversation)
    assert answer.is_error
    assert "scenario" in answer.content[0].text


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("agreed", [True, False])
def test_a_client_that_can_ask_its_user_is_asked(mode: Any, agreed: bool, tmp_path: Path) -> None:
    questions = []

    async def answer(_context: Any, params: Any) -> ElicitResult:
        questions.append(params.message)
        return ElicitResult(action="accept", content={"go_ahead": agreed})

    async def main() -> Any:
        async with Client(stdio_client(SERVER), mode=mode, elicitation_callback=answer) as client:
            return await client.call_tool("start_run", {"plan": str(tmp_path / "none.md")})

    result = anyio.run(main)
    assert len(questions) == 1
    assert "start run" in questions[0]
    assert result.is_error
    # A yes goes on to the tool, which finds no such plan; a no does nothing at all.
    assert ("none.md" in result.content[0].text) is agreed
    assert ("nothing was done" in result.content[0].text) is not agreed


def test_prompts_and_resources_are_served() -> None:
    async def conversation(client: Client) -> Any:
        prompts = (await client.list_prompts()).prompts
        catalog = await client.read_resource("refute://catalog/faults")
        plan = await client.read_resource("refute://plans/quorumkv")
        return prompts, catalog, plan

    prompts, catalog, plan = talk("auto", conversation)
    assert len(prompts) >= 15
    assert any(fault["kind"] == "partition" for fault in json.loads(catalog.contents[0].text))
    assert "a_deposed_leader_never_answers_with_the_past" in plan.contents[0].text


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    files = {
        "docs/testing-plans/store.md": STORE,
        "docs/testing-plans/stock.md": "# Nothing yet\n",
        "docs/testing-plans/README.md": "# Plans\n",
    }
    root = commit_files(tmp_path / "repository", files)
    git(root, "tag", "v1.0")
    git(root, "branch", "release/1")
    return root


def completed(mode: str, argument: str, value: str, given: dict[str, str], prompt: str = "") -> list[str]:
    async def conversation(client: Client) -> Any:
        answer = await client.complete(
            PromptReference(name=prompt or "durability-plan"),
            {"name": argument, "value": value},
            context_arguments=given,
        )
        return answer.completion.values

    return list(talk(mode, conversation))


@pytest.mark.parametrize("mode", MODES)
def test_a_client_completes_slugs_revisions_and_scenarios(mode: str, repository: Path) -> None:
    given = {"repository": str(repository)}
    assert completed(mode, "slug", "", given) == ["stock", "store"]
    assert completed(mode, "slug", "stor", given) == ["store"]
    assert completed(mode, "scenario", "", {**given, "slug": "store"}) == ["S1", "S2", "S3"]
    assert completed(mode, "change", "v", given) == ["v1.0"]
    assert completed(mode, "change", "v1.0..rel", given) == ["v1.0..release/1"]
    assert {"HEAD", "main", "release/1", "v1.0"} < set(completed(mode, "change", "", given))


@pytest.mark.parametrize(
    ("argument", "given", "prompt"),
    [
        ("scenario", {}, ""),
        ("scenario", {"slug": "../../etc/passwd"}, ""),
        ("repository", {}, ""),
        ("slug", {"repository": "/nowhere/at/all"}, ""),
        ("change", {"repository": "/nowhere/at/all"}, ""),
        ("slug", {}, "no-such-prompt"),
    ],
)
def test_what_cannot_be_completed_is_an_empty_answer(
    argument: str, given: dict[str, str], prompt: str, repository: Path
) -> None:
    assert completed("auto", argument, "", {"repository": str(repository), **given}, prompt) == []


def test_the_names_of_bundled_plans_are_completed() -> None:
    async def conversation(client: Client) -> Any:
        answer = await client.complete(
            ResourceTemplateReference(uri="refute://plans/{slug}"), {"name": "slug", "value": "quo"}
        )
        return answer.completion.values

    bundled = sorted(path.stem for path in folder("testing-plans").glob("quo*.md"))
    assert "quorumkv" in bundled
    assert talk("auto", conversation) == bundled
