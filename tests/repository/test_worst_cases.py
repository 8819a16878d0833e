"""Input made to be slow: no file may hold up the reading of the rest."""

from __future__ import annotations

import pytest

from refute.repository.facts import FileFacts, read_facts

LINE = 19_000
SLOW = {
    "brackets.md": "[" * LINE,
    "stars.md": "*a " * (LINE // 3),
    "roles.rst": ":a" * (LINE // 2),
    "tags.md": "<" * LINE,
    "words.md": "must never " * (LINE // 11),
    "dots.md": "A. " * (LINE // 3),
    "strings.go": 'panic("' + "\\" * 500,
    "parens.py": "assert(" * 80,
    "comment.c": "/*" + "*" * LINE,
    "unique.md": "node " * (LINE // 5) + "unique",
    "conditions.md": "if a " * (LINE // 5),
    "setting.conf": "# a\n" + "a" * LINE,
    "nested.js": "(" * 2_000,
}


@pytest.mark.parametrize("name", SLOW)
def test_a_file_made_to_be_slow_is_answered(name: str) -> None:
    """Where a pattern backtracks without bound, this does not end."""
    facts = read_facts(name, ((SLOW[name] + "\n") * 8).encode())
    assert facts.lines == SLOW[name].count("\n") * 8 + 9
    assert FileFacts.from_json(facts.to_json()) == facts
