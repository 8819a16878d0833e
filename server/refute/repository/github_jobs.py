"""Reads the workflows of GitHub Actions: the steps of their jobs, and whether these run by themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from refute.repository.ci_steps import Answer, CiStep
from refute.repository.ci_yaml import Text, UnreadableYamlError, read_yaml
from refute.repository.github_values import combinations, put, texts_of, with_variables

_BY_ITSELF = frozenset({"push", "pull_request", "pull_request_target", "schedule", "merge_group"})


def github_steps(workflows: Mapping[str, str], files: Mapping[str, str]) -> Iterator[CiStep]:
    """The steps of all workflows; called workflows and actions among `files` are followed."""
    read: dict[str, Any] = {}
    for path, text in workflows.items():
        try:
            read[path] = read_yaml(text)
        except UnreadableYamlError:
            yield CiStep(path, 1, automatic="unknown", why=f"{path} cannot be read")
    named = {
        str(document.get("name", path)): path for path, document in read.items() if isinstance(document, dict)
    }
    for path, document in read.items():
        if isinstance(document, dict):
            automatic = _triggered(document, named, read, 0)
            yield from _workflow(path, document, read, files, automatic, {}, 0)


def _triggered(
    document: dict[str, Any], named: Mapping[str, str], read: Mapping[str, Any], depth: int
) -> Answer:
    on = document.get("on")
    if isinstance(on, dict):
        push = on.get("push")
        if _BY_ITSELF & {*on} - {"push"}:
            return "yes"
        if "push" in on and not (isinstance(push, dict) and "tags" in push and "branches" not in push):
            return "yes"
        after = on.get("workflow_run")
        first = after.get("workflows") if isinstance(after, dict) else None
        for name in first if isinstance(first, list) and depth < 4 else ():
            path = named.get(str(name))
            if path is not None and _triggered(read[path], named, read, depth + 1) == "yes":
                return "yes"
        return "no"
    names = {str(name) for name in on} if isinstance(on, list) else {str(on)}
    return "yes" if names & _BY_ITSELF else "no"


def _workflow(
    path: str, document: dict[str, Any], read: Mapping[str, Any], files: Mapping[str, str], automatic: Answer,
    inputs: dict[str, str], depth: int,
) -> Iterator[CiStep]:  # fmt: skip
    jobs = document.get("jobs")
    shared = texts_of(document.get("env"))
    for job in [*jobs.values()] if isinstance(jobs, dict) else []:
        if not isinstance(job, dict):
            continue
        runs = _conditional(job.get("if"), automatic)
        known = {f"env.{name}": value for name, value in (shared | texts_of(job.get("env"))).items()} | inputs
        called = job.get("uses")
        if isinstance(called, str):
            yield from _called(path, called, job, read, files, runs, known, depth)
            continue
        folder = _default_folder(job) or _default_folder(document)
        steps = job.get("steps")
        for values in combinations(job, known):
            for step in steps if isinstance(steps, list) else ():
                yield from _step(path, step, runs, folder, known | values, files, 0)


def _called(
    path: str,
    called: str,
    job: dict[str, Any],
    read: Mapping[str, Any],
    files: Mapping[str, str],
    runs: Answer,
    known: dict[str, str],
    depth: int,
) -> Iterator[CiStep]:
    where = called.removeprefix("./").partition("@")[0]
    line = called.line if isinstance(called, Text) else 1
    if not called.startswith("./") or where not in read or depth > 3:
        if re.search(r"lint|label|stale|release|codeql|scorecard|publish|doc|dependabot", called) is None:
            yield CiStep(path, line, automatic=runs, why=f"{called} is not in this repository")
        return
    yield CiStep(path, line, automatic="no")  # a call counts as a step, so that calls of calls have an end
    given = {f"inputs.{name}": put(value, known) for name, value in texts_of(job.get("with")).items()}
    on = read[where].get("on")
    declared = on.get("workflow_call") if isinstance(on, dict) else None
    defaults = declared.get("inputs") if isinstance(declared, dict) else None
    for name, about in defaults.items() if isinstance(defaults, dict) else ():
        if isinstance(about, dict) and isinstance(about.get("default"), str):
            given.setdefault(f"inputs.{name}", str(about["default"]))
    yield from _workflow(where, read[where], read, files, runs, given, depth + 1)


def _conditional(condition: Any, automatic: Answer) -> Answer:
    """Whether what runs by itself still does under an `if:` of a job or a step."""
    said = str(condition or "")
    if automatic == "no" or re.fullmatch(r"(?:\$\{\{)?\s*false\s*(?:\}\})?", said):
        return "no"
    if (
        re.search(
            r"event_name\s*==\s*'(?:workflow_dispatch|release|repository_dispatch|issue_comment)'", said
        )
        and "||" not in said
    ):
        return "no"
    return "unknown" if re.search(r"\blabels?\b|comment\.body|inputs\.", said) else automatic


def _step(
    path: str,
    step: Any,
    runs: Answer,
    folder: str,
    known: dict[str, str],
    files: Mapping[str, str],
    depth: int,
) -> Iterator[CiStep]:
    if not isinstance(step, dict):
        return
    automatic = _conditional(step.get("if"), runs)
    known = known | {f"env.{name}": value for name, value in texts_of(step.get("env")).items()}
    asked = texts_of(step.get("with"))
    script = step.get("run")
    uses = str(step.get("uses", ""))
    place = put(str(step.get("working-directory", folder)), known)
    if isinstance(script, Text):
        yield CiStep(path, script.line, with_variables(script, known), place, automatic)
    elif uses.startswith("./") and depth < 3:
        yield CiStep(path, 1, automatic="no")
        where = uses.removeprefix("./").rstrip("/")
        text = next(
            (files[name] for name in (f"{where}/action.yml", f"{where}/action.yaml") if name in files), None
        )
        try:
            action = read_yaml(text) if text is not None else None
        except UnreadableYamlError:
            action = None
        steps = (
            action.get("runs", {}).get("steps")
            if isinstance(action, dict) and isinstance(action.get("runs"), dict)
            else None
        )
        given = {f"inputs.{name}": put(value, known) for name, value in asked.items()}
        for row in steps if isinstance(steps, list) else ():
            yield from _step(path, row, automatic, "", known | given, files, depth + 1)
    elif uses:
        for command in _of_action(uses, {name: put(value, known) for name, value in asked.items()}):
            line = next((value.line for value in step.values() if isinstance(value, Text)), 1)
            yield CiStep(path, line, command, place, automatic)


def _of_action(uses: str, asked: Mapping[str, str]) -> Iterator[str]:
    """The commands that well-known actions are given."""
    if uses.startswith("actions-rs/cargo"):
        yield f"cargo {asked.get('command', '')} {asked.get('args', '')}"
    elif uses.startswith(("gradle/", "burrunan/gradle")) and "arguments" in asked:
        yield f"./gradlew {asked['arguments']}"
    else:
        yield from (asked[name] for name in ("run", "command", "script") if name in asked)


def _default_folder(holder: dict[str, Any]) -> str:
    for name in ("defaults", "run"):
        holder = holder.get(name, {}) if isinstance(holder, dict) else {}
    return str(holder.get("working-directory", "")) if isinstance(holder, dict) else ""
