"""Finds the files that CI servers begin with, and the steps of their jobs."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from refute.repository.ci_steps import CiStep
from refute.repository.github_jobs import github_steps
from refute.repository.jenkins_jobs import jenkins_steps
from refute.repository.other_ci_jobs import other_steps

MOST_STEPS = 20_000


def steps_in(files: Mapping[str, str]) -> Iterator[CiStep]:
    """The steps of all CI files, of which `files` gives the texts; actions of the repository are followed.

    At most 20,000: files that call each other could make any number of a few lines.
    """
    yield from itertools.islice(_steps(files), MOST_STEPS)


def _steps(files: Mapping[str, str]) -> Iterator[CiStep]:
    workflows = {path: text for path, text in files.items() if path.startswith(".github/workflows/")}
    yield from github_steps(workflows, files)
    for path, text in files.items():
        name = path.rsplit("/", 1)[-1]
        if path.startswith(".github/"):
            continue
        if name.startswith("Jenkinsfile"):
            yield from jenkins_steps(path, text)
        elif name.endswith((".yml", ".yaml")) and _is_entry(path):
            left_over = (
                "unknown" if workflows and name in (".travis.yml", "appveyor.yml", ".appveyor.yml") else "yes"
            )
            for step in other_steps(path, text):
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
