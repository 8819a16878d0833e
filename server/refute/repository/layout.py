"""Tells whether lines of code were only laid out anew: the same tokens, cut into lines where that means nothing."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

from refute.repository.file_kinds import GRAMMARS, INTERFACES

# signs that stand together are one token: `i++ + j` is not `i + ++j`
_TOKEN = re.compile(
    r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`[^`]*`|//+|/\*+|\*+/|--+|\+\++|\w+|[<>=!&|]+|[^\w\s]"
)
_COMMENT = re.compile(r"#|//+|/\*+|\*+/|--+")
_INDENTED = frozenset({"python", "yaml", "make", "haskell", "fsharp", "nim", "just"})
# languages in which the end of a line may end a statement
_LINES_END_STATEMENTS = frozenset(
    {"go", "javascript", "typescript", "tsx", "kotlin", "scala", "swift", "ruby", "elixir"}
)
_GOES_ON_WITH = frozenset("+-([{*&/<`")
_ENDS_WITH = frozenset({"return", "throw", "break", "continue", "yield", "next", "raise"})


def is_layout(hunks: Sequence[tuple[Sequence[str], Sequence[str]]], language: str) -> bool:
    """Whether in each hunk (removed and added lines, so that a line which moves is none) the layout alone changed.

    Lines inside a text of several lines are for the caller to exclude: a hunk does not show where it began.
    """
    return language not in _INDENTED and all(_same(old, new, language) for old, new in hunks)


def _same(old: Sequence[str], new: Sequence[str], language: str) -> bool:
    before, after = ([tokens for line in side if (tokens := _TOKEN.findall(line))] for side in (old, new))
    if before == after:
        return True
    tokens = [token for line in before for token in line]
    if tokens != [token for line in after for token in line]:
        return False
    if language not in GRAMMARS | INTERFACES | {"json"} or any(_COMMENT.fullmatch(token) for token in tokens):
        return False  # lines were joined or cut where a line means something: behind a comment, a macro
    if language not in _LINES_END_STATEMENTS:
        return True
    moved = {*accumulate(map(len, before))} ^ {*accumulate(map(len, after))}
    return not any(tokens[at] in _GOES_ON_WITH or tokens[at - 1] in _ENDS_WITH for at in moved)
