"""Reads the files of CI systems: which commands their jobs run, where, and whether by themselves."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from refute.repository.ci_yaml import Text, UnreadableYamlError, read_yaml

Answer = Literal["yes", "no", "unknown"]
UNKNOWN_FOLDER = "?"

_BY_ITSELF = frozenset({"push", "pull_request", "pull_request_target", "schedule", "merge_group"})
_MOST_COMBINATIONS, _LONGEST_PIPELINE, MOST_STEPS = 64, 100_000, 20_000


@dataclass(frozen=True, slots=True)
class CiStep:
    """A script that a job runs: `automatic` says whether on push, pull request or a schedule.

    `why` says instead of a script why it is not known what runs. `folder` is where it begins, "" at the root.
    """

    path: str
    line: int
    text: str = ""
    folder: str = ""
    automatic: Answer = "yes"
    why: str = ""


def steps_in(files: Mapping[str, str]) -> Iterator[CiStep]:
    """The steps of all CI files, of which `files` gives the texts; actions of the repository are followed.

    At most 20,000: files that call each other could make any number of a few lines.
    """
    yield from itertools.islice(_steps(files), MOST_STEPS)


def _steps(files: Mapping[str, str]) -> Iterator[CiStep]:
    workflows = {path: text for path, text in files.items() if path.startswith(".github/workflows/")}
    yield from _of_github(workflows, files)
    for path, text in files.items():
        name = path.rsplit("/", 1)[-1]
        if path.startswith(".github/"):
            continue
        if name.startswith("Jenkinsfile"):
            yield from _of_jenkins(path, text)
        elif name.endswith((".yml", ".yaml")) and _is_entry(path):
            left_over = (
                "unknown" if workflows and name in (".travis.yml", "appveyor.yml", ".appveyor.yml") else "yes"
            )
            for step in _of_another(path, text):
                yield (
                    replace(step, automatic="unknown")
                    if left_over == "unknown" and step.automatic == "yes"
                    else step
                )


def _is_entry(path: str) -> bool:
    """Files that a server begins with, not those that they include."""
    return re.fullmatch(
        r"\.travis\.yml|\.gitlab-ci\.ya?ml|\.circleci/config\.yml|\.?appveyor\.yml|\.cirrus\.yml|\.drone\.yml|\.woodpecker(/.+)?\.ya?ml|"
        r"\.woodpecker\.yml|\.semaphore/semaphore\.yml|\.buildkite/pipeline\.ya?ml|azure-pipelines[\w.-]*\.ya?ml|\.azure(-pipelines|/pipelines)?/[^/]+\.ya?ml", path) is not None  # fmt: skip


# GitHub Actions


def _of_github(workflows: Mapping[str, str], files: Mapping[str, str]) -> Iterator[CiStep]:
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
    shared = _texts(document.get("env"))
    for job in [*jobs.values()] if isinstance(jobs, dict) else []:
        if not isinstance(job, dict):
            continue
        runs = _conditional(job.get("if"), automatic)
        known = {f"env.{name}": value for name, value in (shared | _texts(job.get("env"))).items()} | inputs
        called = job.get("uses")
        if isinstance(called, str):
            yield from _called(path, called, job, read, files, runs, known, depth)
            continue
        folder = _default_folder(job) or _default_folder(document)
        steps = job.get("steps")
        for values in _combinations(job, known):
            for step in steps if isinstance(steps, list) else ():
                yield from _step(path, step, runs, folder, known | values, files, 0)


def _called(
    path: str, called: str, job: dict[str, Any], read: Mapping[str, Any], files: Mapping[str, str], runs: Answer,
    known: dict[str, str], depth: int,
) -> Iterator[CiStep]:  # fmt: skip
    where = called.removeprefix("./").partition("@")[0]
    line = called.line if isinstance(called, Text) else 1
    if not called.startswith("./") or where not in read or depth > 3:
        if re.search(r"lint|label|stale|release|codeql|scorecard|publish|doc|dependabot", called) is None:
            yield CiStep(path, line, automatic=runs, why=f"{called} is not in this repository")
        return
    yield CiStep(path, line, automatic="no")  # a call counts as a step, so that calls of calls have an end
    given = {f"inputs.{name}": _put(value, known) for name, value in _texts(job.get("with")).items()}
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
    known = known | {f"env.{name}": value for name, value in _texts(step.get("env")).items()}
    asked = _texts(step.get("with"))
    script = step.get("run")
    uses = str(step.get("uses", ""))
    place = _put(str(step.get("working-directory", folder)), known)
    if isinstance(script, Text):
        yield CiStep(path, script.line, _with_variables(script, known), place, automatic)
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
        given = {f"inputs.{name}": _put(value, known) for name, value in asked.items()}
        for row in steps if isinstance(steps, list) else ():
            yield from _step(path, row, automatic, "", known | given, files, depth + 1)
    elif uses:
        for command in _of_action(uses, {name: _put(value, known) for name, value in asked.items()}):
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


def _combinations(job: dict[str, Any], known: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The values of a matrix, one dictionary a combination of those that are used; at most 64."""
    strategy = job.get("strategy")
    matrix = strategy.get("matrix") if isinstance(strategy, dict) else None
    if not isinstance(matrix, dict):
        yield {}
        return
    used = set(
        re.findall(r"matrix\.([\w-]+)", json.dumps([job.get("steps"), job.get("env"), job.get("defaults")]))
    )
    axes = {
        name: _values(value, known)
        for name, value in matrix.items()
        if name in used and name not in ("include", "exclude")
    }
    included = matrix.get("include")
    extra = [_flat(row) for row in included if isinstance(row, dict)] if isinstance(included, list) else []
    products = itertools.islice(itertools.product(*axes.values()), _MOST_COMBINATIONS)
    rows = [{key: value for one in row for key, value in one.items()} for row in
            ([{f"matrix.{name}{rest}": text for rest, text in value.items()} for name, value in zip(axes, product, strict=True)] for product in products)]  # fmt: skip
    seen = set()
    for row in [
        *rows,
        *({f"matrix.{name}": value for name, value in one.items()} for one in extra[:_MOST_COMBINATIONS]),
    ]:
        kept = {name: value for name, value in row.items() if name.split(".")[1] in used}
        key = tuple(sorted(kept.items()))
        if key not in seen:
            seen.add(key)
            yield kept


