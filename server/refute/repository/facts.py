"""Takes one file apart into statements that promise something, symbols, tests, and telling marks."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from refute.repository.coded_defaults import coded_defaults
from refute.repository.comment_lines import comment_lines
from refute.repository.comments import clean_comment, comment_paragraphs, scan_comments, untagged
from refute.repository.defaults import NamedDefault, documented_defaults
from refute.repository.descriptions import descriptions_in, is_interface, schema_comments
from refute.repository.file_kinds import (
    COMMENTED,
    GRAMMARS,
    INTERFACES,
    PROSE,
    SETTINGS,
    language_of,
    role_of,
)
from refute.repository.fingerprint import readers_version
from refute.repository.html_text import html_paragraphs
from refute.repository.lexicon import CATEGORIES
from refute.repository.marks import find_marks
from refute.repository.messages import Message, messages_in
from refute.repository.prose import Paragraph, paragraphs
from refute.repository.sentences import Sentence, split_sentences, words_of
from refute.repository.syntax import Definition, Syntax, read_syntax
from refute.repository.telling_code import telling_lines
from refute.repository.test_cases import TestCase, tests_in
from refute.repository.weighing import Weighed, category_of, weigh

LEAST_SCORE = 1.6
_LONGEST_LINE = 20_000
_TESTS_BESIDE_CODE = frozenset({"rust", "zig"})
_LONGEST_JOIN = 6
_LONGEST_TEXT = 700
_LEANS = re.compile(
    r"(however|otherwise|this|it|if|in th(?:is|at|ese) cases?|therefore|thus|hence|so|but|these|that|note|also|unless|"
    r"they|instead|in other words|in particular|as a result|until|when|without)\b", re.I)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence that promises something, where it stands, and what it was judged to be worth."""

    text: str
    line: int
    end_line: int
    channel: str
    score: float
    category: int
    secondary: tuple[int, ...] = ()
    promise: float = 0.0
    domain: float = 0.0
    reasons: tuple[str, ...] = ()
    symbol: str = ""
    heading: str = ""
    default: str = ""


@dataclass(frozen=True, slots=True)
class FileFacts:
    """All that later steps need of one file; the path is not part of it, so equal contents are read once."""

    language: str
    lines: int
    statements: tuple[Statement, ...] = ()
    definitions: tuple[Definition, ...] = ()
    tests: tuple[TestCase, ...] = ()
    marks: tuple[tuple[str, int, str], ...] = ()
    defaults: tuple[NamedDefault, ...] = ()
    notes: tuple[str, ...] = field(default=())

    def to_json(self) -> str:
        """One line of JSON, for the cache and between processes."""
        return json.dumps(
            [
                self.language,
                self.lines,
                [list(asdict(row).values()) for row in self.statements],
                [list(asdict(row).values()) for row in self.definitions],
                [list(asdict(row).values()) for row in self.tests],
                self.marks,
                [list(asdict(row).values()) for row in self.defaults],
                self.notes,
            ]
        )

    @classmethod
    def from_json(cls, text: str) -> FileFacts:
        """The inverse of `to_json`."""
        language, lines, statements, definitions, tests, marks, defaults, notes = json.loads(text)
        return cls(
            language,
            lines,
            tuple(_statement_from(row) for row in statements),
            tuple(Definition(*row) for row in definitions),
            tuple(TestCase(*row) for row in tests),
            tuple((kind, line, shown) for kind, line, shown in marks),
            tuple(NamedDefault(*row) for row in defaults),
            tuple(notes),
        )


def _statement_from(row: list[Any]) -> Statement:
    row[6], row[9] = tuple(row[6]), tuple(row[9])
    return Statement(*row)


def cache_key(path: str, blob: str) -> str:
    """Equal keys have equal facts: content, how it is read, and the version of the reader."""
    return f"{blob}:{language_of(path)}:{'t' if role_of(path) == 'test' else ''}:{readers_version()}"


