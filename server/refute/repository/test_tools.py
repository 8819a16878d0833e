"""Tells which tests one command runs, by the tool that it starts."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from refute.repository.compiled_test_commands import (
    bazel_runs,
    cargo_runs,
    dotnet_runs,
    go_runs,
    swift_runs,
    zig_runs,
)
from refute.repository.jvm_test_commands import gradle_runs, maven_runs, sbt_runs
from refute.repository.scripted_test_commands import (
    javascript_runs,
    mix_runs,
    node_runs,
    pattern_runs,
    phpunit_runs,
    pytest_runs,
    python_runs,
    rebar_runs,
    rspec_runs,
    ruby_runs,
)
from refute.repository.test_runs import TestRun

Reader = Callable[[list[str], str], list[TestRun] | None]


def runs_of(words: Sequence[str], folder: str) -> list[TestRun] | None:
    """What a command that is a test tool runs; None where it is none, an empty list where it runs no tests."""
    tool, arguments = words[0].rsplit("/", 1)[-1], list(words[1:])
    reader = _READERS.get(tool)
    return reader(arguments, folder) if reader else None


def _one(tool: str, *, some: bool = False, asked: str = "") -> Reader:
    return lambda arguments, folder: (
        [TestRun(tool, folder, some)]
        if not asked or any(re.fullmatch(asked, word) for word in arguments)
        else []
    )


_READERS: dict[str, Reader] = {
    "go": go_runs, "cargo": cargo_runs, "cross": cargo_runs, "mvn": maven_runs, "mvnw": maven_runs, "gradle": gradle_runs, "gradlew": gradle_runs, "sbt": sbt_runs, "pytest": pytest_runs, "py.test": pytest_runs,
    "python": python_runs, "python3": python_runs, "jest": pattern_runs, "vitest": pattern_runs, "mocha": javascript_runs, "ava": javascript_runs, "tap": javascript_runs, "tape": javascript_runs,
    "_mocha": javascript_runs, "jasmine": javascript_runs, "node": node_runs, "tsx": node_runs, "ts-node": node_runs, "rspec": rspec_runs, "ruby": ruby_runs, "mix": mix_runs, "rebar3": rebar_runs, "phpunit": phpunit_runs, "simple-phpunit": phpunit_runs,
    "pest": phpunit_runs, "dotnet": dotnet_runs, "swift": swift_runs, "zig": zig_runs, "bazel": bazel_runs, "bazelisk": bazel_runs, "lein": _one("lein", some=False, asked="test|test-all"), "ctest": _one("ctest", some=True),
}  # fmt: skip
