"""Reads the jobs of CI servers other than GitHub and Jenkins, whose files are YAML."""

# ruff: noqa: E501

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from refute.repository.ci_steps import Answer, CiStep
from refute.repository.ci_yaml import Text, UnreadableYamlError, read_yaml
from refute.repository.github_triggers import surest
from refute.repository.github_values import texts_of

_SCRIPT_KEYS = frozenset({
    "script", "before_script", "run", "command", "commands", "bash", "pwsh", "powershell", "test_script", "build_script",
})  # fmt: skip


def other_steps(path: str, text: str) -> Iterator[CiStep]:
    """The steps of a file of GitLab, CircleCI, Azure, Travis or a server whose file names its scripts alike."""
    try:
        document = read_yaml(text)
    except UnreadableYamlError:
        yield CiStep(path, 1, automatic="unknown", why=f"{path} cannot be read")
        return
    if not isinstance(document, dict):
        return
    name = path.rsplit("/", 1)[-1]
    if name == ".gitlab-ci.yml":
        yield from _of_gitlab(path, document)
    elif path.startswith(".circleci/"):
        yield from _of_circle(path, document)
    else:
        runs: Answer = "yes"
        if "azure" in path:
            never = all(str(document.get(key, "")) == "none" for key in ("trigger", "pr"))
            runs = "no" if never and "schedules" not in document else "yes"
        yield from _scripts(path, document, runs)
        if name == ".travis.yml" and not any(
            "script" in holder for holder in (document, *_travis_jobs(document))
        ):
            yield from _travis_default(path, document)
        if "template" in text and "azure" in path:
            yield CiStep(path, 1, automatic="unknown", why=f"templates of {path} are not followed")


def _travis_jobs(document: dict[str, Any]) -> list[dict[str, Any]]:
    held = document.get("jobs", document.get("matrix"))
    rows = held.get("include") if isinstance(held, dict) else held
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _travis_default(path: str, document: dict[str, Any]) -> Iterator[CiStep]:
    """What Travis runs for a language where the file gives no script."""
    language = document.get("language", "")
    command = {"go": "go test ./...", "rust": "cargo test", "node_js": "npm test", "ruby": "bundle exec rake", "java": "mvn test",
               "scala": "sbt test", "elixir": "mix test", "php": "phpunit", "clojure": "lein test"}.get(str(language), "")  # fmt: skip
    if command:
        yield CiStep(path, language.line if isinstance(language, Text) else 1, command)


def _scripts(path: str, holder: Any, runs: Answer, folder: str = "") -> Iterator[CiStep]:
    """Every text below a key that means a script; a block that a person starts is no automatic one."""
    if isinstance(holder, list):
        for row in holder:
            yield from _scripts(path, row, runs, folder)
    if not isinstance(holder, dict):
        return
    runs = _still(holder, runs)
    folder = (
        str(holder.get("workingDirectory", holder.get("working_directory", folder)))
        .removeprefix("$(Build.SourcesDirectory)")
        .strip("/")
    )
    inputs = holder.get("inputs")
    task = str(holder.get("task", ""))
    if isinstance(inputs, dict) and task:
        line = holder["task"].line if isinstance(holder["task"], Text) else 1
        command = _of_azure_task(task, texts_of(inputs))
        if command:
            yield CiStep(path, line, command, folder, runs)
    for key, value in holder.items():
        if key in _SCRIPT_KEYS or key.endswith("_script"):
            for step in _lines(path, value, runs, folder):
                forgiven = any(str(holder.get(name, "")) == "true" for name in _FORGIVES)
                yield replace(step, forgiven=forgiven)
            if isinstance(value, dict):
                yield from _scripts(path, value, runs, folder)
        else:
            yield from _scripts(path, value, runs, folder)


# keys that make a block depend on what its file does not tell, and those that let its failure pass
_CONDITIONS = frozenset({
    "when", "unless", "if", "only_if", "skip", "skip_if", "condition", "trigger_type", "only", "except", "rules",
})  # fmt: skip
_FORGIVES = frozenset({"allow_failure", "allow_failures", "soft_fail", "continueOnError"})


def _still(holder: Mapping[str, Any], runs: Answer) -> Answer:
    """Whether what runs by itself still does under the conditions of a block."""
    said = {name: str(holder[name]).strip() for name in _CONDITIONS & {*holder}}
    if runs == "no" or {"manual", "never", "on_fail", "on_failure", "false"} & {
        said.get(name) for name in ("when", "trigger_type", "condition", "if", "only_if")
    }:
        return "no"
    if said.get("skip") == "true":
        return "no"
    sure = {
        "when": ("always", "on_success"),
        "condition": ("true", "always()", "succeeded()"),
        "skip": ("false",),
    }
    return runs if all(said[name] in sure.get(name, ()) for name in said) else "unknown"


