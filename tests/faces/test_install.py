"""`refute install`: the skills and the server reach an agent's files; what stands there is not lost."""

from __future__ import annotations

import json
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from refute.faces.install import AGENTS, InstallError, install, server_command
from refute.resources import folder

SKILLS = sorted(path.name for path in folder("skills").iterdir() if path.is_dir())


def settings_of(name: str, project: Path) -> dict[str, Any]:
    text = (project / AGENTS[name].settings).read_text()
    return tomllib.loads(text) if AGENTS[name].shape == "toml" else json.loads(text)


@pytest.mark.parametrize("name", sorted(AGENTS))
def test_an_agent_finds_skills_and_server(name: str, tmp_path: Path) -> None:
    install(name, tmp_path)
    place = tmp_path / AGENTS[name].skills
    assert sorted(path.name for path in place.iterdir()) == SKILLS
    assert all((place / skill / "SKILL.md").is_file() for skill in SKILLS)
    entry = settings_of(name, tmp_path)[AGENTS[name].table[0]]["refute"]
    command = entry["command"] if isinstance(entry["command"], list) else [entry["command"], *entry["args"]]
    assert command == server_command()


@pytest.mark.parametrize("name", sorted(AGENTS))
def test_a_second_time_changes_nothing(name: str, tmp_path: Path) -> None:
    install(name, tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {change.what for change in install(name, tmp_path)} == {"kept"}
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}


def test_the_command_that_is_entered_serves_the_tools(tmp_path: Path) -> None:
    """An agent starts it in the project, whose own folder `refute` does not stand in for ours."""
    (tmp_path / "refute").mkdir()
    (tmp_path / "refute/__init__.py").write_text("raise SystemExit('not ours')\n")
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    done = subprocess.run(
        server_command(),
        cwd=tmp_path,
        input=json.dumps(hello) + "\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert json.loads(done.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "refute"


@pytest.mark.parametrize("name", ["cursor", "vscode", "gemini", "opencode"])
def test_other_settings_stay(name: str, tmp_path: Path) -> None:
    settings = tmp_path / AGENTS[name].settings
    settings.parent.mkdir(exist_ok=True)
    theirs = {"theme": "düster", AGENTS[name].table[0]: {"other": {"command": "x"}}}
    settings.write_text(json.dumps(theirs))
    install(name, tmp_path)
    found = settings_of(name, tmp_path)
    del found[AGENTS[name].table[0]]["refute"]
    assert found == theirs


def test_a_toml_file_keeps_its_comments(tmp_path: Path) -> None:
    settings = tmp_path / ".codex" / "config.toml"
    settings.parent.mkdir()
    settings.write_text('# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "y"\n')
    install("codex", tmp_path)
    assert settings.read_text().startswith('# mine\nmodel = "x"\n')
    assert set(settings_of("codex", tmp_path)["mcp_servers"]) == {"other", "refute"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("vscode", '{"servers": {} // a comment\n}'),
        ("cursor", "[]"),
        ("cursor", '{"mcpServers": 3}'),
        ("codex", "= ="),
        ("claude", '{"mcpServers": {"refute": {"command": "theirs"}}}'),
        ("codex", '[mcp_servers.refute]\ncommand = "theirs"\n'),
    ],
)
def test_settings_that_cannot_be_extended_are_left_and_nothing_is_written(
    name: str, text: str, tmp_path: Path
) -> None:
    settings = tmp_path / AGENTS[name].settings
    settings.parent.mkdir(exist_ok=True)
    settings.write_text(text)
    with pytest.raises(InstallError):
        install(name, tmp_path)
    assert settings.read_text() == text
    assert not (tmp_path / AGENTS[name].skills).exists()


def test_a_changed_skill_is_replaced_only_when_asked(tmp_path: Path) -> None:
    install("claude", tmp_path)
    skill = tmp_path / ".claude/skills" / SKILLS[0] / "SKILL.md"
    skill.write_text("mine")
    with pytest.raises(InstallError, match="--force"):
        install("claude", tmp_path)
    assert skill.read_text() == "mine"
    assert [
        change.path for change in install("claude", tmp_path, force=True) if change.what == "replaced"
    ] == [skill]
    assert skill.read_bytes() == (folder("skills") / SKILLS[0] / "SKILL.md").read_bytes()


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    assert {change.what for change in install("claude", tmp_path, dry_run=True)} == {"new"}
    assert not list(tmp_path.iterdir())


def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    project.mkdir()
    elsewhere.mkdir()
    (project / ".claude").symlink_to(elsewhere)
    with pytest.raises(InstallError, match="out of the project"):
        install("claude", project)
    assert not list(elsewhere.iterdir())


def test_an_unknown_agent_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InstallError, match="claude"):
        install("emacs", tmp_path)
