"""The commands for agents: `refute install` and `refute agent`, imported in full only when one is called."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from refute.faces.shell import exit_code
from refute.tools.problems import ToolError


def install(given: argparse.Namespace) -> int:
    """Copies the skills into a project and enters the tool server in its agent's settings."""
    from refute.faces.install import AGENTS
    from refute.faces.install import install as put

    changes = put(given.agent, given.project, force=given.force, dry_run=given.dry_run)
    if given.json:
        print(json.dumps([{"path": str(each.path), "what": each.what} for each in changes], indent=2))
        return 0
    counts = {
        what: sum(each.what == what for each in changes) for what in ("new", "extended", "replaced", "kept")
    }
    said = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    print(f"{'would be written' if given.dry_run else 'installed'} for {AGENTS[given.agent].title}: {said}")
    for each in changes:
        if each.what != "kept":
            print(f"  {each.what}: {each.path}")
    return 0


def design(given: argparse.Namespace) -> int:
    """A model writes a plan: 0 where `check_plan` finds no error in it, 1 where it does or there is no plan.

    2 where the model was cut short.
    """
    from refute.faces.agent import Assignment
    from refute.tools.plans import CheckPlanRequest, check_plan

    if not given.repository.is_dir():
        raise ToolError("is not a directory", where=given.repository)
    plans = given.repository.resolve() / "docs" / "testing-plans"
    plan = plans / f"{_slug(given.slug)}.md"
    assignment = Assignment("design", _design_task(given, plan), given.repository.resolve(), plans)
    outcome = _run(given, assignment)
    if not plan.is_file():
        _end(given, outcome, {"plan": None})
        print(f"refute: no plan was written to {plan}", file=sys.stderr)
        return 1
    checked = check_plan(CheckPlanRequest(plan=str(plan), repository=str(given.repository)))
    _end(given, outcome, {"plan": str(plan), "checked": checked.model_dump(mode="json")}, checked.text())
    return 2 if outcome.stopped else int(not checked.ok)


def execute(given: argparse.Namespace) -> int:
    """A model runs a plan; the exit code is that of `refute run` for the sessions it made, verified anew."""
    from refute.faces.agent import Assignment
    from refute.tools.runs import RunRequest, get_run, verify

    if not given.plan.is_file():
        raise ToolError("is not a file", where=given.plan)
    plan = given.plan.resolve()
    task = (
        f"Follow the skill executing-distributed-system-tests for the plan {plan} with the budget "
        f"{given.budget}. Start it with start_run, follow it with get_run until it has ended, look into what "
        f"failed or stayed undecided, and end with write_report. {given.request}"
    )
    outcome = _run(given, Assignment("execute", task.strip(), plan.parent, None))
    found: list[dict[str, Any]] = []
    verdicts: list[str] = []
    for session in outcome.sessions:
        state = get_run(RunRequest(session=session))
        over = state.state != "running"
        verified = over and verify(RunRequest(session=session)).verified
        found.append({"session": session, "state": state.state, "verified": verified})
        verdicts += [each.verdict if verified else "NOT-RUN" for each in state.scenarios]
    said = "\n".join(f"{each['session']}: {each['state']}, verified: {each['verified']}" for each in found)
    _end(given, outcome, {"sessions": found, "verdicts": verdicts}, said or "no run was started")
    return exit_code(verdicts)


def _design_task(given: argparse.Namespace, plan: Path) -> str:
    from refute.tools.prompts import listed, rendered

    known = {prompt.name for prompt in listed()}
    usual = "test-this-change" if given.change else "holistic-test-plan"
    name = given.request if given.request in known else usual
    words = "" if given.request in known else f"\n\n{given.request}"
    arguments = {"repository": str(given.repository.resolve()), "slug": given.slug, "change": given.change}
    text = rendered(name, {key: value for key, value in arguments.items() if value})
    where = f"Write the plan to {plan}: that folder is the only one you can write to."
    return f"{text.strip()}{words.rstrip()}\n\n{where}"


def _run(given: argparse.Namespace, assignment: Any) -> Any:
    from refute.faces.agent import MODEL, ask_at_the_terminal, run

    return run(
        assignment,
        model=given.model or os.environ.get("REFUTE_MODEL") or MODEL,
        most_replies=max(1, given.max_replies),
        ask=(lambda _: True) if given.yes else ask_at_the_terminal,
        transcript=given.transcript,
    )


def _end(given: argparse.Namespace, outcome: Any, found: dict[str, Any], computed: str = "") -> None:
    if given.json:
        said = {"words": outcome.words, "replies": outcome.replies, "stopped": outcome.stopped}
        print(json.dumps({**said, **found}, indent=2, default=str))
        return
    print(outcome.words)
    if outcome.stopped:
        print(f"\nrefute: the model was cut short: {outcome.stopped}", file=sys.stderr)
    if computed:
        print(f"\nComputed by refute, not said by the model:\n{computed}")


def _slug(text: str) -> str:
    if not text.replace("-", "").replace("_", "").isalnum():
        raise ToolError(f"{text!r} is no slug", hint="letters, digits, - and _")
    return text
