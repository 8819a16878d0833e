"""Tells on which events a workflow of GitHub Actions runs by itself, and whether surely."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refute.repository.ci_steps import Answer

Events = Mapping[str, Answer]  # an event on which something runs by itself -> whether it surely does

_BY_ITSELF = frozenset({"push", "pull_request", "pull_request_target", "schedule", "merge_group"})
_OF_A_CHANGE = frozenset({"opened", "synchronize", "reopened", "ready_for_review"})


def events_of(
    document: Mapping[str, Any], named: Mapping[str, str], read: Mapping[str, Any], depth: int = 0
) -> dict[str, Answer]:
    """The events of a workflow; `workflow_run` is followed by the names and paths of others."""
    on = document.get("on")
    if not isinstance(on, dict):
        names = {str(name) for name in on} if isinstance(on, list) else {str(on)}
        return dict.fromkeys(sorted(names & _BY_ITSELF), "yes")
    found = {name: _started(name, about) for name, about in on.items() if name in _BY_ITSELF}
    after = on.get("workflow_run")
    first = after.get("workflows") if isinstance(after, dict) else None
    for name in first if isinstance(first, list) and depth < 4 else ():
        other = read.get(named.get(str(name), ""))
        if isinstance(other, dict):
            begun = surest(events_of(other, named, read, depth + 1))
            found["workflow_run"] = surest({"": begun, "before": found.get("workflow_run", "no")})
    return {name: answer for name, answer in found.items() if answer != "no"}


def surest(events: Events) -> Answer:
    """Whether it runs by itself on any of the events."""
    answers = set(events.values())
    return "yes" if "yes" in answers else "unknown" if "unknown" in answers else "no"


def _started(event: str, about: Any) -> Answer:
    """Whether the filters of the event let it start: those by path may leave out the change of a test."""
    if not isinstance(about, dict):
        return "yes"
    if event == "push" and "tags" in about and not {"branches", "branches-ignore"} & {*about}:
        return "no"
    left_out = about.get("branches-ignore")
    if "**" in (left_out if isinstance(left_out, list) else [left_out]):
        return "no"
    types = about.get("types", sorted(_OF_A_CHANGE))
    asked = {str(one) for one in (types if isinstance(types, list) else [types])}
    if event.startswith("pull_request") and not asked & _OF_A_CHANGE:
        return "no" if asked == {"closed"} else "unknown"
    return "unknown" if "paths" in about else "yes"
