"""Reads the names of what a build file can be asked for: targets, recipes, steps, aliases, tasks, scripts."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import json
import re
from collections.abc import Iterator

_PATTERNS: dict[str, tuple[str, re.Pattern[str]]] = {
    "build.zig": ("zig build", re.compile(r"\.step\(\s*\"([\w:.-]+)\"")),
    "build.sbt": ("sbt", re.compile(r"addCommandAlias\(\s*(?:name\s*=\s*)?\"([\w-]+)\"")),
    "rakefile": (
        "bundle exec rake",
        re.compile(r"(?:RSpec::Core::Rake|Minitest::Test|Rake::Test)Task\.(?:new|create)(?:\s*\(?\s*[:\"'](\w+))?|^[ \t]*task\s*\(?\s*[:\"']?([\w:]+)", re.M),
    ),
}  # fmt: skip
_BEGINS_ALIASES = re.compile(r"\baliases(?:\(\))?\s*(?:do\s*|:\s*|,\s*do:\s*)\[")
_ENDS_ALIASES = re.compile(r"\n[ \t]*\]")
_ALIAS = re.compile(r"(?:^|[\[,\n])[ \t]*\"?([a-z][\w.]*)\"?:\s*(?=[\[\"&])")


def tasks_in(name: str, text: str) -> tuple[str, list[tuple[str, int]]]:
    """How tasks of the build file of that (small) name are asked for, and each with its line; nothing is run."""
    if name == "mix.exs":
        return "mix", list(_aliases(text))
    if name == "composer.json":
        return "composer", list(_scripts(text))
    if name not in _PATTERNS:
        return "", []
    command, pattern = _PATTERNS[name]
    found = []
    for match in pattern.finditer(text):
        task = match[match.lastindex] if match.lastindex else "spec" if "RSpec" in match[0] else "test"
        found.append((task, text.count("\n", 0, match.start(match.lastindex or 0)) + 1))
    return command, found


def _aliases(text: str) -> Iterator[tuple[str, int]]:
    """Of the first list of that name: up to the last bracket of its line, or up to one that stands first in a line."""
    begun = _BEGINS_ALIASES.search(text)
    if begun is None:
        return
    start, line = begun.end(), text[begun.end() :].partition("\n")[0]
    ended = _ENDS_ALIASES.search(text, start)
    end = start + line.rfind("]") if line.strip() else ended.start() if ended else start
    for match in _ALIAS.finditer(text, start - 1, end):
        yield match.group(1), text.count("\n", 0, match.start(1)) + 1


def _scripts(text: str) -> Iterator[tuple[str, int]]:
    try:
        scripts = json.loads(text).get("scripts", {})
    except (ValueError, AttributeError, RecursionError):
        return
    for name in scripts if isinstance(scripts, dict) else ():
        line = next((n for n, row in enumerate(text.split("\n"), 1) if f'"{name}"' in row), 1)
        yield name, line