def _values(value: Any, known: Mapping[str, str]) -> list[dict[str, str]]:
    if isinstance(value, str):
        found = re.fullmatch(r"\s*\$\{\{\s*fromJSON\((.*)\)\s*\}\}\s*", value, re.I)
        text = _put("${{" + found.group(1) + "}}", known).strip("'") if found else ""
        try:
            value = json.loads(text)
        except ValueError:
            return [{}]
    rows = value if isinstance(value, list) else []
    return [
        {f".{name}": text for name, text in _flat(row).items()} if isinstance(row, dict) else {"": str(row)}
        for row in rows
    ] or [{}]


def _flat(row: Mapping[str, Any], before: str = "") -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in row.items():
        if isinstance(value, str):
            found[f"{before}{name}"] = str(value)
        elif isinstance(value, dict):
            found |= _flat(value, f"{before}{name}.")
    return found


def _texts(holder: Any) -> dict[str, str]:
    return (
        {name: str(value) for name, value in holder.items() if isinstance(value, str)}
        if isinstance(holder, dict)
        else {}
    )


def _put(text: str, known: Mapping[str, str]) -> str:
    """The text with the expressions that are known in it; others stay."""
    for _ in range(3):
        text = re.sub(
            r"\$\{\{\s*([\w.-]+)\s*\}\}", lambda found: known.get(found.group(1), found.group(0)), text
        )
    return text


