"""How a run tells what it is doing: one small event a line, for a terminal, a log or a waiting agent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProgressEvent:
    """What goes on now. `attempt` is empty for what concerns the scenario as a whole."""

    scenario: str
    attempt: str
    text: str


Progress = Callable[[ProgressEvent], None]


def silent(_event: ProgressEvent) -> None:
    """Tells nobody."""
