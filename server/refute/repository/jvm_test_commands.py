"""Tells which tests a command of Maven, Gradle or sbt runs, as far as it says."""

from __future__ import annotations

import posixpath
import re

from refute.repository.command_words import joined, plain_words, values_of
from refute.repository.test_runs import TestRun


def maven_runs(arguments: list[str], folder: str) -> list[TestRun] | None:
    """What it runs: by goals; None where that is not known."""
    goals = {
        word.rsplit(":", 1)[-1]
        for word in plain_words(arguments, ("-f", "-pl", "-P", "-s", "-T", "-rf", "-am"))
    }
    text = " ".join(arguments)
    if not goals & {"test", "package", "verify", "install", "integration-test", "deploy"} or re.search(
        r"-DskipTests(?!=false)|-Dmaven\.test\.skip(?!=false)|-Pfast\b|-DskipUTs|-Dquick", text):  # fmt: skip
        return []
    for value in values_of(arguments, "-f", "--file"):
        folder = joined(folder, posixpath.dirname(value) if value.endswith(".xml") else value)
    some = bool(re.search(r"-Dtest=|-Dit\.test|-Dgroups|-DexcludedGroups|-pl\b|--projects|-rf\b|\$", text))
    integration = goals & {"verify", "install", "integration-test", "deploy"} and "-DskipITs" not in text
    runs = [TestRun("maven", folder, some)]
    return [*runs, TestRun("maven all", folder, True)] if integration else runs


def gradle_runs(arguments: list[str], folder: str) -> list[TestRun] | None:
    """What it runs: by tasks; None where that is not known."""
    tasks = plain_words(
        arguments, ("-p", "-x", "--exclude-task", "--tests", "--build-file", "-b", "--project-dir", "--scan")
    )
    excluded = values_of(arguments, "-x", "--exclude-task")
    for value in values_of(arguments, "-p", "--project-dir"):
        folder = joined(folder, value)
    if {"--dry-run", "-m"} & {*arguments}:
        return []
    runs = []
    for task in tasks:
        module, _, name = task.rpartition(":")
        place = joined(folder, module.strip(":").replace(":", "/") or ".")
        if "$" in task:
            runs.append(TestRun("gradle all", folder, True))
        elif name in ("test", "check", "build") and not {"test", "check"} & {*excluded}:
            some = (
                any(word.startswith("--tests") for word in arguments)
                or bool(excluded)
                or any(word.startswith("-D") and "test" in word.lower() for word in arguments)
            )
            runs.append(TestRun("gradle", place, some))
        elif re.search(r"[tT]est|[cC]heck|verify|ci$", name) and not re.search(
            r"testClasses|compile|jar|assemble|checkstyle|Lint", name, re.I
        ):
            runs.append(TestRun("gradle all", place, True))
    return runs


def sbt_runs(arguments: list[str], folder: str) -> list[TestRun] | None:
    """What it runs: by commands; None where that is not known."""
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