def _with_variables(script: str, known: Mapping[str, str]) -> str:
    """The script behind the variables that are set for it, so that a shell would know them."""
    text = _put(script, known)
    set_before = [f"{name.removeprefix('env.')}={_quoted(_put(value, known))}" for name, value in known.items()
                  if name.startswith("env.") and re.search(rf"\b{re.escape(name.removeprefix('env.'))}\b", text)]  # fmt: skip
    return "; ".join(set_before) + ("; " if set_before else "") + text


def _quoted(value: str) -> str:
    return "'" + value.replace("'", " ").replace("\n", " ") + "'"


# The others


_SCRIPT_KEYS = frozenset({
    "script", "before_script", "run", "command", "commands", "bash", "pwsh", "powershell", "test_script", "build_script",
})  # fmt: skip


def _of_another(path: str, text: str) -> Iterator[CiStep]:
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
    if str(holder.get("when", "")) == "manual" or str(holder.get("trigger_type", "")) == "manual":
        runs = "no"
    folder = (
        str(holder.get("workingDirectory", holder.get("working_directory", folder)))
        .removeprefix("$(Build.SourcesDirectory)")
        .strip("/")
    )
    inputs = holder.get("inputs")
    task = str(holder.get("task", ""))
    if isinstance(inputs, dict) and task:
        line = holder["task"].line if isinstance(holder["task"], Text) else 1
        command = _of_azure_task(task, _texts(inputs))
        if command:
            yield CiStep(path, line, command, folder, runs)
    for key, value in holder.items():
        if key in _SCRIPT_KEYS or key.endswith("_script"):
            yield from _lines(path, value, runs, folder)
            if isinstance(value, dict):
                yield from _scripts(path, value, runs, folder)
        else:
            yield from _scripts(path, value, runs, folder)


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
        yield from _lines(path, known.get("script"), "no" if by_hand else "yes", "")


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
        for row in rows if isinstance(rows, list) else ():
            name, about = next(iter(row.items())) if isinstance(row, dict) and row else (str(row), {})
            filters = about.get("filters") if isinstance(about, dict) else None
            only_tags = (
                isinstance(filters, dict) and "tags" in filters and "ignore" in str(filters.get("branches"))
            )
            asked[str(name)] = "no" if only_tags else "yes"
    for name, job in jobs.items() if isinstance(jobs, dict) else ():
        if not isinstance(job, dict):
            continue
        runs: Answer = asked.get(name, "no" if asked else "yes")
        known = commands if isinstance(commands, dict) else {}
        steps = job.get("steps")
        for step in steps if isinstance(steps, list) else ():
            own = known.get(str(step)) if isinstance(step, str) else None
            yield from _scripts(path, own if own is not None else step, runs)


_JENKINS = re.compile(
    r"\b(?:sh|bat)\s*\(?\s*(?:script\s*:\s*)?(?:'''(.{0,4000}?)'''|\"\"\"(.{0,4000}?)\"\"\"|'([^'\n]*)'|\"([^\"\n]*)\")",
    re.S,
)


def _of_jenkins(path: str, text: str) -> Iterator[CiStep]:
    """What starts a pipeline is set on a server, unless it names triggers itself."""
    text = text[:_LONGEST_PIPELINE]
    automatic: Answer = (
        "yes" if re.search(r"\btriggers\s*\{[^}]*(?:cron|pollSCM|githubPush)", text) else "unknown"
    )
    for found in _JENKINS.finditer(text):
        script = next(group for group in found.groups() if group is not None)
        yield CiStep(path, text.count("\n", 0, found.start()) + 1, script, "", automatic)
    for found in re.finditer(r"\bmaven\s*:|withMaven|\bgoals\s*[:=]", text):
        yield CiStep(
            path,
            text.count("\n", 0, found.start()) + 1,
            automatic=automatic,
            why=f"a step of {path} is not read",
        )
