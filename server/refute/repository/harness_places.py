"""Finds the folders and files that serve tests: harnesses, single telling tests, hooks, clusters, guides, models."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from refute.repository.facts import FileFacts
from refute.repository.file_kinds import PROSE, language_of, role_of
from refute.repository.harnesses import (
    breaks_things,
    drives_tests,
    guide_of,
    harness_of,
    is_diagnostic,
    is_oracle,
    is_part_of_a_harness,
    makes_load,
    spoken,
    telling,
)
from refute.repository.models import ToolboxEntry
from refute.repository.source_file import SourceFile
from refute.repository.survey import Survey
from refute.repository.test_commands import BuildFiles, command_for

_MONITORING = re.compile(
    r"(alert|prometheus|grafana|mixin|dashboard)[^/]*(/(?:.*/)?(?!chart\.ya?ml|package)[^/]*)?\.(ya?ml|json|libsonnet|jsonnet|rules)$",
    re.I,
)
_COMPOSE = re.compile(r"(^|/)(docker-)?compose[^/]*\.ya?ml$|(^|/)docker-compose[^/]*$|(^|/)[^/]+[-_]compose\.ya?ml$", re.I)  # fmt: skip
_MACHINES = re.compile(r"(^|/)(vagrantfile|procfile)$", re.I)
_BRINGS_UP = re.compile(r"(?:^|/)(skaffold|tiltfile|garden|helmfile)(?:\.ya?ml)?$", re.I)
_BRINGS_UP_BY = {"skaffold": "skaffold run", "tiltfile": "tilt up", "garden": "garden deploy", "helmfile": "helmfile apply"}  # fmt: skip
_AGENTS = re.compile(
    r"(^|/)(AGENTS|CLAUDE|GEMINI|\.cursorrules|copilot-instructions)(\.md)?$|(^|/)\.(cursor|claude)/[^/]+/[^/]+\.md[c]?$"
)
_FORMAL = re.compile(r"\.(tla|p|qnt|ivy|als|pml|dfy)$")
# Folders of sources that are a harness though no test case is recognised in them, or though they look like product code.
_OUTRIGHT = re.compile(r"\b(?:chaos|jepsen|stress|soak|torture|tck|test ?kit|conformance|e2e|multi (?:jvm|node)|simulat\w*|fuzz\w*|\w*bench\w*|jmh|inject\w*|"
                       r"nemesis|lineari\w*|maelstrom|turmoil|antithesis|fault injection|ducktape|system ?tests?|verifier|smoke)\b")  # fmt: skip
# Folders in which every file is a hook.
_HOOKS = re.compile(r"^(?:test ?hooks?|fault ?injections?|fail ?points?|fault ?injectors?|chaos|nemesis)$")
_RUNNER = re.compile(r"\b(?:test ?runner|run ?tests?|test ?suite ?runner)\b")
_SWITCH = re.compile(
    r"[\"'][\w.]*(?:FAULT|DELAY|SEED|CHAOS|INJECT|SLOW|LONG|STRESS|FAIL|SOAK|CRASH|KILL|FUZZ|IOE)\w*[\"']",
    re.I,
)
_CODE_ROLES = ("code", "interface", "tooling", "example")
_DEEPEST = 16


def places_for_tests(
    files: Sequence[SourceFile], surveyed: Survey, builds: BuildFiles
) -> Iterator[ToolboxEntry]:
    """Every place that serves tests, in no order; linear in the files."""
    yield from _folders(surveyed, builds)
    yield from _plain_files(files)
    for file, facts in surveyed.files:
        yield from _source_file(file.path, facts, builds)


def _folders(surveyed: Survey, builds: BuildFiles) -> Iterator[ToolboxEntry]:
    """Folders of tests, each as deep as its name still says something new."""
    tests: dict[str, int] = defaultdict(int)
    faulty: dict[str, int] = defaultdict(int)
    first: dict[str, str] = {}
    for file, facts in surveyed.files:
        if role_of(file.path) not in ("test", *_CODE_ROLES) or "/." in f"/{file.path}":
            continue
        parts = file.path.split("/")[:-1]
        for depth in range(1, min(len(parts), _DEEPEST) + 1):
            folder = "/".join(parts[:depth])
            if role_of(folder + "/x.go") == "test" or harness_of(parts[depth - 1] + "."):
                tests[folder] += len(facts.tests)
                faulty[folder] += sum(case.under_fault for case in facts.tests)
                first.setdefault(folder, file.path)
    for folder in sorted(first):
        parent, _, name = folder.rpartition("/")
        own = harness_of(name + ".")
        outright = bool(_OUTRIGHT.search(spoken(name + ".")))
        if own is None and (parent in first or (tests[folder] < 3 and "/" in folder)):
            continue
        if own is not None and not outright and role_of(folder + "/x.go") != "test":
            continue  # product code that is about recovery or clusters is no harness
        if own is not None and _says_nothing_new(parent, name, own, outright=outright):
            continue
        kind = own or "unit"
        inherited = next((found for part in reversed(parent.split("/")) if part and (found := harness_of(part + "."))), None)  # fmt: skip
        command, within = command_for(folder, first[folder], builds) if tests[folder] else ("", ".")
        yield ToolboxEntry(
            kind=kind, name=f"{folder}/", path=folder, line=1, end_line=1, working_directory=within,
            what=f"{_counted(tests[folder], faulty[folder])}; first file {first[folder]}",
            also=tuple(k for k in (inherited,) if k and k != kind),
            faults=("see the tests",) if faulty[folder] else (),
            command=command,
        )  # fmt: skip


def _counted(tests: int, faulty: int) -> str:
    return f"{tests} tests, {faulty} while something breaks" if tests else "no test was recognised in it"


def _says_nothing_new(parent: str, name: str, kind: str, *, outright: bool) -> bool:
    """Whether a folder around this one says the same: a package of that name, or a harness of the same kind."""
    around = parent.split("/") if parent else []
    nearest = next((found for part in reversed(around) if (found := harness_of(part + "."))), None)
    return any(spoken(part + ".") == spoken(name + ".") for part in around) or (
        nearest == kind and not outright
    )


def _plain_files(files: Sequence[SourceFile]) -> Iterator[ToolboxEntry]:
    """Files whose path alone tells what they are for."""
    monitored: set[str] = set()
    for file in files:
        path = file.path
        name = path.rsplit("/", 1)[-1]
        role = role_of(path)
        if _COMPOSE.search(path) and "node_modules/" not in path:
            yield _entry("compose", name, path, f"docker compose -f {path} up", "a local cluster in containers", needs=("docker",))  # fmt: skip
        elif role in ("vendored", "generated"):
            continue
        elif found := _BRINGS_UP.search(path):
            yield _entry("compose", name, path, _BRINGS_UP_BY[found[1].lower()], "a local cluster on Kubernetes", needs=("kubernetes",), within=path.rpartition("/")[0] or ".")  # fmt: skip
        elif _MACHINES.search(path) or (role == "example" and path.endswith(".tf")):
            yield _entry("compose", name, path, "", "a local cluster")
        elif _AGENTS.search(path):
            yield _entry("agent-instructions", name, path, "", "instructions for coding agents: read as data")
        elif _FORMAL.search(path):
            yield _entry("formal-model", name, path, "", "a formal model of the design")
        elif _MONITORING.search(path):
            folder = path.rpartition("/")[0]
            if folder not in monitored and not name.startswith((".", "OWNERS")):
                monitored.add(folder)
                yield _entry("monitoring", name, path, "", "alerts or dashboards: thresholds that operators rely on")  # fmt: skip
        elif re.search(r"prow|buildkite|jenkins(?!file)|travis|circleci", name, re.I) and language_of(path) in PROSE:  # fmt: skip
            yield _entry("ci", name, path, "", "CI that lives outside of the usual folders")
        elif language_of(path) in PROSE and role in ("document", "reference", "entry"):
            told = guide_of(path if role == "document" else name)
            if told:
                what = "a guide for those who operate it" if told == "operating" else "how it is tested"
                yield _entry("runbook", name, path, "", what)


def _source_file(path: str, facts: FileFacts, builds: BuildFiles) -> Iterator[ToolboxEntry]:
    """What one source file is to a tester: a telling test, a part of a harness, an oracle, a hook, a program."""
    name = path.rsplit("/", 1)[-1]
    role = role_of(path)
    defines = bool(facts.definitions) or facts.language in ("erlang", "clojure", "tcl", "shell")
    command, within = command_for(path, path, builds)
    if role == "test" and facts.tests:
        under = sum(case.under_fault for case in facts.tests)
        around = next((found for part in reversed(path.split("/")[:-1]) if (found := harness_of(part + "."))), None)  # fmt: skip
        guessed = "fault-injection" if under * 2 > len(facts.tests) else "integration"
        kind = harness_of(name) or around or (guessed if telling(name) >= 0.5 or under * 3 > len(facts.tests) else "unit")  # fmt: skip
        yield _entry(kind, name, path, command, _counted(len(facts.tests), under),
                     line=facts.tests[0].line, within=within)  # fmt: skip
    elif role in ("test", *_CODE_ROLES) and defines and facts.language not in PROSE:
        hooks = [(line, shown) for kind, line, shown in facts.marks if kind == "fault hook"]
        switches = [(line, shown) for kind, line, shown in facts.marks if kind == "switch" and _SWITCH.search(shown)]  # fmt: skip
        if is_oracle(name, of_product=role == "code") and role != "example":
            yield _entry("oracle", name, path, "", "judges what a harness recorded")
        elif is_part_of_a_harness(name, of_product=role == "code") or _HOOKS.search(
            spoken(path.rpartition("/")[0] + ".")
        ):
            told = harness_of(name) or ("fault-injection" if breaks_things(name) else "integration")
            outright = _OUTRIGHT.search(spoken(name)) or told == "integration"
            kind = "fault-hook" if role == "code" and not outright else told
            line = hooks[0][0] if hooks else facts.definitions[0].line if facts.definitions else 1
            yield _entry(kind, name, path, "", "what a harness is made of", line=line, also=("fault-hook", "fault-injection") if breaks_things(name) else ())  # fmt: skip
        elif role == "test" and not facts.tests and (telling(name) >= 1 or drives_tests(name)):
            yield _entry(harness_of(name) or "integration", name, path, command if facts.language in ("erlang", "clojure", "tcl") else "", "what tests are driven by", within=within)  # fmt: skip
        elif hooks and role in ("code", "interface"):
            yield _entry("fault-hook", hooks[0][1][:80], path, "", f"{len(hooks)} or more hooks in product code", line=hooks[0][0])  # fmt: skip
        elif switches and role in ("test", "tooling"):
            yield _entry("fault-hook", switches[0][1][:80], path, "", "an environment switch of the tests", line=switches[0][0])  # fmt: skip
        if _RUNNER.search(spoken(_named_after(path))):
            yield _entry("test-runner", _named_after(path), path, "", "a program that runs tests")
        elif makes_load(name) and (
            role in ("test", "tooling")
            or (role in ("code", "example") and (_starts(facts) or _is_a_command(path)))
        ):
            yield _entry("benchmark", name, path, "", "a benchmark or load generator")
        elif is_diagnostic(_named_after(path)) and role in ("tooling", "code") and (_starts(facts) or role == "tooling"):  # fmt: skip
            yield _entry("diagnostic", name, path, "", "a program that looks into disks, logs or state")


def _is_a_command(path: str) -> bool:
    return bool(re.search(r"(^|/)(cmd|bin|cli|commands?)/", path))


def _named_after(path: str) -> str:
    """The name of a program: its file's, or its folder's where the file is called main."""
    folder, _, name = path.rpartition("/")
    return name if spoken(name) not in ("main", "mod", "index", "lib") else folder.rsplit("/", 1)[-1] + "."


def _starts(facts: FileFacts) -> bool:
    return any(row.name.rsplit(".", 1)[-1].lower() in ("main", "run") for row in facts.definitions)


def _entry(
    kind: str, name: str, path: str, command: str, what: str, *, needs: tuple[str, ...] = (), line: int = 1,
    also: tuple[str, ...] = (), within: str = ".",
) -> ToolboxEntry:  # fmt: skip
    return ToolboxEntry(kind=kind, name=name, path=path, line=line, end_line=line, command=command, what=what, needs=needs, working_directory=within,
                        also=tuple(other for other in also if other != kind))  # fmt: skip