def read_facts(path: str, data: bytes) -> FileFacts:
    """The facts of one file. Never raises on content: what cannot be read is a note."""
    language = language_of(path)
    if b"\0" in data[:8192]:
        return FileFacts(language, 0, notes=("binary",))
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    notes: list[str] = ["invalid UTF-8"] if "\ufffd" in text else []
    if max(map(len, lines)) > _LONGEST_LINE:
        return FileFacts(language, len(lines), notes=(*notes, "a line over 20,000 characters"))
    test = role_of(path) == "test"
    if language in PROSE:
        return FileFacts(
            language,
            len(lines),
            tuple(_from_prose(text, language)),
            defaults=tuple(documented_defaults(lines)),
            notes=tuple(notes),
        )
    if _says_generated(lines):
        return FileFacts(language, len(lines), marks=tuple(find_marks(lines)), notes=(*notes, "generated"))
    syntax = Syntax((), (), False)
    statements: list[Statement] = []
    if language in GRAMMARS:
        try:
            syntax = read_syntax(text.encode("utf-8"), language)
        except (ImportError, OSError, ValueError) as error:
            notes.append(f"no grammar ({type(error).__name__})")
        if syntax.broken:
            notes.append("syntax errors")
        for block in syntax.comments:
            rows = comment_lines(lines, block, language)
            channel = "doc-comment" if block.is_doc else "code-comment"
            statements += _from_block(rows, channel, block.symbol)
    elif (
        language in COMMENTED
        or language in INTERFACES
        or language in SETTINGS
        or language in ("make", "docker", "jsonnet")
    ):
        if language in COMMENTED:
            notes.append("no grammar")
        statements += _from_scan(lines, language)
    if language in ("yaml", "json") and is_interface(text):
        for described in descriptions_in(lines, language):
            statements += _from_block(list(described.lines), "doc-comment", described.symbol)
    if language == "sql":
        for described in schema_comments(lines):
            statements += _from_block(list(described.lines), "doc-comment", described.symbol)
    if not test:
        statements += _from_messages(messages_in(lines, language), syntax)
        if language in GRAMMARS or language in COMMENTED or language == "sql":
            statements += _from_code(lines, language, syntax)
    tests = (
        tuple(tests_in(lines, language, syntax.definitions)) if test or language in _TESTS_BESIDE_CODE else ()
    )
    for case in tests:
        words = " ".join(words_of(case.name))
        judged = weigh(words.removeprefix("test "))
        if judged is not None and len(words.split()) >= 4:
            statements.append(_statement(words, case.line, case.line, "test-name", judged, symbol=case.name))
    return FileFacts(
        language,
        len(lines),
        tuple(row for row in statements if row.score >= LEAST_SCORE),
        syntax.definitions,
        tests,
        tuple(find_marks(lines)),
        tuple(coded_defaults(lines)) if language in GRAMMARS and not test else (),
        tuple(notes),
    )


def _says_generated(lines: list[str]) -> bool:
    return any(
        re.search(r"generated by|do not edit|@generated|autogenerated", line, re.I) for line in lines[:6]
    )


def _statement(
    text: str,
    line: int,
    end: int,
    channel: str,
    judged: Weighed,
    *,
    bonus: float = 0.0,
    symbol: str = "",
    heading: str = "",
    default: str = "",
) -> Statement:
    return Statement(
        text,
        line,
        end,
        channel,
        round(judged.score + bonus, 3),
        judged.category,
        judged.secondary,
        judged.promise,
        judged.domain,
        judged.reasons,
        symbol,
        heading,
        default,
    )


def _from_prose(text: str, language: str) -> Iterator[Statement]:
    held: Paragraph | None = None
    for paragraph in html_paragraphs(text) if language == "html" else paragraphs(text, language):
        said = " ".join(line for _, line in paragraph.lines)
        if held is not None and held.headings == paragraph.headings and paragraph.kind != "row":
            paragraph = Paragraph(
                [*held.lines, *paragraph.lines], paragraph.headings, paragraph.kind, paragraph.lead
            )
            held = None
        elif len(said) < 60 and re.match(r"defaults?\b", said, re.I):
            held = paragraph
            continue
        judged = [
            (sentence, _in_context(sentence.text, paragraph)) for sentence in split_sentences(paragraph.lines)
        ]
        bonus = {"note": 0.5, "item": 0.1, "row": -0.1}.get(paragraph.kind, 0.0)
        yield from _joined(judged, "document", bonus=bonus, heading=" > ".join(paragraph.headings))


def _in_context(said: str, paragraph: Paragraph) -> Weighed | None:
    """A short item of a list borrows the words of the line above the list, if it says something itself."""
    alone = weigh(said)
    if alone is None and paragraph.headings and _PROMISING_HEADING.search(paragraph.headings[-1]):
        alone = weigh(f"{said} (guaranteed)")
    words = len(said.split())
    if paragraph.kind != "item" or not paragraph.lead or len(said) >= 90 or words < 6:
        return alone
    lent = weigh(f"{paragraph.lead} {said}")
    if lent is None:
        return alone
    own = alone.score if alone is not None else LEAST_SCORE
    return replace(lent, score=min(lent.score, own + 0.8))


def _from_block(
    rows: list[tuple[int, str]], channel: str, symbol: str, default: str = ""
) -> Iterator[Statement]:
    bonus = 0.4 if default else 0.0
    for part in comment_paragraphs(rows):
        judged = [(sentence, weigh(sentence.text)) for sentence in split_sentences(part)]
        yield from _joined(judged, channel, symbol=symbol, default=default, bonus=bonus)


