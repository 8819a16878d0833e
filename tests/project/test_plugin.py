"""The checkout is a Claude Code plugin as it stands: what its two manifests name exists and is started."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
KNOWN = {"name", "version", "description", "author", "license", "keywords", "homepage", "repository"}


def read(name: str) -> Any:
    return json.loads((ROOT / name).read_text(encoding="utf-8"))


def checkout(folder: Path) -> Path:
    """A checkout in which `refute` and `make` only say that they were called, and from where."""
    program = folder / ".venv" / "bin" / "refute"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\necho "refute $* in $(pwd)"\n', encoding="utf-8")
    program.chmod(0o755)
    return program


def start(cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    server = read(".mcp.json")["mcpServers"]["refute"]
    bare = {name: value for name, value in os.environ.items() if name != "CLAUDE_PLUGIN_ROOT"}
    return subprocess.run(
        [server["command"], *server["args"]],
        cwd=cwd,
        env=bare | env,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


def test_the_manifest_names_this_project_and_nothing_that_is_not_there() -> None:
    manifest = read(".claude-plugin/plugin.json")
    assert set(manifest) <= KNOWN, "a key that points at files needs a test that they exist"
    assert re.fullmatch(r"[a-z0-9-]+", manifest["name"])
    assert (manifest["name"], manifest["version"]) == (PROJECT["name"], PROJECT["version"])
    assert manifest["license"] == PROJECT["license"]


def test_the_skills_stand_where_a_plugin_is_looked_through_for_them() -> None:
    found = sorted(path.parent.name for path in (ROOT / "skills").glob("*/SKILL.md"))
    assert found == ["designing-distributed-system-tests", "executing-distributed-system-tests"]
    assert [path.name for path in (ROOT / ".claude-plugin").iterdir()] == ["plugin.json"]


def test_the_server_is_started_from_the_checkout_in_the_folder_of_the_user(tmp_path: Path) -> None:
    plugin, project = tmp_path / "a plugin", tmp_path / "project"
    checkout(plugin)
    project.mkdir()
    done = start(project, CLAUDE_PLUGIN_ROOT=str(plugin))
    assert (done.returncode, done.stdout) == (0, f"refute mcp in {project}\n")


def test_a_client_that_opens_the_checkout_itself_needs_no_variable(tmp_path: Path) -> None:
    checkout(tmp_path)
    done = start(tmp_path)
    assert (done.returncode, done.stdout) == (0, f"refute mcp in {tmp_path}\n")


def test_a_checkout_without_an_environment_makes_one_and_keeps_stdout_for_the_protocol(
    tmp_path: Path,
) -> None:
    (tmp_path / "Makefile").write_text(
        ".venv/.runtime:\n\t@echo installing; mkdir -p .venv/bin; "
        "printf '#!/bin/sh\\necho served' > .venv/bin/refute; chmod +x .venv/bin/refute\n",
        encoding="utf-8",
    )
    done = start(tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "served\n", "installing\n")


def test_an_environment_that_cannot_be_made_ends_with_69(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text(".venv/.runtime:\n\t@exit 1\n", encoding="utf-8")
    assert start(tmp_path).returncode == 69


def test_the_program_and_the_make_target_that_the_server_needs_are_the_project_s() -> None:
    assert PROJECT["scripts"]["refute"] == "refute.faces.cli:main"
    script = read(".mcp.json")["mcpServers"]["refute"]["args"][1]
    assert ".venv/.runtime" in script
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "$(VENV)/.runtime:" in makefile
    assert re.search(r"^VENV\s*\?=\s*\.venv$", makefile, re.M)


@pytest.mark.parametrize("name", [".mcp.json", ".claude-plugin/plugin.json"])
def test_no_variable_in_braces_is_left_for_a_client_that_does_not_know_it(name: str) -> None:
    assert "${" not in (ROOT / name).read_text(encoding="utf-8")
