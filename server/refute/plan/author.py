"""Author mode: which test files a plan's scenarios become, and where; decided here, written by somebody else.

A plan declares in its front matter where tests may be written, and nothing is planned anywhere else:

    author:
      - {language: python, path: tests/distributed}
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import PurePosixPath

from refute.plan.defect import Defect
from refute.plan.document import Plan, PlanError
from refute.plan.references import near
from refute.plan.scenario import Scenario
from refute.plan.templates import render

LANGUAGES: dict[str, tuple[str, str]] = {
    # language -> (template, name of the file: {name} in snake case, {camel} in camel case)
    "python": ("skeletons/python.py.j2", "test_{name}.py"),
    "go": ("skeletons/go.go.j2", "{name}_test.go"),
    "rust": ("skeletons/rust.rs.j2", "{name}.rs"),
    "java": ("skeletons/java.java.j2", "{camel}Test.java"),
    "typescript": ("skeletons/typescript.ts.j2", "{name}.test.ts"),
    "shell": ("skeletons/shell.sh.j2", "{name}.sh"),
}


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """One test file: its path below the repository, its text, the scenario it comes from."""

    path: PurePosixPath
    text: str
    scenario: str
    language: str
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """A place that a plan declares for tests of one language."""

    language: str
    path: PurePosixPath


def targets_of(plan: Plan) -> tuple[Target, ...]:
    """The places that the front matter declares. Raises PlanError for any that is not below the root."""
    written = plan.meta.get("author")
    items = written if isinstance(written, list) else [written] if isinstance(written, dict) else []
    if not items:
        hint = "add to the front matter: author: [{language: python, path: tests/distributed}]"
        raise PlanError("the plan declares no place for tests", where=plan.path, hint=hint)
    return tuple(_target(plan, item) for item in items)


def _target(plan: Plan, item: object) -> Target:
    if not isinstance(item, dict) or set(item) != {"language", "path"}:
        raise PlanError(
            f"author: {item!r} is no place for tests",
            where=plan.path,
            hint="write {language: python, path: tests/distributed}",
        )
    language, path = str(item["language"]), PurePosixPath(str(item["path"]))
    if language not in LANGUAGES:
        raise PlanError(
            f"author: there is no skeleton for {language!r}", where=plan.path, hint=near(language, LANGUAGES)
        )
    outside = path.is_absolute() or ".." in path.parts or "\\" in str(path) or ".git" in path.parts
    if outside or not path.parts:
        raise PlanError(
            f"author: {str(path)!r} is not a folder below the repository",
            where=plan.path,
            hint="write a relative path without '..'",
        )
    return Target(language, path)


def plan_files(
    plan: Plan,
    *,
    plan_path: str,
    exists: Callable[[PurePosixPath], bool],
    scenarios: Collection[str] = (),
) -> tuple[PlannedFile, ...]:
    """The test files for a plan's scenarios (all, or the named), one for each declared place.

    `plan_path` is the plan's path below the repository, as the tests name it. Raises PlanError where a
    scenario is unknown, two files would have one path, or a file is there already: nothing is overwritten.
    """
    for name in scenarios:
        if name not in plan.scenarios:
            raise PlanError(
                f"there is no scenario {name!r}", where=plan.path, hint=near(name, plan.scenarios)
            )
    chosen = [plan.scenarios[name] for name in scenarios] if scenarios else list(plan.scenarios.values())
    files = [_file(plan, plan_path, target, scenario) for target in targets_of(plan) for scenario in chosen]
    seen: set[PurePosixPath] = set()
    refused = []
    for file in files:
        line = plan.scenario_blocks[file.scenario].line
        if file.path in seen:
            refused.append(_refusal(line, file, "two scenarios would become this file", "rename one of them"))
        elif exists(file.path):
            refused.append(
                _refusal(line, file, "is there already", "move it away, or leave the scenario out")
            )
        seen.add(file.path)
    if refused:
        raise PlanError.of(tuple(refused), plan.path)
    return tuple(files)


def _refusal(line: int, file: PlannedFile, what: str, mend: str) -> Defect:
    return Defect("would-overwrite", line, "7", f"{file.path}: {what}", mend, file.scenario)


def _file(plan: Plan, plan_path: str, target: Target, scenario: Scenario) -> PlannedFile:
    template, file_name = LANGUAGES[target.language]
    name = re.sub(r"[^a-z0-9]+", "_", scenario.name.lower()).strip("_") or scenario.id.lower()
    name = f"s_{name}" if name[0].isdigit() else name
    camel = "".join(part.capitalize() for part in name.split("_"))
    text = render(
        template,
        provenance=f"refute: plan {plan_path}, scenario {scenario.id}, plan digest sha256:{plan.digest}",
        title=_one_line(f"{scenario.id}: {scenario.name.replace('_', ' ')}"),
        name=name,
        camel=camel,
        lower_camel=camel[:1].lower() + camel[1:],
        plan=plan_path,
        scenario=scenario.id,
        steps=[_one_line(step) for step in _steps(scenario)],
    )
    path = target.path / file_name.format(name=name, camel=camel)
    return PlannedFile(path, text, scenario.id, target.language, executable=target.language == "shell")


def _steps(scenario: Scenario) -> list[str]:
    """What the scenario does, a line each, for whoever replaces the run by native steps."""
    load = scenario.workload
    steps = [f"load: {load.generator}, {load.clients} clients, {load.duration:g} s"] if load else []
    steps += [_written(step) for step in (*scenario.steps, *scenario.nemesis)]
    return [*steps, "check: " + ", ".join(check.checker for check in scenario.check)]


def _written(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_inner(item)}" for key, item in value.items())
    return str(value)


def _inner(value: object) -> str:
    if isinstance(value, dict):
        return "{" + _written(value) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_inner(item) for item in value) + "]"
    return str(value)


def _one_line(text: str) -> str:
    # A comment must end where its line does, in every language.
    flat = "".join(character if character.isprintable() else " " for character in text)
    return flat.replace("*/", "* /").replace('"""', "'''").replace("\\", "/")
