"""Author mode: which test files a plan's scenarios become, and where; decided here, written by somebody else.

A plan declares in its front matter where tests may be written, and nothing is planned anywhere else:

    author:
      - {language: python, path: tests/distributed}

Each file is a test that runs its scenario with refute and fails unless every verdict is a PASS, so that none
can pass while it asserts nothing.
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


def targets_of(plan: Plan, *, path: str | None = None, language: str | None = None) -> tuple[Target, ...]:
    """The places that the front matter declares, those of this path and language where they are given.

    A plan that declares none takes both from whoever asks. Raises PlanError where no place is left, and for
    any that is not below the root.
    """
    written = plan.meta.get("author")
    items = written if isinstance(written, list) else [written] if isinstance(written, dict) else []
    if not items and path and language:
        items = [{"language": language, "path": path}]
    if not items:
        hint = (
            "add to the front matter: author: [{language: python, path: tests/distributed}], "
            "or give --target and --language"
        )
        raise PlanError("the plan declares no place for tests", where=plan.path, hint=hint)
    declared = tuple(_target(plan, item) for item in items)
    chosen = tuple(
        target
        for target in declared
        if language in (None, target.language) and (path is None or PurePosixPath(path) == target.path)
    )
    if not chosen:
        places = ", ".join(f"{target.language} in {target.path}" for target in declared)
        asked = " in ".join(part for part in (language, path) if part)
        raise PlanError(
            f"the plan declares no place for {asked}", where=plan.path, hint=f"it declares {places}"
        )
    return chosen


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
    # Some file systems take .GIT for .git.
    inside_git = any(part.casefold() == ".git" for part in path.parts)
    outside = path.is_absolute() or ".." in path.parts or "\\" in str(path) or inside_git
    # A formatter would take a leading dash for an option; nobody writes control characters into a path.
    odd = not str(path).isprintable() or any(part.startswith(("-", "~")) for part in path.parts)
    if outside or odd or not path.parts:
        raise PlanError(
            f"author: {str(path)!r} is not a folder below the repository",
            where=plan.path,
            hint="write a relative path without '..' and control characters, no part beginning with - or ~",
        )
    return Target(language, path)


def plan_files(
    plan: Plan,
    *,
    plan_path: str,
    exists: Callable[[PurePosixPath], bool],
    scenarios: Collection[str] = (),
    targets: Collection[Target] | None = None,
) -> tuple[PlannedFile, ...]:
    """The test files for a plan's scenarios (all, or the named), one for each of `targets`.

    Without `targets`: all that the plan declares. `plan_path` is the plan's path below the repository, as the
    tests name it. Raises PlanError where a scenario is unknown, two files would have one path, or a file is
    there already: nothing is overwritten.
    """
    for name in scenarios:
        if name not in plan.scenarios:
            raise PlanError(
                f"there is no scenario {name!r}", where=plan.path, hint=near(name, plan.scenarios)
            )
    chosen = [plan.scenarios[name] for name in scenarios] if scenarios else list(plan.scenarios.values())
    places = targets_of(plan) if targets is None else targets
    files = [_file(plan, plan_path, target, scenario) for target in places for scenario in chosen]
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
    name = _name(scenario)
    camel = "".join(part.capitalize() for part in name.split("_"))
    text = render(
        template,
        provenance=f"refute: plan {plan_path}, scenario {scenario.id}, plan digest sha256:{plan.digest}",
        title=_one_line(f"{scenario.id}: {scenario.name.replace('_', ' ')}"),
        name=name,
        camel=camel,
        lower_camel=camel[:1].lower() + camel[1:],
        plan=plan_path,
        up="/".join([".."] * len(target.path.parts)),
        package=_package(target),
        scenario=scenario.id,
        steps=[_one_line(step) for step in _steps(scenario)],
    )
    path = target.path / file_name.format(name=name, camel=camel)
    return PlannedFile(path, text, scenario.id, target.language, executable=target.language == "shell")


def _name(scenario: Scenario) -> str:
    """The scenario's name as an identifier that no language reserves and a file that no tool leaves out."""
    name = re.sub(r"[^a-z0-9]+", "_", scenario.name.lower()).strip("_") or scenario.id.lower()
    name = f"s_{name}" if name[0].isdigit() else name
    # A single word may be reserved (loop, switch); and Go builds x_windows_test.go on Windows only.
    return name if "_" in name and name.rsplit("_", 1)[1] not in _GO_PLATFORMS else f"{name}_holds"


_GO_PLATFORMS = frozenset(
    [
        *(
            "aix",
            "android",
            "darwin",
            "dragonfly",
            "freebsd",
            "hurd",
            "illumos",
            "ios",
            "js",
            "linux",
            "nacl",
        ),
        *("netbsd", "openbsd", "plan9", "solaris", "unix", "wasip1", "windows", "zos"),
        *("386", "amd64", "amd64p32", "arm", "arm64", "arm64be", "armbe", "loong64", "mips", "mips64"),
        *("mips64le", "mips64p32", "mips64p32le", "mipsle", "ppc", "ppc64", "ppc64le", "riscv", "riscv64"),
        *("s390", "s390x", "sparc", "sparc64", "wasm"),
    ]
)


def _package(target: Target) -> str:
    """The package of a folder's tests; in Java what follows `java`, as in src/test/java/org/example."""
    parts = target.path.parts
    if target.language == "go":
        # An external test package may stand beside the folder's own one.
        return (re.sub(r"[^a-z_]+", "", parts[-1].lower()) or "distributed") + "_test"
    below = parts[len(parts) - parts[::-1].index("java") :] if "java" in parts[:-1] else ()
    return ".".join(below) if all(part.isidentifier() for part in below) else ""


def _steps(scenario: Scenario) -> list[str]:
    """What the scenario does, a line each, for whoever replaces the run by native steps."""
    load = scenario.workload
    steps = [f"load: {load.generator}, {load.clients} clients, {load.duration:g} s"] if load else []
    steps += [_written(step) for step in (*scenario.steps, *scenario.nemesis)]
    return [*steps, "check: " + ", ".join(check.checker for check in scenario.check)]


def _written(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_inner(item)}" for key, item in value.items())
    return _inner(value)


def _inner(value: object) -> str:
    if isinstance(value, dict):
        return "{" + _written(value) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_inner(item) for item in value) + "]"
    if isinstance(value, bool) or value is None:
        return "null" if value is None else str(value).lower()
    return str(value)


def _one_line(text: str) -> str:
    # A comment must end where its line does, in every language.
    flat = "".join(character if character.isprintable() else " " for character in text)
    return flat.replace("*/", "* /").replace('"""', "'''").replace("\\", "/")
