"""Reads the workflows of GitHub Actions: the steps of their jobs, and whether these run by themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from refute.repository.ci_steps import UNKNOWN_FOLDER, CiStep
from refute.repository.ci_yaml import Text, UnreadableYamlError, read_yaml
from refute.repository.github_conditions import holds
from refute.repository.github_triggers import Events, events_of, surest
from refute.repository.github_values import combinations, put, texts_of, with_variables


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
            events = events_of(document, named, read)
            yield from _workflow(path, document, read, files, events, {}, 0)


def _workflow(
    path: str, document: dict[str, Any], read: Mapping[str, Any], files: Mapping[str, str], events: Events,
    inputs: dict[str, str], depth: int,
) -> Iterator[CiStep]:  # fmt: skip
    jobs = document.get("jobs")
    shared = texts_of(document.get("env"))
    rows = jobs.items() if isinstance(jobs, dict) else ()
    held = {name: job for name, job in rows if isinstance(job, dict)}
    for name, job in held.items():
        known = {f"env.{key}": value for key, value in (shared | texts_of(job.get("env"))).items()} | inputs
        runs = _after_needed(name, held, _on(job, events, known), events, known, 0)
        called = job.get("uses")
        if isinstance(called, str):
            yield from _called(path, called, job, read, files, runs, known, depth)
            continue
        folder = _default_folder(job) or _default_folder(document)
        steps = job.get("steps")
        for values in combinations(job, known):
            given = known | values
            forgiven = _is_true(job.get("continue-on-error"), given)
            elsewhere = False
            for step in steps if isinstance(steps, list) else ():
                elsewhere = elsewhere or _takes_another_repository(step)
                for found in _step(path, step, runs, folder, given, files, 0):
                    where = UNKNOWN_FOLDER if elsewhere else found.folder
                    yield replace(found, folder=where, forgiven=forgiven or found.forgiven)


def _after_needed(
    name: str, jobs: Mapping[str, Any], runs: Events, events: Events, known: Mapping[str, str], depth: int
) -> Events:
    """The events of a job without those on which a job that it needs is skipped."""
    condition = str(jobs[name].get("if", ""))
    needed = jobs[name].get("needs", [])
    for other in needed if isinstance(needed, list) else [needed]:
        if other not in jobs or depth > 8 or re.search(r"always\(|cancelled\(|failure\(", condition):
            continue
        before = _after_needed(other, jobs, _on(jobs[other], events, known), events, known, depth + 1)
        runs = {
            event: "yes" if answer == before[event] == "yes" else "unknown"
            for event, answer in runs.items()
            if event in before
        }
    return runs


def _on(holder: Mapping[str, Any], events: Events, known: Mapping[str, str]) -> Events:
    """The events on which the condition of a job or a step may hold, and whether it surely does."""
    condition = put(str(holder.get("if") or ""), known)
    answers = {event: holds(condition, event, known) for event in events}
    return {
        event: "yes" if surely == answers[event] == "yes" else "unknown"
        for event, surely in events.items()
        if answers[event] != "no"
    }


def _is_true(value: Any, known: Mapping[str, str]) -> bool:
    return bool(value) and holds(str(value), "", known) == "yes"


def _takes_another_repository(step: Any) -> bool:
    """Whether a checkout puts another repository in the place of this one."""
    if not isinstance(step, dict) or not str(step.get("uses", "")).startswith("actions/checkout"):
        return False
    asked = texts_of(step.get("with"))
    return "path" not in asked and not re.search(r"github\.|^$", asked.get("repository", ""))


def _called(
    path: str,
    called: str,
    job: dict[str, Any],
    read: Mapping[str, Any],
    files: Mapping[str, str],
    runs: Events,
    known: dict[str, str],
    depth: int,
) -> Iterator[CiStep]:
    where = called.removeprefix("./").partition("@")[0]
    line = called.line if isinstance(called, Text) else 1
    if not called.startswith("./") or where not in read or depth > 3:
        if re.search(r"lint|label|stale|release|codeql|scorecard|publish|doc|dependabot", called) is None:
            yield CiStep(path, line, automatic=surest(runs), why=f"{called} is not in this repository")
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


def _step(
    path: str,
    step: Any,
    runs: Events,
    folder: str,
    known: dict[str, str],
    files: Mapping[str, str],
    depth: int,
) -> Iterator[CiStep]:
    if not isinstance(step, dict):
        return
    runs = _on(step, runs, known)
    forgiven = _is_true(step.get("continue-on-error"), known)
    known = known | {f"env.{name}": value for name, value in texts_of(step.get("env")).items()}
    asked = texts_of(step.get("with"))
    script = step.get("run")
    uses = str(step.get("uses", ""))
    place = put(str(step.get("working-directory", folder)), known)
    if isinstance(script, Text):
        yield CiStep(path, script.line, with_variables(script, known), place, surest(runs), forgiven=forgiven)
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
            for found in _step(path, row, runs, "", known | given, files, depth + 1):
                yield replace(found, forgiven=forgiven or found.forgiven)
    elif uses:
        for command in _of_action(uses, {name: put(value, known) for name, value in asked.items()}):
            line = next((value.line for value in step.values() if isinstance(value, Text)), 1)
            yield CiStep(path, line, command, place, surest(runs), forgiven=forgiven)


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
