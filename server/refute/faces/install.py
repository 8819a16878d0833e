"""Makes refute known to a coding agent in a project: the two skills, and the tool server in its settings."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from filecmp import cmp
from pathlib import Path
from typing import Any, Literal

from refute.errors import InputError
from refute.interpreter import python
from refute.resources import folder


@dataclass(frozen=True, slots=True)
class Agent:
    """Where an agent looks in a project: its skills, its settings, and the table of tool servers in them."""

    name: str
    title: str
    skills: str
    settings: str
    table: tuple[str, ...]
    shape: Literal["command", "stdio", "local", "toml"] = "command"


AGENTS = {
    agent.name: agent
    for agent in (
        Agent("claude", "Claude Code", ".claude/skills", ".mcp.json", ("mcpServers",)),
        Agent("cursor", "Cursor", ".cursor/skills", ".cursor/mcp.json", ("mcpServers",)),
        Agent("vscode", "VS Code", ".github/skills", ".vscode/mcp.json", ("servers",), "stdio"),
        Agent("gemini", "Gemini CLI", ".gemini/skills", ".gemini/settings.json", ("mcpServers",)),
        Agent("opencode", "OpenCode", ".agents/skills", "opencode.json", ("mcp",), "local"),
        Agent("codex", "Codex", ".agents/skills", ".codex/config.toml", ("mcp_servers",), "toml"),
    )
}
_ENTRY = "refute"


class InstallError(InputError):
    """Something of the project stands where refute would write, or its settings cannot be read."""


@dataclass(frozen=True, slots=True)
class Change:
    """One file: `what` is `new`, `kept` (it is so already), `replaced` or `extended`."""

    path: Path
    what: Literal["new", "kept", "replaced", "extended"]


def install(name: str, project: Path, *, force: bool = False, dry_run: bool = False) -> tuple[Change, ...]:
    """Copies the skills and enters the tool server; every file with what was, or would be, done to it.

    Nothing is written before all of it is known to be possible. Raises InstallError for an unknown agent, a
    file that differs from ours (`force` replaces it), and settings that are no JSON or TOML.
    """
    agent = AGENTS.get(name)
    if agent is None:
        raise InstallError(f"there is no agent {name!r}", hint=f"there are: {', '.join(AGENTS)}")
    if not project.is_dir():
        raise InstallError("is not a directory", where=project)
    files = {
        project / agent.skills / source.relative_to(folder("skills")): source
        for source in sorted(folder("skills").rglob("*"))
        if source.is_file()
    }
    for place in (*files, project / agent.settings):
        if not place.resolve().is_relative_to(project.resolve()):
            raise InstallError("leads out of the project through a link", where=place)
    changes = [_copied(place, source, force) for place, source in files.items()]
    settings = project / agent.settings
    text, change = _entered(agent, settings, force)
    if not dry_run:
        for place, source in files.items():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, place)
        if change.what != "kept":
            settings.parent.mkdir(parents=True, exist_ok=True)
            settings.write_text(text, encoding="utf-8")
    return (*changes, change)


def server_command() -> list[str]:
    """How this very installation serves its tools: by its interpreter, so that no PATH matters."""
    return python("-m", "refute.faces.cli", "mcp")


def _copied(place: Path, source: Path, force: bool) -> Change:
    if not place.exists():
        return Change(place, "new")
    if place.is_file() and cmp(source, place, shallow=False):
        return Change(place, "kept")
    if not force or not place.is_file():
        raise InstallError(
            "differs from the skill that is to be installed", where=place, hint="--force replaces it"
        )
    return Change(place, "replaced")


def _entered(agent: Agent, settings: Path, force: bool) -> tuple[str, Change]:
    before = settings.read_text(encoding="utf-8") if settings.exists() else ""
    entry = _entry(agent)
    known = _parsed(agent, settings, before)
    table: Any = known
    for key in agent.table:
        table = table.get(key, {}) if isinstance(table, dict) else None
    if not isinstance(table, dict):
        raise InstallError(
            f"{'.'.join(agent.table)} is no table", where=settings, hint=_by_hand(agent, entry)
        )
    there = table.get(_ENTRY)
    if there == entry:
        return before, Change(settings, "kept")
    if there is not None and (not force or agent.shape == "toml"):
        hint = f"take it out and call again, or by hand: {_by_hand(agent, entry)}"
        raise InstallError("has another entry for refute", where=settings, hint=hint)
    what: Literal["new", "extended"] = "extended" if before.strip() else "new"
    if agent.shape == "toml":
        gap = "\n" if before.strip() else ""
        return f"{before.rstrip()}\n{gap}{_by_hand(agent, entry)}\n".lstrip("\n"), Change(settings, what)
    inner = known
    for key in agent.table:
        inner = inner.setdefault(key, {})
    inner[_ENTRY] = entry
    return json.dumps(known, indent=2, ensure_ascii=False) + "\n", Change(settings, what)


def _entry(agent: Agent) -> dict[str, Any]:
    command, *arguments = server_command()
    match agent.shape:
        case "stdio":
            return {"type": "stdio", "command": command, "args": arguments}
        case "local":
            return {"type": "local", "command": [command, *arguments], "enabled": True}
        case _:
            return {"command": command, "args": arguments}


def _parsed(agent: Agent, settings: Path, text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    try:
        found = tomllib.loads(text) if agent.shape == "toml" else json.loads(text)
    except ValueError as error:
        hint = f"enter it by hand: {_by_hand(agent, _entry(agent))}"
        raise InstallError(f"cannot be read: {error}", where=settings, hint=hint) from None
    if not isinstance(found, dict):
        raise InstallError("is no table", where=settings)
    return found


def _by_hand(agent: Agent, entry: Mapping[str, Any]) -> str:
    if agent.shape == "toml":  # a JSON string is a TOML string too, and so is a list of them
        lines = [f"{key} = {json.dumps(value)}" for key, value in entry.items()]
        return "\n".join([f"[{'.'.join(agent.table)}.{_ENTRY}]", *lines])
    return json.dumps({agent.table[0]: {_ENTRY: entry}})
