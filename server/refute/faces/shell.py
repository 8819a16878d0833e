"""What all commands share: showing an answer, and reading NAME=VALUE."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from refute.tools.problems import ToolError


def show(given: argparse.Namespace, answer: Any) -> None:
    """Prints an answer as text, or with `--json` as the one document on stdout."""
    print(answer.model_dump_json(indent=2) if given.json else answer.text())


def exit_code(verdicts: Sequence[str]) -> int:
    """Of a run: 0 where every verdict is a PASS, 1 where something failed, 2 otherwise, also for none."""
    if any(verdict.startswith("FAIL") for verdict in verdicts):
        return 1
    return 0 if verdicts and all(verdict.startswith("PASS") for verdict in verdicts) else 2


def pairs(written: Sequence[str]) -> list[tuple[str, str]]:
    """Each NAME=VALUE as a pair. Raises ToolError for anything else."""
    found = []
    for text in written:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ToolError(f"{text!r} is not NAME=VALUE")
        found.append((name, value))
    return found


def value(text: str) -> Any:
    """A value as a person writes it in a shell: JSON where it is JSON, else the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
