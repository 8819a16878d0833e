"""Reads a source file with its tree-sitter grammar: definitions, comments bound to them, doc strings."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import importlib
import time
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import Any, Literal

from refute.repository.definitions import DEFINITIONS, QUERIES, kind_of, last_line_of, name_of

_MODULES = {"tsx": ("tree_sitter_typescript", "language_tsx"), "typescript": ("tree_sitter_typescript", "language_typescript"),
            "php": ("tree_sitter_php", "language_php")}  # fmt: skip

_COMMENTS = {
    "rust": ("line_comment", "block_comment"), "java": ("line_comment", "block_comment"),
    "kotlin": ("line_comment", "block_comment"), "scala": ("comment", "block_comment"),
    "swift": ("comment", "multiline_comment"),
}  # fmt: skip
_DOC_STRINGS = {
    "python": "(expression_statement (string) @doc)",
    "elixir": "(unary_operator (call (identifier) (arguments [(string) (sigil)] @doc)))",
}
# what a comment that opens like this speaks of is around it, not below it
_INNER = {"rust": (b"//!", b"/*!"), "zig": (b"//!",)}
# what a grammar calls a string, a here-document, a text block
_TEXTS = ("string", "heredoc", "nowdoc", "sigil")
_LONGEST_S, _LONGEST_S_A_MB = 2.0, 6.0
_Where = Literal["below", "around", "attribute"]
_ELIXIR_DOCS: dict[str, _Where] = {"moduledoc": "around", "doc": "attribute", "typedoc": "attribute"}


@dataclass(frozen=True, slots=True)
class Definition:
    """Something with a name: where it stands, and the names around it (`Config.CheckQuorum`)."""

    name: str
    kind: str
    line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class CommentBlock:
    """Adjoining comment lines (or a doc string) and the symbol that they speak about."""

    line: int
    end_line: int
    symbol: str
    is_doc: bool


@dataclass(frozen=True, slots=True)
class Syntax:
    """What the grammar gave; `broken` where the file has syntax errors and was read all the same."""

    definitions: tuple[Definition, ...]
    comments: tuple[CommentBlock, ...]
    broken: bool


@lru_cache(maxsize=32)
def _machine(language: str) -> tuple[Any, Any]:
    import tree_sitter

    module, function = _MODULES.get(language, (f"tree_sitter_{language}", "language"))
    grammar = tree_sitter.Language(getattr(importlib.import_module(module), function)())
    parts = [f"({kind}) @comment" for kind in _COMMENTS.get(language, ("comment",))]
    for kind in DEFINITIONS[language]:
        query = QUERIES.get((language, kind), f"({kind}) @definition")
        try:
            tree_sitter.Query(grammar, query)
        except tree_sitter.QueryError:
            continue
        parts.append(query)
    parts += [_DOC_STRINGS[language]] if language in _DOC_STRINGS else []
    return tree_sitter.Parser(grammar), tree_sitter.Query(grammar, "\n".join(parts))


class SlowSyntaxError(ValueError):
    """A file on which the grammar takes far more time than on any other of its size."""


def _tree_of(data: bytes, language: str) -> Any:
    """The tree of one file. Raises SlowSyntaxError: recovering from errors takes some grammars quadratic time.

    The time is that of this thread alone. Files that people wrote take 0.1 to 1.1 s/MB.
    """
    parser = _machine(language)[0]
    until = time.thread_time() + _LONGEST_S + _LONGEST_S_A_MB * len(data) / 1e6
    try:
        tree = parser.parse(
            lambda at, _: data[at : at + 65536], progress_callback=lambda *_: time.thread_time() > until
        )
    except ValueError as error:
        parser.reset()
        raise SlowSyntaxError(f"the grammar of {language} takes too long") from error
    return parser.parse(data, old_tree=tree)  # the same tree, which now holds its text: at no cost


def read_syntax(data: bytes, language: str) -> Syntax:
    """Definitions and comments of one file; linear in its size. The language must have a grammar.

    Raises SlowSyntaxError.
    """
    import tree_sitter

    query = _machine(language)[1]
    tree = _tree_of(data, language)
    found = tree_sitter.QueryCursor(query).captures(tree.root_node)
    definitions: list[tuple[int, int, str, str]] = []
    # captures come in no order that holds from one process to the next
    for node in sorted(found.get("definition", ()), key=lambda node: (node.start_byte, -node.end_byte)):
        name = name_of(node, language)
        if name:
            definitions.append(
                (node.start_point[0] + 1, last_line_of(node, language), name, kind_of(node, language))
            )
    definitions.sort(key=lambda row: (row[0], -row[1]))
    full = _qualified(definitions)
    lines = data.split(b"\n")
    spans = sorted(_span(node, lines) for node in found.get("comment", ()))
    docs = [(*_span(node, lines)[:2], _speaks_of(node, language)) for node in found.get("doc", ())]
    blocks = [
        *_merged(spans, lines, language),
        *((first, last, where) for first, last, where in docs if where),
    ]
    starts = [row.line for row in full]
    reach = list(accumulate((row.end_line for row in full), max))
    bound = []
    for first, last, where in sorted(set(blocks)):
        symbol, is_doc = _symbol_for(first, last, full, starts, reach, where)
        bound.append(CommentBlock(first, last, symbol, is_doc))
    return Syntax(tuple(full), tuple(bound), tree.root_node.has_error)


def lines_of_texts(data: bytes, language: str) -> set[int]:
    """The lines, counted from 1, that begin inside a string of several lines: white space means something there."""
    cursor = _tree_of(data, language).walk()
    found: set[int] = set()
    while True:
        node = cursor.node
        first, last = node.start_point[0], node.end_point[0]
        text = any(word in node.type for word in _TEXTS)
        if text:
            found.update(range(first + 2, last + 2))
        if last > first and not text and cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return found


def _span(node: Any, lines: list[bytes]) -> tuple[int, int, bool]:
    """First and last line of a comment, and whether code stands behind it."""
    first, (row, column) = node.start_point[0] + 1, node.end_point
    if column == 0 and row + 1 > first:
        return first, row, False
    return first, row + 1, bool(lines[row][column:].strip())


def _speaks_of(node: Any, language: str) -> _Where | None:
    """Whether a string documents what is around it or what is below it; None where it documents nothing."""
    if language != "elixir":
        return "around"
    attribute = node.parent.parent.child_by_field_name("target").text.decode("utf-8", "replace")
    return _ELIXIR_DOCS.get(attribute)


def _merged(
    spans: list[tuple[int, int, bool]], lines: list[bytes], language: str
) -> list[tuple[int, int, _Where]]:
    """Comments on adjoining lines are one, if no code stands before the later or behind the earlier."""
    marks = (
        (b"#",)
        if language in ("python", "ruby", "elixir")
        else (b"#", b"//", b"/*")
        if language == "php"
        else (b"//", b"/*")
    )
    inner = _INNER.get(language, ())
    merged: list[list[int]] = []
    for first, last, followed in spans:
        text = lines[first - 1].lstrip()
        within = bool(inner) and text.startswith(inner)
        joins = text.startswith(marks) and merged and not merged[-1][2] and within == merged[-1][3]
        if joins and first == merged[-1][1] + 1:
            merged[-1][1:3] = [last, followed]
        elif not merged or first > merged[-1][1]:
            merged.append([first, last, followed, within])
    return [(first, last, "around" if within else "below") for first, last, _, within in merged]


def _qualified(rows: list[tuple[int, int, str, str]]) -> list[Definition]:
    around: list[tuple[int, str]] = []
    found: list[Definition] = []
    for first, last, name, kind in rows:
        while around and around[-1][0] < first:
            around.pop()
        whole = ".".join([*(outer for _, outer in around[-2:] if outer != name), name])
        found.append(Definition(whole, kind, first, last))
        if last > first and kind in ("type", "impl", "module", "function", "method", "call"):
            around.append((last, name))
    return found


def _symbol_for(
    first: int, last: int, definitions: list[Definition], starts: list[int], reach: list[int], where: _Where
) -> tuple[str, bool]:
    """The symbol that a comment speaks of: the one below it or on its line, else the one around it."""
    at = bisect_right(starts, last)
    around = None
    if at and reach[at - 1] >= last:  # else nothing above reaches down to here
        around = next(
            (
                definitions[index]
                for index in range(at - 1, max(-1, at - 400), -1)
                if definitions[index].end_line >= last and definitions[index].line <= first
            ),
            None,
        )
    below = definitions[at] if at < len(definitions) else None
    if below is not None and around is not None and below.line > around.end_line:
        below = None  # what holds the comment ends before it
    if below is not None and where != "around":
        gap = below.line - last
        farthest = 12 if where == "attribute" else 3 if below.kind in ("type", "function", "method") else 2
        if gap <= farthest:
            return below.name, True
    if where == "below" and at and definitions[at - 1].line == first == definitions[at - 1].end_line:
        return definitions[at - 1].name, True
    return around.name if around is not None else "", where != "below"
