"""Reads build files, scripts and CI workflows for how the tests are run."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from refute.repository.build_targets import tasks_in
from refute.repository.file_kinds import role_of
from refute.repository.models import ToolboxEntry
from refute.repository.test_commands import BuildFiles

_TEST_WORD = re.compile(
    r"test|check|bench|fuzz|chaos|robust|e2e|integration|smoke|stress|jepsen|verify|lazyfs|gofail|failpoint|simulat|soak|spec|fault|race|coverage|dialyz|ct\b|eunit|valgrind|tsan|proper",
    re.I,
)
_TARGET = re.compile(r"^([A-Za-z0-9][\w./%-]*)\s*:(?![=:])(.*)$", re.M)
_WHOLE_SUITE = ("test", "tests", "check", "test-all", "check-all", "ci", "verify")
_JUST = re.compile(r"^@?([a-z][\w-]*)(?:\s+[^:=]*)?:(?!=)", re.M)
_NAMED = {
    "tox.ini": ("tox", "tox"), "noxfile.py": ("nox", "nox"), "cargo.toml": ("cargo", "cargo test"), "pom.xml": ("Maven", "mvn test"),
    "build.gradle": ("Gradle", "./gradlew test"), "build.gradle.kts": ("Gradle", "./gradlew test"), "build.sbt": ("sbt", "sbt test"),
    "mix.exs": ("mix", "mix test"), "project.clj": ("Lein", "lein test"), "deps.edn": ("Clojure CLI", "clojure -X:test"),
    "rebar.config": ("rebar3", "rebar3 ct"), "build.zig": ("zig build", "zig build test"), "package.json": ("npm", "npm test"),
    "rakefile": ("rake", "bundle exec rake test"), "cmakelists.txt": ("CTest", "cmake -B build && ctest --test-dir build"),
    "build.bazel": ("Bazel", "bazel test //..."), "module.bazel": ("Bazel", "bazel test //..."), "workspace": ("Bazel", "bazel test //..."),
    "go.mod": ("go", "go test ./..."), "pytest.ini": ("pytest", "pytest"), "phpunit.xml.dist": ("PHPUnit", "vendor/bin/phpunit"),
    "phpunit.xml": ("PHPUnit", "vendor/bin/phpunit"), "package.swift": ("swift", "swift test"), "composer.json": ("composer", "composer test"),
    ".rspec": ("RSpec", "bundle exec rspec"), "pyproject.toml": ("pytest", "pytest"), "setup.cfg": ("pytest", "pytest"), "gemfile": ("bundler", "bundle exec rake"), "erlang.mk": ("erlang.mk", "make tests"),
    "meson.build": ("meson", "meson test"), "dune-project": ("dune", "dune test"), "stack.yaml": ("stack", "stack test"),
}  # fmt: skip
_DOTNET = (".sln", ".slnx")
# a build file of a part alone: the one at the root, or the folder's own, runs its tests
_OF_PARTS = frozenset({
    "pom.xml", "cargo.toml", "build.gradle", "build.gradle.kts", "build.bazel", "cmakelists.txt", "go.mod", "mix.exs",
})  # fmt: skip
_SCRIPT = re.compile(r"(^|/)(run)?_?-?(test|tests|unit|runtest[\w-]*|check|suites?|fuzz\w*|chaos\w*|bench\w*|stress\w*|e2e\w*|jepsen\w*|soak\w*|verify\w*)[\w.-]*$|"
                     r"[\w.-]*(test|fuzz|chaos|stress|bench|jepsen|faults?|kill|crash|simulat|verify|suites|compat|sanity|regress|soak|cluster)[\w.-]*\.(sh|py|rb|bash|pl|ts|js)$|(^|/)scripts?/[\w.-]*(test|fuzz|bench)[\w.-]*$", re.I)  # fmt: skip
# Scripts whose name tells nothing: their text does.
_SCRIPTS = re.compile(
    r"^(?:[\w.-]+/)?(?:scripts?|bin|hack|ci|dev|dev-support|tools?|build_tools|\.ci)/(?:[\w.-]+/)?[\w-]+(?:\.(?:sh|bash|py|rb|pl))?$"
)
_TESTS_INSIDE = re.compile(
    r"\b(?:cargo (?:test|miri|fuzz)|go test|pytest|rspec|ctest|mvn [^\n]*\b(?:test|verify)\b|gradlew? [^\n]*test|mix test|rebar3 (?:ct|eunit|proper)|npm (?:run )?test|make (?:\w+-)?(?:test|check)\w*|"
    r"valgrind|-fsanitize|sanitizer=|_SANITIZER|interleav\w+|kill -(?:9|KILL|STOP)|tc qdisc|iptables|random seed|stress-ng|jepsen)", re.I)  # fmt: skip
_GUARDS_STYLE = re.compile(
    r"licen[cs]e|style|lint|format|redact|headers?|spell|whitespace|commit-?message", re.I
)
_RETRIES = re.compile(
    r"\bretry\b|--reruns|flaky|max_attempts|nick-fields/retry|rerun[-_]?fail|continue-on-error:\s*true|-retries|retries:",
    re.I,
)
_TRIGGERS = (
    "schedule",
    "workflow_dispatch",
    "pull_request",
    "push",
    "workflow_call",
    "merge_group",
    "workflow_run",
)
_INSTALLS = re.compile(r"\b(?:pip3?|pipx|uv|brew|apt|apt-get|gem|npm|composer) (?:install|require)\b")
# what a line of a workflow only says, and the jobs that it is cut into
_SAYS = re.compile(r"^\s*(?:-\s*)?[\"']?(?:description|name|title|if|uses|key|path|default)[\"']?\s*:")
_JOB = re.compile(r"^  [\w-]+:\s*(?:#.*)?$")
_COMMAND = re.compile(r"(?:^|\s)((?:make|just|go test|cargo (?:test|nextest|xtask)|tox|nox|pytest|npm (?:run|test)|yarn|pnpm|mvn|\./mvnw|\./gradlew|gradle|bazel test|"
                      r"mix (?:test[\w.]*|ci|coveralls[\w.]*)|rake|bundle exec|rebar3|ctest|dotnet test|lein|sbt|\./runtest[\w-]*|python -m pytest|swift test|zig build|"
                      r"composer (?:run |test|ci)|(?:\./)?vendor/bin/(?:phpunit|pest)|xcodebuild|(?:\./)?mill|bin/(?:rspec|rake|rails test)|\./scripts?/test)(?![\w/.-])[^\n]{0,140})")  # fmt: skip


def is_opened(path: str) -> bool:
    """Whether this file is worth opening for the toolbox."""
    name = path.rsplit("/", 1)[-1].lower()
    if role_of(path) in ("vendored", "generated"):
        return False
    return (
        name in _NAMED
        or name.endswith(_DOTNET)
        or (name.endswith(".mk") and _TEST_WORD.search(name) is not None)
        or name.startswith(("makefile", "justfile", "readme", "gnumakefile"))
        or role_of(path) == "ci"
        or bool(_SCRIPT.search(path) and _is_script(path))
        or bool(_SCRIPTS.search(path) and _is_script(path))
        or name == "jenkinsfile"
    )


def _is_script(path: str) -> bool:
    name = path.rsplit("/", 1)[-1]
    return "." not in name or name.endswith((".sh", ".bash", ".py", ".rb", ".pl", ".ts", ".js"))


def entries_of_file(
    path: str, text: str, builds: BuildFiles | None = None, *, executable: bool = True
) -> Iterator[ToolboxEntry]:
    """What one build file, script or workflow offers; nothing of it is run."""
    name = path.rsplit("/", 1)[-1].lower()
    folder = path.rpartition("/")[0] or "."
    if role_of(path) == "ci" or name == "jenkinsfile":
        if name.endswith((".yml", ".yaml", ".toml", ".json", "jenkinsfile")):
            yield from _workflow(path, text)
        elif _SCRIPT.search(path) and _is_script(path):
            yield _script(path, text, executable=executable)
    elif name.startswith(("makefile", "gnumakefile", "justfile")) or name.endswith(".mk"):
        yield from _targets(path, text, folder, "just" if name.startswith("just") else "make")
    elif name == "package.json":
        yield from _package(path, text, folder)
    elif name.endswith(_DOTNET):
        if path.count("/") <= 1:
            yield _runner("dotnet", path, 1, f"dotnet test {path}", ".")
    elif name in ("build.zig", "build.sbt", "rakefile", "mix.exs", "composer.json"):
        if name not in _OF_PARTS or path.count("/") < 2:
            yield from _tasks(name, path, text, folder)
    elif name in _NAMED:
        if name in ("pyproject.toml", "setup.cfg") and "pytest" not in text:
            return
        if name == "cmakelists.txt" and not re.search(r"enable_testing|add_test|gtest", text):
            return
        if name in _OF_PARTS and path.count("/") > 1:
            return
        tool, command = _NAMED[name]
        if command.startswith("./gradlew") and builds is not None:
            command, folder = _gradle(folder, builds)
        if (
            name == "gemfile"
            and builds is not None
            and not builds.has("rakefile", folder=folder.removeprefix("."))
        ):
            command = "bundle exec rspec" if builds.has(".rspec", folder=folder.removeprefix(".")) else ""
        line = next((n for n, row in enumerate(text.split("\n"), 1) if _TEST_WORD.search(row)), 1)
        yield ToolboxEntry(kind="test-runner", name=f"{tool}: {path}", path=path, line=line, end_line=line, command=command,
                           working_directory=folder, needs=(tool,), what=_tox(text) if name == "tox.ini" else "", seed=_seed(text))  # fmt: skip
    elif _is_a_test_script(path, text):
        yield _script(path, text, executable=executable)


def _gradle(folder: str, builds: BuildFiles) -> tuple[str, str]:
    """The command and its working directory: the wrapper stands in one folder, the build in another."""
    if folder != "." and builds.has("gradlew", folder=folder):
        return "./gradlew test", folder
    gradle = "./gradlew" if builds.has("gradlew") else "gradle"
    return (f"{gradle} test", ".") if folder == "." else (f"{gradle} -p {folder} test", ".")


def _runner(tool: str, path: str, line: int, command: str, folder: str, what: str = "") -> ToolboxEntry:
    return ToolboxEntry(kind="test-runner", name=f"{tool}: {path}", path=path, line=line, end_line=line, command=command,
                        working_directory=folder, needs=(tool,), what=what)  # fmt: skip


_ASKED_BY_NAME = frozenset(
    {"build.zig", "rakefile", "composer.json"}
)  # without a test task, nothing runs tests


def _tasks(name: str, path: str, text: str, folder: str) -> Iterator[ToolboxEntry]:
    """The whole suite, and a task of its own for each harness, by the names that the build file gives them."""
    tool, command = _NAMED[name]
    asked, found = tasks_in(name, text)
    tests = [row for row in found if _TEST_WORD.search(row[0])]
    if name in _ASKED_BY_NAME and not tests:
        return
    first = min(tests, key=lambda row: (row[0] not in ("test", "tests", "spec"), not row[0].startswith(("test", "spec"))), default=None)  # fmt: skip
    if name in _ASKED_BY_NAME and first is not None:
        command = f"{asked} {first[0]}"
    line = first[1] if first else next((n for n, row in enumerate(text.split("\n"), 1) if _TEST_WORD.search(row)), 1)  # fmt: skip
    names = ", ".join(dict.fromkeys(task for task, _ in tests))[:300]
    yield _runner(tool, path, line, command, folder, f"tasks: {names}" if names else "")
    for task, line in dict(reversed(tests)).items():
        kinds = _kinds_of(task)
        if kinds and not re.search(r"(?:^|[:_-])build$", task):
            yield ToolboxEntry(kind=kinds[0], name=f"{asked} {task}", path=path, line=line, end_line=line,
                               command=f"{asked} {task}", working_directory=folder, needs=(tool,))  # fmt: skip


def _is_a_test_script(path: str, text: str) -> bool:
    """By its name, or by what it starts where the name tells nothing."""
    name = path.rsplit("/", 1)[-1]
    starts = text.startswith("#!") or "__main__" in text or name.endswith((".sh", ".bash")) or "." not in name
    if role_of(path) == "code" and not starts:
        return False  # a part of the product that is about tests
    if _GUARDS_STYLE.search(name) and not _TESTS_INSIDE.search(text):
        return False
    if _SCRIPT.search(path) and (("." not in name) or (_is_script(path) and role_of(path) != "test")):
        return True
    return bool(_SCRIPTS.search(path)) and (bool(_TESTS_INSIDE.search(text)) or bool(re.search(r"spec|test", name)))  # fmt: skip


_INTERPRETERS = {"sh": "sh", "bash": "bash", "py": "python3", "rb": "ruby", "pl": "perl", "js": "node"}


def _command_of(path: str, text: str, *, executable: bool) -> str:
    """How a script is started: by its name only where the system can, else by what its first line or its name asks for."""
    named = re.match(r"#!\s*(?:\S*/)?(?:env\s+(?:-S\s+)?)?(\S+)", text)
    if named and executable:
        return f"./{path}"
    program = named[1].rsplit("/", 1)[-1] if named else _INTERPRETERS.get(path.rsplit(".", 1)[-1], "")
    return f"{program} {path}" if program else f"./{path}" if executable else ""


def _script(path: str, text: str, *, executable: bool) -> ToolboxEntry:
    kind = "fuzz" if "fuzz" in path else "benchmark" if "bench" in path.lower() else "test-runner"
    also: tuple[str, ...] = ()
    if re.search(r"chaos|fault|kill|crash|jepsen", path, re.I):
        kind, also = "fault-injection", ("test-runner",)
    elif (
        re.search(r"\bsimulat\w*|interleav\w+|\bexplor\w+\b.*\bseed", text[:3000], re.I | re.S)
        and "seed" in text
    ):
        kind, also = "simulation", ("test-runner",)
    rows = list(enumerate(text.split("\n"), 1))
    line = next((n for n, row in rows if _TESTS_INSIDE.search(row) and not row.lstrip().startswith("#")), 0)
    line = line or next((n for n, row in rows if n > 1 and row.strip() and not row.startswith("#")), 1)
    return ToolboxEntry(kind=kind, name=path.rsplit("/", 1)[-1], path=path, line=line, end_line=line, command=_command_of(path, text, executable=executable), also=also,
                        what="a script: read it before running it", seed=_seed(text))  # fmt: skip


def _targets(path: str, text: str, folder: str, tool: str) -> Iterator[ToolboxEntry]:
    """One entry a file with its first test target, and one for each target that is a harness of its own."""
    found = [(match.group(1), text.count("\n", 0, match.start()) + 1) for match in (_JUST if tool == "just" else _TARGET).finditer(text)
             if _TEST_WORD.search(match.group(1)) and not match.group(1).startswith(".")]  # fmt: skip
    included = re.search(r"^-?include\s+\S*erlang\.mk", text, re.M)
    if included and not any(name in ("tests", "ct") for name, _ in found):
        found.insert(0, ("tests", text.count("\n", 0, included.start()) + 1))
    if not found:
        return
    first = min(found, key=lambda row: (row[0] not in _WHOLE_SUITE, not row[0].startswith("test")))
    where = f" -C {folder}" if folder != "." else ""
    if path.endswith(".mk"):
        tool = f"make -f {path}" if folder == "." else f"make -f {path.rsplit('/', 1)[-1]}"
    yield ToolboxEntry(
        kind="test-runner", name=f"{tool} {first[0]} ({path})", path=path, line=first[1], end_line=first[1], command=f"{tool}{where} {first[0]}",
        working_directory=".", needs=(tool.split()[0],), what="targets: " + ", ".join(dict.fromkeys(name for name, _ in found))[:300], seed=_seed(text),
        also=tuple(sorted({kind for name, _ in found for kind in _kinds_of(name)})),
    )  # fmt: skip
    for name, line in found:
        kinds = _kinds_of(name)
        if kinds and "%" not in name:
            yield ToolboxEntry(
                kind=kinds[0],
                name=f"{tool} {name}",
                path=path,
                line=line,
                end_line=line,
                command=f"{tool}{where} {name}",
                needs=(tool.split()[0],),
            )


def _kinds_of(name: str) -> tuple[str, ...]:
    table = (("linearizability", r"robust|jepsen|lineari"), ("simulation", r"simulat|antithesis|dst"), ("fault-injection", r"lazyfs|gofail|failpoint|chaos|(?<!de)fault|crash|kill|issue\d+"),
             ("fuzz", r"fuzz"), ("e2e", r"e2e|smoke"), ("integration", r"integration"), ("benchmark", r"bench"))  # fmt: skip
    return tuple(kind for kind, pattern in table if re.search(pattern, name, re.I))


def _package(path: str, text: str, folder: str) -> Iterator[ToolboxEntry]:
    try:
        scripts = json.loads(text).get("scripts", {})
    except (ValueError, AttributeError, RecursionError):
        return
    names = (
        [name for name in scripts if isinstance(name, str) and _TEST_WORD.search(name)]
        if isinstance(scripts, dict)
        else []
    )
    if not names:
        return
    line = next((n for n, row in enumerate(text.split("\n"), 1) if f'"{names[0]}"' in row), 1)
    yield ToolboxEntry(kind="test-runner", name=f"npm run {names[0]} ({path})", path=path, line=line, end_line=line, command=f"npm run {names[0]}",
                       working_directory=folder, needs=("node",), what="scripts: " + ", ".join(names)[:300])  # fmt: skip


def _tox(text: str) -> str:
    found = re.search(r"envlist\s*=\s*([^\[]{0,400})", text)
    return "environments: " + " ".join(found.group(1).split())[:300] if found else ""


def _seed(text: str) -> str:
    found = re.search(
        r"[^\n]{0,40}\b(?:--seed|SEED|-seed|random_seed|PYTHONHASHSEED|TEST_SEED)\b[^\n]{0,40}", text
    )
    return found.group().strip() if found else ""


def _masked(lines: Sequence[str], tests: Sequence[int]) -> int:
    """The line that retries or forgives a failure in a job that runs tests; 0 where none does."""
    jobs = [number for number, line in enumerate(lines, 1) if _JOB.match(line)]
    parts = {bisect_right(jobs, number) for number in tests}
    return next(
        (
            number
            for number, line in enumerate(lines, 1)
            if _RETRIES.search(line)
            and not line.lstrip().startswith("#")
            and (not jobs or bisect_right(jobs, number) in parts)
        ),
        0,
    )


def _workflow(path: str, text: str) -> Iterator[ToolboxEntry]:
    lines = text.split("\n")
    triggers = [
        name
        for name in _TRIGGERS
        if re.search(
            rf"^[ \t]*['\"]?{name}['\"]?[ \t]*:|[\[,]\s*{name}\b|^on:\s*{name}\b|^[ \t]+-[ \t]+{name}\b",
            text,
            re.M,
        )
    ]
    commands = [
        (number, found.group(1).strip())
        for number, line in enumerate(lines, 1)
        if (found := _COMMAND.search(line))
        and not line.lstrip().startswith("#")
        and not _SAYS.match(line)
        and not _INSTALLS.search(line)
    ]
    tests = [row for row in commands if _TEST_WORD.search(row[1])] or commands
    masked = _masked(lines, [number for number, _ in tests])
    manual = triggers == ["workflow_dispatch"]
    status = (
        "manual only" if manual else f"masked by retries (line {masked})" if masked and tests else "active"
    )
    named = re.search(r"^name:\s*(.+)$", text, re.M)
    cron = re.search(r"cron:\s*(['\"]?)([^'\"\n#]+)\1", text)
    kinds = _kinds_of(path.rsplit("/", 1)[-1])
    yield ToolboxEntry(
        kind="ci", name=(named.group(1).strip("'\" ") if named else path), path=path, line=tests[0][0] if tests else 1, end_line=tests[0][0] if tests else 1,
        command=tests[0][1] if tests else "", trigger=", ".join(triggers) + (f" ({cron.group(2).strip()})" if cron else ""), status=status,
        what="; ".join(dict.fromkeys(command for _, command in tests))[:240], also=kinds,
    )  # fmt: skip
