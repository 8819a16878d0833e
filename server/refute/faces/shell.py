"""What all commands share: showing an answer, and reading NAME=VALUE."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from refute.tools.problems import ToolError


def show(given: argparse.Namespace, answer: Any) -> None:
    """Prints an answer as text, or with `--json` as the one document on stdout."""
    print(answer.model_dump_json(indent=2) if given.json else answer.text())


def pairs(written: Sequence[str]) -> list[tuple[str, str]]:
    """Each NAME=VALUE as a pair. Raises ToolError for anything else."""
    found = []
    for text in written:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ToolError(f"{text!r} is not NAME=VALUE")
        found.append((name, value))
    return found
