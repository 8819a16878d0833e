"""Finds the statements of one file: in its prose, comments, descriptions, messages, code and test names."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from refute.repository.comment_lines import comment_lines
from refute.repository.comments import clean_comment, comment_paragraphs, scan_comments
from refute.repository.descriptions import descriptions_in, is_interface, schema_comments
from refute.repository.file_kinds import INTERFACES, SETTINGS
from refute.repository.html_text import html_paragraphs
from refute.repository.joined_sentences import joined
from refute.repository.lexicon import CATEGORIES
from refute.repository.messages import messages_in
from refute.repository.prose import Paragraph, paragraphs
from refute.repository.sentences import split_sentences, words_of
from refute.repository.statement import LEAST_SCORE, Origin, Statement, judged_statement
from refute.repository.syntax import Definition, Syntax
from refute.repository.telling_code import telling_lines
from refute.repository.test_cases import TestCase
from refute.repository.weighing import Weighed, weigh

# What stands below is promised, though the sentence does not say so.
_PROMISING_HEADING = re.compile(r"\b(?:guarantees?|invariants?|promises?|assurances?)\b", re.I)
_SETTING = re.compile(r"^\s*[#;]?\s*[\"']?([A-Za-z][\w.-]{2,60})[\"']?\s*(?:[:=]\s*|\s)(\S.{0,80})$")
_DECLARED = re.compile(
    r"\b(?:message|service|rpc|enum|struct|interface|table|CREATE TABLE)\s+(\w+)|(\w+)\s*=\s*\d+\s*[;\[]|^\s*([a-z]\w*)\s*\(|-spec\s+(\w+)|^\s*(?:local\s+)?function\s+([\w.:]+)|\(defn-?\s+([\w-]+)"
)
_CODE_SCORE = {"fail-open": 3.0, "constraint": 2.6, "isolation": 2.6, "sync": 2.5}
_OTHER_CODE_SCORE = 2.2
_LEAST_WORDS_OF_A_TEST = 4


def in_prose(text: str, language: str) -> Iterator[Statement]:
    """What the paragraphs, items and rows of a document promise."""
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
        yield from joined(judged, Origin("document", bonus, heading=" > ".join(paragraph.headings)))


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


def in_parsed_comments(lines: list[str], language: str, syntax: Syntax) -> Iterator[Statement]:
    """What the comments promise that a grammar has found."""
    for block in syntax.comments:
        channel = "doc-comment" if block.is_doc else "code-comment"
        yield from _in_block(comment_lines(lines, block, language), Origin(channel, symbol=block.symbol))


def in_scanned_comments(lines: list[str], language: str) -> Iterator[Statement]:
    """What comments promise where no grammar tells them apart; what follows one is what it is about."""
    for block in scan_comments(lines, language):
        rows = [(number, clean_comment(line, language)) for number, line in block]
        after = next((line for line in lines[block[-1][0] : block[-1][0] + 2] if line.strip()), "")
        if language in SETTINGS:
            found = _SETTING.match(after) or _SETTING.match(block[-1][1])
            symbol, default = (found.group(1), found.group(2).strip()) if found else ("", "")
            bonus = 0.4 if default else 0.0
            yield from _in_block(rows, Origin("setting", bonus, symbol, default=default))
        else:
            declared = _DECLARED.search(after)
            symbol = next((name for name in declared.groups() if name), "") if declared else ""
            channel = "doc-comment" if language in INTERFACES else "code-comment"
            yield from _in_block(rows, Origin(channel, symbol=symbol))


def in_descriptions(lines: list[str], text: str, language: str) -> Iterator[Statement]:
    """What the descriptions of an interface or of a schema promise of what they describe."""
    described = []
    if language in ("yaml", "json") and is_interface(text):
        described = list(descriptions_in(lines, language))
    elif language == "sql":
        described = list(schema_comments(lines))
    for row in described:
        yield from _in_block(list(row.lines), Origin("doc-comment", symbol=row.symbol))


def in_messages(lines: list[str], language: str, syntax: Syntax) -> Iterator[Statement]:
    """What messages and help texts in the code say."""
    for message in messages_in(lines, language):
        judged = weigh(message.text)
        if judged is None:
            continue
        symbol = message.symbol or _enclosing(syntax.definitions, message.line)
        origin = Origin(message.channel, message.bonus, symbol, default=message.default)
        yield judged_statement(message.text, message.line, message.end_line, judged, origin)


def in_code(lines: list[str], language: str, syntax: Syntax) -> Iterator[Statement]:
    """Statements whose text is code: their first reason is the kind, whose rule says what is inferred."""
    for row in telling_lines(lines, language):
        yield Statement(
            row.text, row.line, row.end_line, "code", _CODE_SCORE.get(row.kind, _OTHER_CODE_SCORE),
            CATEGORIES.index(row.category), reasons=(row.kind,), symbol=_enclosing(syntax.definitions, row.line),
        )  # fmt: skip


def in_test_names(tests: Iterable[TestCase]) -> Iterator[Statement]:
    """What the names of tests claim, where one is long enough to be a sentence."""
    for case in tests:
        words = " ".join(words_of(case.name))
        judged = weigh(words.removeprefix("test "))
        if judged is not None and len(words.split()) >= _LEAST_WORDS_OF_A_TEST:
            yield judged_statement(words, case.line, case.line, judged, Origin("test-name", symbol=case.name))


def _in_block(rows: list[tuple[int, str]], origin: Origin) -> Iterator[Statement]:
    for part in comment_paragraphs(rows):
        yield from joined([(sentence, weigh(sentence.text)) for sentence in split_sentences(part)], origin)


def _enclosing(definitions: tuple[Definition, ...], line: int) -> str:
    best = ""
    for row in definitions:
        if row.line > line:
            break
        if row.end_line >= line:
            best = row.name
    return best
