"""Orders what a toolbox found: kinds in turn, each with its share, the most telling of a kind first."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from refute.repository.harnesses import telling
from refute.repository.models import ToolboxEntry

# How many of a kind are kept, in the order of the kinds in each turn.
_SHARE = {
    "test-runner": 22, "linearizability": 10, "simulation": 10, "fault-injection": 32, "e2e": 16, "integration": 26, "fuzz": 10, "oracle": 8, "formal-model": 4,
    "ci": 20, "compose": 10, "fault-hook": 22, "runbook": 22, "diagnostic": 8, "monitoring": 4, "benchmark": 12, "unit": 20, "agent-instructions": 4,
}  # fmt: skip
_TURNS = 6
_TESTING_CI = re.compile(r"test|\bci\b|build|main|package|smoke|integration|fuzz|chaos|e2e|nightly|weekly|daily|stress|check|jepsen|pr-|post-commit|validation", re.I)  # fmt: skip
_OTHER_CI = re.compile(r"lint|stale|label|release|publish|docker|codeql|scorecard|changelog|docs|semgrep|pre-?commit|comment|review|update|format|headers|licen|oci|allowlist|analysis", re.I)  # fmt: skip
_RUNS_ALL = re.compile(
    r"^(?:run[-_]?)?(?:all[-_]?)?(?:tests?|checks?|unit|suites?)\b|test|chaos|fault|stress|crash|jepsen", re.I
)
_GUARDS_STYLE = re.compile(r"licen|style|lint|format|redact|docs?\b|docker|dashboard|headers?|depend|build-opts|bins|commit|buck|source", re.I)  # fmt: skip
_OPERATING = re.compile(r"post-?mortem|runbook|workers|operat|disaster|recovery|devops|split-?brain|fault|data-?loss|stress|testing|chaos|jepsen", re.I)  # fmt: skip


def ranked(entries: Iterable[ToolboxEntry]) -> list[ToolboxEntry]:
    """Kinds in turn, each with its share, so that no kind drowns the others; `n log n` in the entries."""
    by_kind: dict[str, list[ToolboxEntry]] = defaultdict(list)
    seen: set[tuple[str, str]] = set()
    for entry in entries:
        if (entry.kind, entry.path) not in seen or _is_target(entry):
            seen.add((entry.kind, entry.path))
            by_kind[entry.kind].append(entry)
    for kind, rows in by_kind.items():
        by_kind[kind] = _without_copies_first(sorted(rows, key=_worth))[: _SHARE[kind]]
    order: list[ToolboxEntry] = []
    for turn in range(_TURNS + 1):
        for kind, share in _SHARE.items():
            each = max(1, share // _TURNS)
            end = None if turn == _TURNS else (turn + 1) * each
            order += by_kind.get(kind, [])[turn * each : end]
    return order


def _is_target(entry: ToolboxEntry) -> bool:
    """A target of a build file is an entry of its own, though the file has others of the same kind."""
    return entry.kind != "test-runner" and entry.command.startswith(("make ", "just "))


def _without_copies_first(rows: list[ToolboxEntry]) -> list[ToolboxEntry]:
    """The first of each family before its siblings: modules with one tool, jobs of one name for each version."""
    firsts: list[ToolboxEntry] = []
    later: list[ToolboxEntry] = []
    seen: set[str] = set()
    for entry in rows:
        family = _family(entry)
        (later if family in seen else firsts).append(entry)
        seen.add(family)
    return firsts + later


def _family(entry: ToolboxEntry) -> str:
    name = entry.path.rsplit("/", 1)[-1]
    if entry.kind == "test-runner" and ":" in entry.name:
        return name
    if entry.kind == "ci":
        return re.sub(r"\d+(?:\.\d+)*(?:\.x)?", "#", entry.path)
    if _is_target(entry) or entry.name.endswith("/"):
        return entry.path
    return (
        re.sub(r"\d+|(?<=[a-z])With[A-Z]\w*|(?<=[a-z])Using[A-Z]\w*", "#", name)
        if entry.kind != "runbook"
        else entry.path
    )


def _worth(entry: ToolboxEntry) -> tuple[float, str]:
    """The smaller, the sooner."""
    name = entry.path.rsplit("/", 1)[-1]
    depth = min(entry.path.count("/"), 6)
    worth = depth * (0.25 if "/src/" in entry.path else 0.4)
    worth -= 1.0 if entry.name.endswith("/") else 0.0
    worth -= telling(name if not entry.name.endswith("/") else name + ".")
    found = re.match(r"(\d+) tests?, (\d+)", entry.what)
    if found:
        worth -= min(int(found.group(1)), 40) * 0.02 + min(int(found.group(2)), 20) * 0.05
        worth += (
            1.0 if entry.name.endswith("/") and found.group(1) == "0" and entry.kind == "integration" else 0.0
        )
    if entry.path.startswith(("docs/", "doc/", "examples/", "website/")) and entry.kind != "runbook":
        worth += 1.5
    if entry.kind == "test-runner":
        worth -= 1.5 if entry.command else 0.0
        worth -= 1.0 if _RUNS_ALL.search(name) else 0.0
        worth -= 2.0 if entry.needs and depth == 0 else 0.0
        worth += 1.5 if _GUARDS_STYLE.search(name) else 0.0
    if entry.kind == "ci":
        worth -= 1.5 if _TESTING_CI.search(name) else 0.0
        worth += 2.0 if _OTHER_CI.search(name) else 0.0
    if entry.kind == "runbook":
        worth -= 1.5 if _OPERATING.search(name) else 0.75 if _OPERATING.search(entry.path) else 0.0
    worth -= 1.0 if entry.what == "what a harness is made of" else 0.0
    if entry.kind == "fault-hook":
        hooks = re.match(r"(\d) or more hooks", entry.what)
        worth -= 0.1 * int(hooks.group(1)) if hooks else 0.0
        worth += 1.0 if entry.name.startswith(("#include", "import ", "use ", "from ")) else 0.0
    return worth, entry.path
