"""Input made to be slow: no file may hold up the reading of the rest."""

from __future__ import annotations

import pytest

from refute.repository import syntax
from refute.repository.facts import FileFacts, read_facts
from refute.repository.marks import find_marks
from refute.repository.obeyed_comments import comments_are_code
from refute.repository.runners import entries_of_file

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


SLOW_TO_TELL = {
    ".github/workflows/a.yml": "\n" * 400_000,
    "Rakefile": "\n" * 400_000,
    "mix.exs": "aliases: [\n" * 40_000,
    "package.json": '{"scripts":' * 30_000 + "1" + "}" * 30_000,
}


@pytest.mark.parametrize("path", SLOW_TO_TELL)
def test_a_build_file_made_to_be_slow_is_answered(path: str) -> None:
    """Where white space is looked through from each line anew, or brackets are followed to the end, this does not end."""
    assert len(list(entries_of_file(path, SLOW_TO_TELL[path]))) <= 1


def test_white_space_above_a_telling_line_is_passed_over_once() -> None:
    text = "\n" * 300_000 + " get '/jobs' do\n" + (" " * LINE + "\n") * 20 + "openapi: 3.0\n"
    assert [kind for kind, _, _ in find_marks(text.split("\n"))] == ["rest", "rest"]


def test_comments_above_c_in_go_are_looked_for_once() -> None:
    assert not comments_are_code("\n" * 300_000 + "x", "go")


def test_a_file_whose_errors_a_grammar_recovers_from_too_slowly_is_read_for_its_comments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Four hundred kilobytes of this took the grammar of Kotlin five minutes, and 1.5 MB would have taken it an hour."""
    monkeypatch.setattr(syntax, "_LONGEST_S", 0.2)
    monkeypatch.setattr(syntax, "_LONGEST_S_A_MB", 0.0)
    text = "a :\n" * 60_000 + "// An acknowledged write must never be lost.\n"
    facts = read_facts("a.kt", text.encode())
    assert facts.notes == ("syntax that takes too long to parse",)
    assert [row.text for row in facts.statements] == ["An acknowledged write must never be lost."]
    assert read_facts("a.kt", b"val a = 1 // one\n").definitions