def _joined(
    judged: list[tuple[Sentence, Weighed | None]],
    channel: str,
    *,
    bonus: float = 0.0,
    symbol: str = "",
    heading: str = "",
    default: str = "",
) -> Iterator[Statement]:
    """Neighbouring sentences of a paragraph that promise something are one statement, with what they lean on."""
    group: list[tuple[Sentence, Weighed | None]] = []
    for sentence, weighed in judged:
        if weighed is not None and (weighed.score < LEAST_SCORE or _LICENCE.search(sentence.text)):
            weighed = None
        full = group and (
            sentence.end_line - group[0][0].line >= _LONGEST_JOIN
            or sum(len(row.text) for row, _ in group) + len(sentence.text) >= _LONGEST_TEXT
        )
        last = group[-1][1] if group else None
        other = (  # on one long line each promise can be cited alone
            weighed is not None
            and last is not None
            and weighed.category != last.category
            and group[0][0].line == sentence.end_line
            and not _LEANS.match(sentence.text)
        )
        apart = other or (
            group and group[-1][1] is None and (weighed is None or not _LEANS.match(sentence.text))
        )
        if full or apart:
            yield from _grouped(group, channel, bonus, symbol, heading, default)
            group = []
        if group or weighed is not None:
            group.append((sentence, weighed))
    yield from _grouped(group, channel, bonus, symbol, heading, default)


def _grouped(
    group: list[tuple[Sentence, Weighed | None]],
    channel: str,
    bonus: float,
    symbol: str,
    heading: str,
    default: str,
) -> Iterator[Statement]:
    """One statement of the sentences; what trails without a promise is cut off."""
    while group and group[-1][1] is None:
        group.pop()
    judged = [row for _, row in group if row is not None]
    if not judged:
        return
    best = max(judged, key=lambda row: row.score)
    top, secondary = category_of(
        [sum(weights) for weights in zip(*(row.sums for row in judged), strict=True)]
    )
    whole = Weighed(
        best.score + 0.12 * min(len(judged) - 1, 3), top, secondary, best.promise, best.domain, best.reasons
    )
    text = " ".join(sentence.text for sentence, _ in group)
    if channel in ("doc-comment", "code-comment"):
        text = untagged(text)
    yield _statement(
        text, group[0][0].line, group[-1][0].end_line, channel, whole,
        bonus=bonus, symbol=symbol, heading=heading, default=default,
    )  # fmt: skip


_LICENCE = re.compile(
    r"licen[cs]ed? (?:under|to the)|required by applicable law or agreed to in writing|all rights reserved|redistribution and use|SPDX-License",
    re.I,
)
# What stands below is promised, though the sentence does not say so.
_PROMISING_HEADING = re.compile(r"\b(?:guarantees?|invariants?|promises?|assurances?)\b", re.I)
_SETTING = re.compile(r"^\s*[#;]?\s*[\"']?([A-Za-z][\w.-]{2,60})[\"']?\s*(?:[:=]\s*|\s)(\S.{0,80})$")
_DECLARED = re.compile(
    r"\b(?:message|service|rpc|enum|struct|interface|table|CREATE TABLE)\s+(\w+)|(\w+)\s*=\s*\d+\s*[;\[]|^\s*([a-z]\w*)\s*\(|-spec\s+(\w+)|^\s*(?:local\s+)?function\s+([\w.:]+)|\(defn-?\s+([\w-]+)"
)


def _from_scan(lines: list[str], language: str) -> Iterator[Statement]:
    for block in scan_comments(lines, language):
        rows = [(number, clean_comment(line, language)) for number, line in block]
        after = next((line for line in lines[block[-1][0] : block[-1][0] + 2] if line.strip()), "")
        symbol = default = ""
        channel = "doc-comment" if language in INTERFACES else "code-comment"
        if language in SETTINGS:
            channel = "setting"
            found = _SETTING.match(after) or _SETTING.match(block[-1][1])
            if found:
                symbol, default = found.group(1), found.group(2).strip()
        else:
            declared = _DECLARED.search(after)
            symbol = next((name for name in declared.groups() if name), "") if declared else ""
        yield from _from_block(rows, channel, symbol, default)


def _from_messages(messages: Iterable[Message], syntax: Syntax) -> Iterator[Statement]:
    for message in messages:
        judged = weigh(message.text)
        if judged is None:
            continue
        symbol = _enclosing(syntax.definitions, message.line)
        yield _statement(
            message.text,
            message.line,
            message.end_line,
            message.channel,
            judged,
            bonus=message.bonus,
            symbol=message.symbol or symbol,
            default=message.default,
        )


def _from_code(lines: list[str], language: str, syntax: Syntax) -> Iterator[Statement]:
    """Statements whose text is code: their first reason is the kind, whose rule says what is inferred."""
    for row in telling_lines(lines, language):
        yield Statement(
            row.text, row.line, row.end_line, "code", _CODE_SCORE.get(row.kind, 2.2),
            CATEGORIES.index(row.category), reasons=(row.kind,), symbol=_enclosing(syntax.definitions, row.line),
        )  # fmt: skip


_CODE_SCORE = {"fail-open": 3.0, "constraint": 2.6, "isolation": 2.6, "sync": 2.5}


def _enclosing(definitions: tuple[Definition, ...], line: int) -> str:
    best = ""
    for row in definitions:
        if row.line > line:
            break
        if row.end_line >= line:
            best = row.name
    return best
