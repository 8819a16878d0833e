"""Tells which tests a command of Python, JavaScript, Ruby, PHP, Elixir or Erlang runs, as far as it says."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re

from refute.repository.command_words import joined, plain_words, values_of
from refute.repository.test_runs import TEST_FILES, TestRun


def _paths(
    tool: str, arguments: list[str], folder: str, chosen: bool, valued: tuple[str, ...]
) -> list[TestRun]:
    """A run a path (up to its first wildcard), or one of the folder where none is given."""
    runs = []
    for word in plain_words(arguments, valued):
        path = word.partition("::")[0]
        if "$" in path:
            runs.append(TestRun(tool, folder, True))
            continue
        plain = re.split(r"[*{?\[]", path)[0]
        inner = plain if plain == path else plain.rpartition("/")[0]
        runs.append(TestRun(tool, joined(folder, re.sub(r":\d+$", "", inner) or "."), chosen or "::" in word))
    return runs or [TestRun(tool, folder, chosen)]


def pytest_runs(arguments: list[str], folder: str) -> list[TestRun] | None:
    """What it runs: by paths; None where that is not known."""
    if {"--collect-only", "--co", "--version", "--fixtures"} & {*arguments}:
        return []
    chosen = any(
        re.match(r"-[km](?:$|=|[\"' ])|--(?:ignore|deselect|ignore-glob|splits?|group|last-failed)\b", word)
        for word in arguments
    )
    valued = ("-k", "-m", "-n", "-c", "-p", "-o", "--cov", "--cov-report", "--ignore", "--deselect", "--timeout", "--junitxml", "--reruns", "--rootdir",
              "--durations", "--dist", "--maxfail", "-W", "--tb", "--cov-config", "--junit-xml", "--log-level", "-r", "--numprocesses", "--splits", "--group")  # fmt: skip
    return _paths("pytest", arguments, folder, chosen, valued)


def python_runs(arguments: list[str], folder: str) -> list[TestRun] | None:
    """What it runs: by module or file; None where that is not known."""
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
            return pytest_runs(rest, folder)
        if module == "unittest":
            some = bool(plain_words(rest[1:] if rest[:1] == ["discover"] else rest, ("-s", "-p", "-t")))
            inner = (values_of(rest, "-s") or ["."])[0]
            return [TestRun("unittest", joined(folder, inner), some)]
        if module == "coverage" and rest[:1] == ["run"]:
            inner_words = [
                word
                for word in rest[1:]
                if not re.match(r"--?(?:p|source|parallel|branch|rcfile|omit|append|a)\b", word)
            ]
            return python_runs(inner_words, folder)
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
    if arguments[:1] and re.search(TEST_FILES["unittest"], arguments[0]):
        return [TestRun("file", joined(folder, arguments[0]))]
    return [] if arguments[:1] in (["setup.py"], ["-c"], ["--version"], ["-V"], []) else None


def javascript_runs(arguments: list[str], folder: str) -> list[TestRun] | None:
    """What it runs: of a runner, by paths; None where that is not known."""
    if {"--version", "--help", "--listTests", "bench"} & {*arguments}:
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


def pattern_runs(arguments: list[str], folder: str) -> list[TestRun] | None:
    """What Jest or Vitest runs, whose words are patterns of paths: with any of them, some of the tests."""
    runs = javascript_runs(arguments, folder)
    return (
        runs if runs in ([], [TestRun("javascript", folder)]) else [TestRun("javascript", folder, some=True)]
    )


def node_runs(arguments: list[str], folder: str) -> list[TestRun] | None:
    """What it runs: of a file, or of its own runner; None where that is not known."""
    if "--test" in arguments:
        return javascript_runs([word for word in arguments if word != "--test"], folder)
    file = next(iter(plain_words(arguments, ("-r", "--import", "--loader", "--require"))), "")
    return (
        [TestRun("file", joined(folder, file))]
        if re.search(TEST_FILES["javascript"], file)
        else None
        if file
        else []
    )


def rspec_runs(arguments: list[str], folder: str) -> list[TestRun] | None:
    """What it runs: by paths; None where that is not known."""
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


def ruby_runs(arguments: list[str], folder: str) -> list[TestRun] | None:
    """What it runs: of one file; None where that is not known."""
    file = next(iter(plain_words(arguments, ("-I", "-r", "-e", "-W"))), "")
    return (
        [TestRun("file", joined(folder, file))]
        if re.search(TEST_FILES["minitest"], file)
        else None
        if file
        else []
    )


def mix_runs(arguments: list[str], folder: str) -> list[TestRun] | None:
    """What it runs: by paths; None where that is not known."""
    if arguments[:1] == ["do"]:
        parts = [part.split() for part in re.split(r",| \+ ", " ".join(arguments[1:]))]
        read = [mix_runs(part, folder) for part in parts if part]
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


def rebar_runs(arguments: list[str], folder: str) -> list[TestRun] | None:
    """What it runs: by commands; None where that is not known."""
    runs = []
    for word in " ".join(plain_words(arguments)).replace(",", " ").split():
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


def phpunit_runs(arguments: list[str], folder: str) -> list[TestRun] | None:
    """What it runs: by paths; None where that is not known."""
    if {"--list-tests", "--list-suites", "--version"} & {*arguments}:
        return []
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