def _of_azure_task(task: str, inputs: Mapping[str, str]) -> str:
    if task.startswith("DotNetCoreCLI"):
        return (
            f"dotnet {inputs.get('command', '')} {inputs.get('projects', '')} {inputs.get('arguments', '')}"
        )
    if task.startswith("Maven"):
        return f"mvn {inputs.get('goals', 'package')} {inputs.get('options', '')}"
    if task.startswith("Gradle"):
        return f"./gradlew {inputs.get('tasks', 'build')}"
    return inputs.get("script", "")


def _lines(path: str, value: Any, runs: Answer, folder: str) -> Iterator[CiStep]:
    """A script, or a list of commands that share a shell."""
    rows = [row for row in (value if isinstance(value, list) else [value]) if isinstance(row, Text)]
    if rows:
        yield CiStep(path, rows[0].line, "\n".join(rows), folder, runs)


def _of_gitlab(path: str, document: dict[str, Any]) -> Iterator[CiStep]:
    if "include" in document:
        yield CiStep(path, 1, automatic="unknown", why=f"what {path} includes is not followed")
    for name, job in document.items():
        if (
            name.startswith(".")
            or not isinstance(job, dict)
            or name in ("default", "variables", "workflow", "stages")
        ):
            continue
        known = _extended(job, document, 0)
        rules = known.get("rules")
        by_hand = str(known.get("when", "")) == "manual" or (
            isinstance(rules, list)
            and bool(rules)
            and all(
                isinstance(rule, dict) and str(rule.get("when", "")) in ("manual", "never") for rule in rules
            )
        )
        runs: Answer = "no" if by_hand else _of_rules(known)
        for step in _lines(path, known.get("script"), runs, ""):
            yield replace(step, forgiven=str(known.get("allow_failure", "")) == "true")


_COMMON_REFS = frozenset({"branches", "pushes", "merge_requests", "schedules", "main", "master"})
_RARE_REFS = frozenset({"tags", "web", "api", "triggers", "pipelines", "chat", "external"})


def _of_rules(job: Mapping[str, Any]) -> Answer:
    """Whether a job of GitLab runs by itself: by a rule without a condition, or by its kinds of references."""
    rules = job.get("rules")
    if isinstance(rules, list):
        plain = [
            rule for rule in rules if isinstance(rule, dict) and not {"if", "changes", "exists"} & {*rule}
        ]
        return (
            "yes"
            if any(str(rule.get("when", "")) in ("", "always", "on_success") for rule in plain)
            else "unknown"
        )
    only = job.get("only", "branches")
    names = {str(name) for name in only} if isinstance(only, list) else {str(only)}
    if names <= _RARE_REFS:
        return "no"
    left_out = job.get("except", [])
    excepted = {str(name) for name in (left_out if isinstance(left_out, list) else [left_out])}
    sure = bool(names & _COMMON_REFS) and not isinstance(only, dict) and excepted <= _RARE_REFS
    return "yes" if sure else "unknown"


def _extended(job: dict[str, Any], document: dict[str, Any], depth: int) -> dict[str, Any]:
    parents = job.get("extends", [])
    held: dict[str, Any] = {}
    for parent in parents if isinstance(parents, list) else [parents]:
        above = document.get(str(parent))
        if isinstance(above, dict) and depth < 6:
            held |= _extended(above, document, depth + 1)
    return held | job


def _of_circle(path: str, document: dict[str, Any]) -> Iterator[CiStep]:
    jobs, flows, commands = (document.get(name) for name in ("jobs", "workflows", "commands"))
    asked: dict[str, Answer] = {}
    for flow in flows.values() if isinstance(flows, dict) else ():
        rows = flow.get("jobs") if isinstance(flow, dict) else None
        rows = rows if isinstance(rows, list) else []
        approved = {
            next(iter(one))
            for one in rows
            if isinstance(one, dict) and one and "approval" in str(next(iter(one.values())))
        }
        for row in rows:
            name, about = next(iter(row.items())) if isinstance(row, dict) and row else (str(row), {})
            filters = about.get("filters") if isinstance(about, dict) else None
            only_tags = (
                isinstance(filters, dict) and "tags" in filters and "ignore" in str(filters.get("branches"))
            )
            conditional = isinstance(flow, dict) and {"when", "unless", "triggers"} & {*flow}
            needed = about.get("requires") if isinstance(about, dict) else None
            waits = isinstance(needed, list) and approved & {str(one) for one in needed}
            answer: Answer = "no" if only_tags or waits else "unknown" if conditional else "yes"
            asked[str(name)] = surest({"before": asked.get(str(name), "no"), "here": answer})
    for name, job in jobs.items() if isinstance(jobs, dict) else ():
        if not isinstance(job, dict):
            continue
        runs: Answer = asked.get(name, "no" if asked else "yes")
        known = commands if isinstance(commands, dict) else {}
        steps = job.get("steps")
        for step in steps if isinstance(steps, list) else ():
            own = known.get(str(step)) if isinstance(step, str) else None
            yield from _scripts(path, own if own is not None else step, runs)
