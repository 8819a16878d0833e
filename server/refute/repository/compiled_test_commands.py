"""Tells which tests a command of Go, Cargo, .NET, Swift, Zig or Bazel runs, as far as it says."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import posixpath
import re

from refute.repository.command_words import joined, plain_words, values_of
from refute.repository.test_runs import TestRun

_GO_VALUES = frozenset({"-run", "-skip", "-tags", "-timeout", "-count", "-parallel", "-p", "-coverprofile", "-covermode", "-coverpkg", "-bench", "-benchtime", "-cpu", "-mod", "-ldflags", "-o", "-exec", "-vet", "-shuffle", "-args", "-gcflags", "-asmflags"})  # fmt: skip


def go_runs(arguments: list[str], folder: str) -> list[TestRun] | None:
    """What it runs: packages by folder; None where that is not known."""
    if arguments[:1] == ["-C"]:
        folder, arguments = joined(folder, arguments[1]), arguments[2:]
    if arguments[:1] != ["test"]:
        return []
    asked = ["-" + word.lstrip("-") if word.startswith("--") else word for word in arguments[1:]]
    asked = [re.sub(r"^-test\.", "-", word) for word in asked]
    asked = asked[: asked.index("-args")] if "-args" in asked else asked
    chosen = [value for value in values_of(asked, "-run") if value not in (".", "", "Test", "^Test")]
    if (
        {"-c", "-list"} & {*asked}
        or "-list=" in " ".join(asked)
        or any(re.fullmatch(r"\^?(?:\$|XXX|NONE|none|nothing|\^\$)\$?", value) for value in chosen)
    ):
        return []
    tags = tuple(tag for value in values_of(asked, "-tags") for tag in re.split(r"[ ,]", value) if tag)
    some = bool(chosen) or "-run" in asked[-1:] or bool(values_of(asked, "-skip"))
    runs = []
    for package in plain_words(asked, _GO_VALUES) or ["."]:
        if "$" in package or not (package.startswith(".") or package == "..."):
            runs.append(TestRun("go", folder, True, tags=tags))  # by import path or unknown: some of them
            continue
        below = package.endswith("...")
        inner = package.removesuffix("...").rstrip("/") or "."
        runs.append(TestRun("go", joined(folder, inner), some, below, tags))
    return runs


def cargo_runs(arguments: list[str], folder: str) -> list[TestRun] | None:
    """What it runs: `folder#package`, `folder#*` for a workspace, `folder#` for what stands there; None where that is not known."""
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
    for value in values_of(own, "--manifest-path"):
        folder = joined(folder, posixpath.dirname(value) or ".")
    valued = ("-p", "--package", "--features", "-F", "--manifest-path", "--target", "--test", "--exclude", "-j", "--jobs", "--profile", "--bin", "--example",
              "--color", "--target-dir", "-E", "--partition", "--test-threads", "--retries", "-P", "--bench", "--config")  # fmt: skip
    some = bool(plain_words(own, valued)) or any(
        word.startswith(("--test", "--exclude", "-E", "--bin", "--example", "--partition")) for word in own
    )
    behind = asked[asked.index("--") + 1 :] if "--" in asked else []
    some = (
        some
        or bool(plain_words(behind, ("--test-threads", "--skip")))
        or "--skip" in behind
        or "--ignored" in behind
    )
    tool = "cargo lib" if "--lib" in own else "cargo"
    packages = values_of(own, "-p", "--package")
    if packages:
        return [TestRun(tool, f"{folder}#{package}", some) for package in packages]
    whole = "--workspace" in own or "--all" in own
    return [TestRun(tool, f"{folder}#*" if whole else f"{folder}#", some)]


def dotnet_runs(arguments: list[str], folder: str) -> list[TestRun] | None:
    """What it runs: of a project, a solution or a folder; None where that is not known."""
    if arguments[:1] == ["run"]:
        return None
    if arguments[:1] not in (["test"], ["vstest"]):
        return []
    arguments = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if {"--list-tests", "-t"} & {*arguments}:
        return []
    valued = ("-c", "--configuration", "-f", "--framework", "--logger", "-l", "-v", "--verbosity", "--filter", "-s", "--settings", "-o", "--results-directory", "-r", "--collect", "-m", "-p")  # fmt: skip
    chosen = any(word.startswith("--filter") for word in arguments)
    runs = []
    for path in plain_words(arguments[1:], valued):
        if "$" in path or "*" in path:
            runs.append(TestRun("dotnet", folder, True))
        elif re.search(r"\.(?:slnx?|slnf)$", path):
            runs.append(TestRun("dotnet", joined(folder, posixpath.dirname(path) or "."), chosen))
        else:
            inner = posixpath.dirname(path) if path.endswith("proj") else path
            runs.append(TestRun("dotnet", joined(folder, inner or "."), chosen))
    return runs or [TestRun("dotnet", folder, chosen)]


def swift_runs(arguments: list[str], folder: str) -> list[TestRun] | None:
    """What it runs: of the package; None where that is not known."""
    if arguments[:1] != ["test"]:
        return []
    return [TestRun("swift", folder, any(word.startswith(("--filter", "--skip")) for word in arguments))]


def zig_runs(arguments: list[str], folder: str) -> list[TestRun] | None:
    """What it runs: of a step; None where that is not known."""
    if arguments[:1] == ["test"]:
        return [TestRun("zig", folder, True)]
    steps = plain_words(arguments[1:])
    if arguments[:1] != ["build"] or not steps:
        return []
    # a root file imports the others: which of them, the command does not say
    return (
        [TestRun("zig", folder, True)]
        if any(re.search(r"test|ci|check|fuzz", step) for step in steps)
        else []
    )


def bazel_runs(arguments: list[str], folder: str) -> list[TestRun] | None:
    """What it runs: of targets; None where that is not known."""
    if not {"test", "coverage"} & {*arguments}:
        return []
    chosen = any(
        re.match(r"--(?:test_tag_filters|test_filter|test_lang_filters)\b|-//", word) for word in arguments
    )
    runs = []
    for target in (word for word in arguments if word.startswith(("//", "...", ":"))):
        inner = target.removeprefix("//").partition(":")[0].removesuffix("...").rstrip("/")
        runs.append(TestRun("bazel", joined(folder, inner or "."), chosen or not target.endswith("...")))
    return runs or [TestRun("bazel", folder, True)]
