"""Reads the shell steps of a Jenkins pipeline."""

from __future__ import annotations

import re
from collections.abc import Iterator

from refute.repository.ci_steps import Answer, CiStep

_LONGEST_PIPELINE = 100_000
_JENKINS = re.compile(
    r"\b(?:sh|bat)\s*\(?\s*(?:script\s*:\s*)?(?:'''(.{0,4000}?)'''|\"\"\"(.{0,4000}?)\"\"\"|'([^'\n]*)'|\"([^\"\n]*)\")",
    re.S,
)


def jenkins_steps(path: str, text: str) -> Iterator[CiStep]:
    """What starts a pipeline is set on a server, unless it names triggers itself."""
    text = text[:_LONGEST_PIPELINE]
    automatic: Answer = (
        "yes" if re.search(r"\btriggers\s*\{[^}]*(?:cron|pollSCM|githubPush)", text) else "unknown"
    )
    text = re.sub(r"(?m)^\s*//.*$", "", text)
    if automatic == "yes" and re.search(r"\bwhen\s*\{", text):
        automatic = "unknown"
    for found in _JENKINS.finditer(text):
        script = next(group for group in found.groups() if group is not None)
        yield CiStep(path, text.count("\n", 0, found.start()) + 1, script, "", automatic)
    for found in re.finditer(r"\bmaven\s*:|withMaven|\bgoals\s*[:=]", text):
        yield CiStep(
            path,
            text.count("\n", 0, found.start()) + 1,
            automatic=automatic,
            why=f"a step of {path} is not read",
        )
