"""Tells which tests one command runs, by language and folder, as far as the command says."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__test__ = False


@dataclass(frozen=True, slots=True)
class TestRun:
    """Tests of one tool below a folder ("" is the root): all of them, or only some where a filter chooses.

    `below` is False where a folder stands for itself alone (a package of Go), `tags` names build tags.
    """

    __test__ = False
    tool: str
    folder: str
    some: bool = False
    below: bool = True
    tags: tuple[str, ...] = ()
    place: str = ""  # path:line of the job that runs it

    def covers(self, path: str) -> Literal["yes", "no", "unknown"]:
        """Whether the test file is among them, as far as the path tells."""
        fits = _FILES[self.tool]
        if not re.search(fits, path) or not self._holds(path):
            return "no"
        return "unknown" if self.some else "yes"

    def _holds(self, path: str) -> bool:
        if path == self.folder:
            return True
        if not self.below:
            return posixpath.dirname(path) == self.folder
        return not self.folder or path.startswith(f"{self.folder}/")


_JVM = r"\.(?:java|kt|kts|groovy|scala)$"
# the files that each tool takes for tests
_FILES = {
    "go": r"_test\.go$", "cargo": r"\.rs$", "cargo lib": r"(?:^|/)src/.*\.rs$",
    "maven": r"src/test/.*(?:Tests?|TestCase|Spec|Suite)\.(?:java|kt|groovy|scala)$|src/test/.*/Test\w+\.(?:java|kt|groovy)$",
    "maven all": rf"src/test/.*{_JVM}", "gradle": rf"src/test/.*{_JVM}", "gradle all": rf"src/[\w-]*[tT]est\w*/.*{_JVM}", "sbt": rf"src/test/.*{_JVM}",
    "pytest": r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$|(?:^|/)t/.*\.py$", "unittest": r"(?:^|/)test[^/]*\.py$",
    "javascript": r"\.(?:test|spec)\.[cm]?[jt]sx?$|(?:^|/)(?:__tests__|tests?|spec)/.*\.[cm]?[jt]sx?$|(?:^|/)test[^/]*\.[cm]?[jt]s$",
    "rspec": r"_spec\.rb$", "minitest": r"(?:^|/)(?:test_[^/]*|[^/]*_test|test/[^/]*)\.rb$", "mix": r"_test\.exs$", "common test": r"_SUITE\.erl$", "eunit": r"\.erl$",
    "phpunit": r"Test\.php$", "dotnet": r"\.(?:cs|fs)$", "swift": r"(?:^|/)Tests/.*\.swift$", "zig": r"\.zig$", "lein": r"(?:^|/)test/.*\.cljc?$",
    "ctest": r"\.(?:c|cc|cpp|cxx)$", "bazel": r"\.\w+$", "file": r".",
}  # fmt: skip
_GO_VALUES = frozenset({"-run", "-skip", "-tags", "-timeout", "-count", "-parallel", "-p", "-coverprofile", "-covermode", "-coverpkg", "-bench", "-benchtime", "-cpu", "-mod", "-ldflags", "-o", "-exec", "-vet", "-shuffle", "-args", "-gcflags", "-asmflags"})  # fmt: skip


def runs_of(words: Sequence[str], folder: str) -> list[TestRun] | None:
    """What a command that is a test tool runs; None where it is none, an empty list where it runs no tests."""
    tool, arguments = words[0].rsplit("/", 1)[-1], list(words[1:])
    reader = _READERS.get(tool)
    return reader(arguments, folder) if reader else None


def _joined(folder: str, inner: str) -> str:
    found = posixpath.normpath(posixpath.join(folder or ".", inner))
    return "" if found == "." else found


def _after(arguments: Sequence[str], *names: str) -> list[str]:
    """The values of options, however they are written."""
    found = [arguments[at + 1] for at, word in enumerate(arguments[:-1]) if word in names]
    return found + [
        word.partition("=")[2] for word in arguments if word.partition("=")[0] in names and "=" in word
    ]


def _plain(arguments: Sequence[str], valued: Sequence[str] | frozenset[str] = ()) -> list[str]:
    """The words that are no options nor values of those named."""
    return [word for at, word in enumerate(arguments)
            if not word.startswith("-") and not (at and arguments[at - 1] in valued)]  # fmt: skip


def _go(arguments: list[str], folder: str) -> list[TestRun] | None:
    if arguments[:1] == ["-C"]:
        folder, arguments = _joined(folder, arguments[1]), arguments[2:]
    if arguments[:1] != ["test"]:
        return []
    asked = ["-" + word.lstrip("-") if word.startswith("--") else word for word in arguments[1:]]
    asked = asked[: asked.index("-args")] if "-args" in asked else asked
    chosen = [value for value in _after(asked, "-run") if value not in (".", "", "Test", "^Test")]
    if "-c" in asked or any(
        re.fullmatch(r"\^?(?:\$|XXX|NONE|none|nothing|\^\$)\$?", value) for value in chosen
    ):
        return []
    tags = tuple(tag for value in _after(asked, "-tags") for tag in re.split(r"[ ,]", value) if tag)
    some = bool(chosen) or "-run" in asked[-1:] or bool(_after(asked, "-skip"))
    runs = []
    for package in _plain(asked, _GO_VALUES) or ["."]:
        if "$" in package or not (package.startswith(".") or package == "..."):
            runs.append(TestRun("go", folder, True, tags=tags))  # by import path or unknown: some of them
            continue
        below = package.endswith("...")
        inner = package.removesuffix("...").rstrip("/") or "."
        runs.append(TestRun("go", _joined(folder, inner), some, below, tags))
    return runs


def _cargo(arguments: list[str], folder: str) -> list[TestRun] | None:
    arguments = [word for word in arguments if not word.startswith("+")]
    if arguments[:1] in (["nextest"], ["miri"], ["llvm-cov"], ["hack"], ["tarpaulin"], ["careful"]):
        first = arguments[0]
        arguments = ["test", *(word for word in arguments[1:] if word not in ("run", "test", "nextest"))] if (
            first == "tarpaulin" or {"run", "test", "nextest"} & {*arguments}) else arguments  # fmt: skip
    if arguments[:1] not in (["test"], ["t"]):
        return None if arguments[:1] in (["xtask"], ["make"], ["fuzz"]) else []
    asked = arguments[1:]
    own = asked[: asked.index("--")] if "--" in asked else asked
    if "--no-run" in asked or "--doc" in own:
        return []
    for value in _after(own, "--manifest-path"):
        folder = _joined(folder, posixpath.dirname(value) or ".")
    valued = ("-p", "--package", "--features", "-F", "--manifest-path", "--target", "--test", "--exclude", "-j", "--jobs", "--profile", "--bin", "--example",
              "--color", "--target-dir", "-E", "--partition", "--test-threads", "--retries", "-P", "--bench", "--config")  # fmt: skip
    some = bool(_plain(own, valued)) or any(
        word.startswith(("--test", "--exclude", "-E", "--bin", "--example", "--partition")) for word in own
    )
    behind = asked[asked.index("--") + 1 :] if "--" in asked else []
    some = (
        some
        or bool(_plain(behind, ("--test-threads", "--skip")))
        or "--skip" in behind
        or "--ignored" in behind
    )
    tool = "cargo lib" if "--lib" in own else "cargo"
    packages = _after(own, "-p", "--package")
    if packages:
        return [TestRun(tool, f"{folder}#{package}", some) for package in packages]
    whole = "--workspace" in own or "--all" in own
    return [TestRun(tool, f"{folder}#*" if whole else f"{folder}#", some)]


def _maven(arguments: list[str], folder: str) -> list[TestRun] | None:
    goals = {
        word.rsplit(":", 1)[-1] for word in _plain(arguments, ("-f", "-pl", "-P", "-s", "-T", "-rf", "-am"))
    }
    text = " ".join(arguments)
    if not goals & {"test", "package", "verify", "install", "integration-test", "deploy"} or re.search(
        r"-DskipTests(?!=false)|-Dmaven\.test\.skip(?!=false)|-Pfast\b|-DskipUTs|-Dquick", text):  # fmt: skip
        return []
    for value in _after(arguments, "-f", "--file"):
        folder = _joined(folder, posixpath.dirname(value) if value.endswith(".xml") else value)
    some = bool(re.search(r"-Dtest=|-Dit\.test|-Dgroups|-DexcludedGroups|-pl\b|--projects|-rf\b|\$", text))
    integration = goals & {"verify", "install", "integration-test", "deploy"} and "-DskipITs" not in text
    runs = [TestRun("maven", folder, some)]
    return [*runs, TestRun("maven all", folder, True)] if integration else runs


def _gradle(arguments: list[str], folder: str) -> list[TestRun] | None:
    tasks = _plain(
        arguments, ("-p", "-x", "--exclude-task", "--tests", "--build-file", "-b", "--project-dir", "--scan")
    )
    excluded = _after(arguments, "-x", "--exclude-task")
    for value in _after(arguments, "-p", "--project-dir"):
        folder = _joined(folder, value)
    runs = []
    for task in tasks:
        module, _, name = task.rpartition(":")
        place = _joined(folder, module.strip(":").replace(":", "/") or ".")
        if "$" in task:
            runs.append(TestRun("gradle all", folder, True))
        elif name in ("test", "check", "build") and not {"test", "check"} & {*excluded}:
            some = "--tests" in arguments or any(
                word.startswith("-D") and "test" in word.lower() for word in arguments
            )
            runs.append(TestRun("gradle", place, some))
        elif re.search(r"[tT]est|[cC]heck|verify|ci$", name) and not re.search(
            r"testClasses|compile|jar|assemble|checkstyle|Lint", name, re.I
        ):
            runs.append(TestRun("gradle all", place, True))
    return runs


def _sbt(arguments: list[str], folder: str) -> list[TestRun] | None:
    commands = (
        " ".join(word for word in arguments if not word.startswith(("-J", "-D"))).replace(";", " ").split()
    )
    runs = []
    for command in commands:
        name = command.lstrip("+").rpartition("/")[2].rpartition(":")[2]
        if command.lstrip("+") == "test":
            runs.append(TestRun("sbt", folder, "testOnly" in commands))
        elif re.match(r"test|validate|ci|check|verify|it$", name) and not re.search(
            r"scalafmt|headerCheck|mimaReport|Format", command, re.I
        ):
            runs.append(TestRun("sbt", folder, True))
    return runs


def _paths(
    tool: str, arguments: list[str], folder: str, chosen: bool, valued: tuple[str, ...]
) -> list[TestRun]:
    """A run a path (up to its first wildcard), or one of the folder where none is given."""
    runs = []
    for word in _plain(arguments, valued):
        path = word.partition("::")[0]
        if "$" in path:
            runs.append(TestRun(tool, folder, True))
            continue
        plain = re.split(r"[*{?\[]", path)[0]
        inner = plain if plain == path else plain.rpartition("/")[0]
        runs.append(
            TestRun(tool, _joined(folder, re.sub(r":\d+$", "", inner) or "."), chosen or "::" in word)
        )
    return runs or [TestRun(tool, folder, chosen)]


def _pytest(arguments: list[str], folder: str) -> list[TestRun] | None:
    if {"--collect-only", "--co", "--version", "--fixtures"} & {*arguments}:
        return []
    chosen = any(
        re.match(r"-[km](?:$|=|[\"' ])|--(?:ignore|deselect|ignore-glob|splits?|group|last-failed)\b", word)
        for word in arguments
    )
    valued = ("-k", "-m", "-n", "-c", "-p", "-o", "--cov", "--cov-report", "--ignore", "--deselect", "--timeout", "--junitxml", "--reruns", "--rootdir",
              "--durations", "--dist", "--maxfail", "-W", "--tb", "--cov-config", "--junit-xml", "--log-level", "-r", "--numprocesses", "--splits", "--group")  # fmt: skip
    return _paths("pytest", arguments, folder, chosen, valued)


def _python(arguments: list[str], folder: str) -> list[TestRun] | None:
    while arguments[:1] and arguments[0] in (
        "-u",
        "-b",
        "-bb",
        "-X",
        "-W",
        "-Wd",
        "-Wa",
        "-We",
        "-B",
        "-s",
        "-I",
    ):
        arguments = arguments[2:] if arguments[0] in ("-X", "-W") else arguments[1:]
    if arguments[:1] == ["-m"] and len(arguments) > 1:
        module, rest = arguments[1], arguments[2:]
        if module in ("pytest", "py.test"):
            return _pytest(rest, folder)
        if module == "unittest":
            some = bool(_plain(rest[1:] if rest[:1] == ["discover"] else rest, ("-s", "-p", "-t")))
            inner = (_after(rest, "-s") or ["."])[0]
            return [TestRun("unittest", _joined(folder, inner), some)]
        if module == "coverage" and rest[:1] == ["run"]:
            inner_words = [
                word
                for word in rest[1:]
                if not re.match(r"--?(?:p|source|parallel|branch|rcfile|omit|append|a)\b", word)
            ]
            return _python(inner_words, folder)
        return (
            None
            if module in ("tox", "nox")
            else []
            if module
            in ("pip", "build", "venv", "mypy", "flake8", "black", "ruff", "twine", "pylint", "isort")
            else None
        )
    if arguments[:2] in (["setup.py", "test"],):
        return [TestRun("unittest", folder, False)]
    if arguments[:1] and re.search(_FILES["unittest"], arguments[0]):
        return [TestRun("file", _joined(folder, arguments[0]))]
    return [] if arguments[:1] in (["setup.py"], ["-c"], ["--version"], ["-V"], []) else None


def _javascript(arguments: list[str], folder: str) -> list[TestRun] | None:
    if {"--version", "--help", "--listTests"} & {*arguments}:
        return []
    words = [word for word in arguments if word not in ("run", "watch")]
    chosen = any(
        re.match(
            r"(?:-t|-g|-f|--grep|--fgrep|--testNamePattern|--testPathPattern\w*|--shard|--project|--selectProjects|--exclude|--ignore\w*|--onlyChanged|--changed)\b",
            word,
        )
        for word in words
    )
    valued = ("-t", "-g", "--grep", "-r", "--require", "--timeout", "-c", "--config", "--reporter", "--testPathPattern", "--shard", "--project", "-R", "--ui", "--import", "--loader", "--maxWorkers", "-w", "--retries", "--root")  # fmt: skip
    return _paths("javascript", words, folder, chosen, valued)


def _node(arguments: list[str], folder: str) -> list[TestRun] | None:
    if "--test" in arguments:
        return _javascript([word for word in arguments if word != "--test"], folder)
    file = next(iter(_plain(arguments, ("-r", "--import", "--loader", "--require"))), "")
    return (
        [TestRun("file", _joined(folder, file))]
        if re.search(_FILES["javascript"], file)
        else None
        if file
        else []
    )


def _rspec(arguments: list[str], folder: str) -> list[TestRun] | None:
    chosen = any(
        re.match(r"(?:-e|-t|--tag|--example|--pattern|-P|--exclude-pattern)\b", word) for word in arguments
    )
    return _paths(
        "rspec",
        arguments,
        folder,
        chosen,
        ("-e", "-t", "--tag", "--pattern", "-f", "--format", "-r", "--require", "-o", "--seed"),
    )


def _ruby(arguments: list[str], folder: str) -> list[TestRun] | None:
    file = next(iter(_plain(arguments, ("-I", "-r", "-e", "-W"))), "")
    return (
        [TestRun("file", _joined(folder, file))]
        if re.search(_FILES["minitest"], file)
        else None
        if file
        else []
    )


def _mix(arguments: list[str], folder: str) -> list[TestRun] | None:
    if arguments[:1] == ["do"]:
        parts = [part.split() for part in re.split(r",| \+ ", " ".join(arguments[1:]))]
        read = [_mix(part, folder) for part in parts if part]
        return None if any(part is None for part in read) else [run for part in read for run in part or ()]
    if arguments[:1] not in (["test"], ["coveralls"]) and not (
        arguments and arguments[0].startswith(("coveralls.", "test."))
    ):
        known = r"(?:deps|compile|format|credo|dialyzer|local|hex|docs|ecto|archive|help|phx|sobelow|doctor|inch|release|escript|xref|clean)(?:\.|$)"
        return [] if not arguments or re.match(known, arguments[0]) else None
    if arguments[0].startswith("test."):
        return None
    chosen = any(
        re.match(r"--(?:only|exclude|include|partitions|failed|stale)\b", word) for word in arguments[1:]
    )
    chosen = (
        any(
            word.startswith(("--only", "--exclude", "--partitions", "--failed", "--stale"))
            for word in arguments[1:]
        )
        and chosen
    )
    return _paths(
        "mix",
        arguments[1:],
        folder,
        chosen,
        ("--only", "--exclude", "--include", "--seed", "--max-failures", "--max-cases", "--partitions"),
    )


def _rebar(arguments: list[str], folder: str) -> list[TestRun] | None:
    runs = []
    for word in " ".join(_plain(arguments)).replace(",", " ").split():
        chosen = any(
            option.startswith(("--suite", "--dir", "--group", "--case", "--module", "--app", "--spec"))
            for option in arguments
        )
        if word == "ct":
            runs.append(TestRun("common test", folder, chosen))
        elif word == "eunit":
            runs.append(TestRun("eunit", folder, chosen))
        elif word in ("proper", "check", "alias", "test", "ci"):
            runs.append(TestRun("eunit", folder, True))
    return runs


def _phpunit(arguments: list[str], folder: str) -> list[TestRun] | None:
    chosen = any(re.match(r"--(?:filter|group|exclude-group|testsuite)\b", word) for word in arguments)
    return _paths(
        "phpunit",
        arguments,
        folder,
        chosen,
        (
            "-c",
            "--configuration",
            "--filter",
            "--group",
            "--exclude-group",
            "--testsuite",
            "-d",
            "--bootstrap",
        ),
    )


def _dotnet(arguments: list[str], folder: str) -> list[TestRun] | None:
    if arguments[:1] == ["run"]:
        return None
    if arguments[:1] not in (["test"], ["vstest"]):
        return []
    arguments = arguments[: arguments.index("--")] if "--" in arguments else arguments
    valued = ("-c", "--configuration", "-f", "--framework", "--logger", "-l", "-v", "--verbosity", "--filter", "-s", "--settings", "-o", "--results-directory", "-r", "--collect", "-m", "-p")  # fmt: skip
    chosen = any(word.startswith("--filter") for word in arguments)
    runs = []
    for path in _plain(arguments[1:], valued):
        if "$" in path or "*" in path:
            runs.append(TestRun("dotnet", folder, True))
        elif re.search(r"\.(?:slnx?|slnf)$", path):
            runs.append(TestRun("dotnet", _joined(folder, posixpath.dirname(path) or "."), chosen))
        else:
            inner = posixpath.dirname(path) if path.endswith("proj") else path
            runs.append(TestRun("dotnet", _joined(folder, inner or "."), chosen))
    return runs or [TestRun("dotnet", folder, chosen)]


def _swift(arguments: list[str], folder: str) -> list[TestRun] | None:
    if arguments[:1] != ["test"]:
        return []
    return [TestRun("swift", folder, bool({"--filter", "--skip"} & {*arguments}))]


def _zig(arguments: list[str], folder: str) -> list[TestRun] | None:
    if arguments[:1] == ["test"]:
        return [TestRun("zig", folder, True)]
    steps = _plain(arguments[1:])
    if arguments[:1] != ["build"] or not steps:
        return []
    # a root file imports the others: which of them, the command does not say
    return (
        [TestRun("zig", folder, True)]
        if any(re.search(r"test|ci|check|fuzz", step) for step in steps)
        else []
    )


def _bazel(arguments: list[str], folder: str) -> list[TestRun] | None:
    if not {"test", "coverage"} & {*arguments}:
        return []
    chosen = any(
        re.match(r"--(?:test_tag_filters|test_filter|test_lang_filters)\b|-//", word) for word in arguments
    )
    runs = []
    for target in (word for word in arguments if word.startswith(("//", "...", ":"))):
        inner = target.removeprefix("//").partition(":")[0].removesuffix("...").rstrip("/")
        runs.append(TestRun("bazel", _joined(folder, inner or "."), chosen or not target.endswith("...")))
    return runs or [TestRun("bazel", folder, True)]


def _one(tool: str, *, some: bool = False, asked: str = "") -> Reader:
    return lambda arguments, folder: (
        [TestRun(tool, folder, some)]
        if not asked or any(re.fullmatch(asked, word) for word in arguments)
        else []
    )


from collections.abc import Callable  # noqa: E402

Reader = Callable[[list[str], str], list[TestRun] | None]
_READERS: dict[str, Reader] = {
    "go": _go, "cargo": _cargo, "cross": _cargo, "mvn": _maven, "mvnw": _maven, "gradle": _gradle, "gradlew": _gradle, "sbt": _sbt, "pytest": _pytest, "py.test": _pytest,
    "python": _python, "python3": _python, "jest": _javascript, "vitest": _javascript, "mocha": _javascript, "ava": _javascript, "tap": _javascript, "tape": _javascript,
    "_mocha": _javascript, "jasmine": _javascript, "node": _node, "tsx": _node, "ts-node": _node, "rspec": _rspec, "ruby": _ruby, "mix": _mix, "rebar3": _rebar, "phpunit": _phpunit, "simple-phpunit": _phpunit,
    "pest": _phpunit, "dotnet": _dotnet, "swift": _swift, "zig": _zig, "bazel": _bazel, "bazelisk": _bazel, "lein": _one("lein", asked="test|test-all"), "ctest": _one("ctest"),
}  # fmt: skip
