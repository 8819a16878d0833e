"""The chat prompts: one for each request that people make, read from `prompts/chat/`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from refute.errors import InputError
from refute.plan.references import near
from refute.plan.templates import environment
from refute.plan.yaml_source import read_yaml
from refute.resources import folder

Completion = Literal["plan-slug", "revision", "scenario-id"]


class PromptError(InputError):
    """A prompt that does not exist, or an argument that is missing or unknown."""


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """One argument; `completes` says with what a client may complete it."""

    name: str
    description: str
    required: bool = False
    completes: Completion | None = None


@dataclass(frozen=True, slots=True)
class ChatPrompt:
    """One prompt as a client lists it."""

    name: str
    title: str
    description: str
    arguments: tuple[PromptArgument, ...]
    body: str


@cache
def chat_prompts() -> Mapping[str, ChatPrompt]:
    """Every chat prompt by name. Raises PromptError where a file is damaged."""
    return {path.name.removesuffix(".md.j2"): _read(path.name) for path in sorted(_files())}


def render_prompt(name: str, arguments: Mapping[str, str]) -> str:
    """The text of a prompt. Raises PromptError for an unknown prompt and for wrong arguments."""
    prompts = chat_prompts()
    if name not in prompts:
        raise PromptError(f"there is no prompt {name!r}", hint=near(name, prompts))
    prompt = prompts[name]
    known = {argument.name for argument in prompt.arguments}
    for given in arguments:
        if given not in known:
            raise PromptError(f"{name} takes no argument {given!r}", hint=near(given, known))
    for argument in prompt.arguments:
        if argument.required and not arguments.get(argument.name):
            raise PromptError(f"{name} needs {argument.name}", hint=argument.description)
    values = dict.fromkeys(known, "") | dict(arguments)
    return environment().from_string(prompt.body).render(title=prompt.title, **values).strip() + "\n"


def _files() -> list[Path]:
    return list((folder("prompts") / "chat").glob("*.md.j2"))


def _read(file_name: str) -> ChatPrompt:
    path = folder("prompts") / "chat" / file_name
    _, head, body = path.read_text(encoding="utf-8").split("---\n", 2)
    source = read_yaml(head, line=2, section="")
    if source.defects or not isinstance(source.data, dict):
        raise PromptError("the head of the prompt cannot be read", where=path)
    arguments = tuple(
        PromptArgument(name, data["description"], data.get("required", False), data.get("completes"))
        for name, data in source.data["arguments"].items()
    )
    name = file_name.removesuffix(".md.j2")
    return ChatPrompt(name, source.data["title"], source.data["description"], arguments, body)
