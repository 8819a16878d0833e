"""The commands that read repositories and plans."""

from __future__ import annotations

import argparse
import json

from refute.faces.shell import show


def repository(given: argparse.Namespace) -> int:
    """Facts about a repository, by the tool that the command stands for."""
    from refute.tools.registry import tool

    chosen = tool(given.tool)
    fields = ("repository", "revision", "change", "top", "start")
    request = {name: getattr(given, name) for name in fields if hasattr(given, name)}
    answer = chosen.load()(chosen.request_type().model_validate(request))
    if given.jsonl:
        for row in answer.rows:
            print(json.dumps(row, ensure_ascii=False, default=str))
    elif given.json:
        print(json.dumps(answer.found, indent=2, ensure_ascii=False, default=str))
    else:
        print(answer.text())
    return 0


def check(given: argparse.Namespace) -> int:
    """What is wrong with a plan: 0 no error, 1 errors, 64 where a block of it cannot be read."""
    from refute.tools.plans import CheckPlanRequest, check_plan

    request = CheckPlanRequest(
        plan=given.plan, repository=given.repository, limit=given.limit, matrices=given.matrices
    )
    answer = check_plan(request)
    show(given, answer)
    return 64 if answer.unreadable else 0 if answer.ok else 1


def scaffold(given: argparse.Namespace) -> int:
    """A first plan, on stdout or in a file."""
    from refute.tools.plans import ScaffoldPlanRequest, scaffold_plan

    request = ScaffoldPlanRequest(
        repository=given.repository, slug=given.slug, change=given.change, output=given.output
    )
    answer = scaffold_plan(request)
    if given.json or given.output:
        show(given, answer)
    else:
        print(answer.plan)
    return 0


def author(given: argparse.Namespace) -> int:
    """A plan's scenarios as tests, where the plan says."""
    from refute.tools.authoring import AuthorPlanRequest, author_plan

    request = AuthorPlanRequest(
        plan=given.plan,
        repository=given.repository,
        scenarios=tuple(given.scenario),
        target=given.target,
        language=given.language,
        dry_run=given.dry_run,
        allow_format=given.allow_format,
    )
    show(given, author_plan(request))
    return 0
