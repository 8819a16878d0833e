"""The outline of a Markdown file: headings, fenced blocks and tables, each with its lines in the source."""

from __future__ import annotations

import re
from dataclasses import dataclass

from markdown_it import MarkdownIt

# Only the block structure is wanted; what stands inside a paragraph stays text.
_PARSER = MarkdownIt("commonmark").enable("table").disable("inline")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_FRONT_MATTER = re.compile(
    r"\A\ufeff?---[ \t]*(?:\r\n|\r|\n)(.*?)(?:\r\n|\r|\n)---[ \t]*(?:\r\n|\r|\n|\Z)", re.S
)


@dataclass(frozen=True, slots=True)
class Heading:
    """One heading: its level, its text, its line (from 0)."""

    level: int
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Fence:
    """One fenced block: first word of its info string, its content, and its lines, the fences included."""

    language: str
    content: str
    line: int
    end: int


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table: its cells, trimmed and with escaped pipes restored, and its line (from 1)."""

    cells: tuple[str, ...]
    line: int


@dataclass(frozen=True, slots=True)
class Table:
    """One table: header, rows, and the section and scenario under which it stands."""

    header: tuple[str, ...]
    rows: tuple[Row, ...]
    line: int
    section: str = ""
    scenario: str = ""


@dataclass(frozen=True, slots=True)
class Outline:
    """What a Markdown file is made of; `starts[i]` is the offset of line i, with one more for the end."""

    starts: tuple[int, ...]
    front_matter: str
    headings: tuple[Heading, ...]
    fences: tuple[Fence, ...]
    tables: tuple[Table, ...]


def line_starts(source: str) -> tuple[int, ...]:
    """The offset of each line, and the length of the text last. A line ends with LF, CR or CRLF."""
    starts = [found.start() for found in _LINE.finditer(source) if found.end() > found.start()]
    return (*starts, len(source))


def read_outline(source: str) -> Outline:
    """The outline of a text. O(n); nothing is an error in Markdown."""
    front = _FRONT_MATTER.match(source)
    skipped = re.sub(r"[^\r\n]", "", front[0]) if front else ""
    body = skipped + (source[front.end() :] if front else source.removeprefix("\ufeff"))
    starts = line_starts(source)
    tokens = _PARSER.parse(body)
    headings, fences, tables = [], [], []
    for place, token in enumerate(tokens):
        if token.map is None:
            continue
        first, end = token.map
        if token.type == "heading_open":
            headings.append(Heading(int(token.tag[1:]), tokens[place + 1].content.strip(), first))
        elif token.type == "fence":
            fences.append(Fence((token.info.split() or [""])[0].lower(), token.content, first, end))
        elif token.type == "table_open":
            lines = [source[starts[at] : starts[min(at + 1, len(starts) - 1)]] for at in range(first, end)]
            tables.append(_table(lines, first))
    return Outline(starts, front[1] if front else "", tuple(headings), tuple(fences), tuple(tables))


def _table(lines: list[str], first: int) -> Table:
    width = len(split_row(lines[1], 0))
    header = split_row(lines[0], width)
    rows = tuple(
        Row(split_row(line, width), first + place + 1)
        for place, line in enumerate(lines)
        if place > 1 and line.strip()
    )
    return Table(header, rows, first + 1)


def split_row(line: str, width: int) -> tuple[str, ...]:
    """The cells of one table row, `width` of them (0: as many as there are).

    GitHub's tables end a cell at every pipe that is not escaped, in code too. People forget that in code,
    so that a row which comes out too wide is split again with the pipes inside backticks left alone.
    """
    text = line.strip()
    text = text.removeprefix("|")
    if text.endswith("|") and not text.endswith("\\|"):
        text = text[:-1]
    cells = _cells(text, code_counts=False)
    if width and len(cells) > width:
        aware = _cells(text, code_counts=True)
        cells = aware if len(aware) >= width else cells
    if width:
        cells = (cells + [""] * width)[:width]
    return tuple(cells)


def _cells(text: str, *, code_counts: bool) -> list[str]:
    cells, current, place, ticks = [], [], 0, 0
    while place < len(text):
        character = text[place]
        if character == "\\" and text[place + 1 : place + 2] == "|":
            current.append("|")
            place += 2
            continue
        if character == "`" and code_counts:
            run = len(text) - place - len(text[place:].lstrip("`"))
            if not ticks and text.find("`" * run, place + run) >= 0:
                ticks = run
            elif ticks == run:
                ticks = 0
            current.append("`" * run)
            place += run
            continue
        if character == "|" and not ticks:
            cells.append("".join(current).strip())
            current = []
        else:
            current.append(character)
        place += 1
    return [*cells, "".join(current).strip()]
