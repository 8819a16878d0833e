"""What the Agent Skills specification asks of a skill's folder, as a list of faults."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_KNOWN = {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}


def tokens(text: str) -> int:
    """An estimate that errs upwards: English prose and Markdown take more than 3.5 characters a token."""
    return round(len(text) / 3.5)


def front_matter(text: str) -> dict[str, object]:
    """The YAML head of a SKILL.md; empty where there is none."""
    found = re.match(r"\A---\n(.*?)\n---\n", text, re.S)
    data = yaml.safe_load(found[1]) if found else {}
    return data if isinstance(data, dict) else {}


def skill_faults(folder: Path) -> list[str]:
    """Everything in which a folder is not a valid skill (agentskills.io/specification)."""
    path = folder / "SKILL.md"
    if not path.is_file():
        return ["no SKILL.md"]
    text = path.read_text(encoding="utf-8")
    head = front_matter(text)
    name, description = str(head.get("name", "")), str(head.get("description", ""))
    body = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.S)
    faults = [f"unknown key {key}" for key in head if key not in _KNOWN]
    if name != folder.name:
        faults.append(f"name {name!r} is not the folder's")
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) or len(name) > 64:
        faults.append(f"name {name!r} is not lower-case words and hyphens of at most 64 characters")
    if not 1 <= len(description) <= 1024:
        faults.append(f"description of {len(description)} characters")
    if len(body.splitlines()) >= 500 or tokens(body) >= 5000:
        faults.append(f"body of {len(body.splitlines())} lines, about {tokens(body)} tokens")
    for target in _links(body):
        if not (folder / target).is_file():
            faults.append(f"SKILL.md links to {target}, which is not there")
        if len(Path(target).parts) > 2 or ".." in target:
            faults.append(f"{target} is more than one level deep")
    for reference in sorted((folder / "references").glob("*")):
        if f"references/{reference.name}" not in body:
            faults.append(f"SKILL.md does not say when to open {reference.name}")
        onward = _links(reference.read_text(encoding="utf-8"))
        faults += [f"{reference.name} leads on to {target}" for target in onward]
    return faults


def _links(text: str) -> list[str]:
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    return [link for link in _LINK.findall(text) if not link.startswith(("http", "#", "mailto:"))]
