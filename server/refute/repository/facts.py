"""Takes one file apart into statements that promise something, symbols, tests, and telling marks."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from refute.repository.coded_defaults import coded_defaults
from refute.repository.defaults import NamedDefault, documented_defaults
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
from refute.repository.marks import find_marks
from refute.repository.statement import LEAST_SCORE, Statement
from refute.repository.statements import (
    in_code,
    in_descriptions,
    in_messages,
    in_parsed_comments,
    in_prose,
    in_scanned_comments,
    in_test_names,
)
from refute.repository.syntax import Definition, SlowSyntaxError, Syntax, read_syntax
from refute.repository.test_cases import TestCase, tests_in

_LONGEST_LINE = 20_000
_TESTS_BESIDE_CODE = frozenset({"rust", "zig"})
_NOT_PARSED = Syntax((), (), broken=False)
_SCANNED = COMMENTED | INTERFACES | SETTINGS | {"make", "docker", "jsonnet"}
_TOLD_BY_ITS_CODE = GRAMMARS | COMMENTED | {"sql"}


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
    if max(map(len, lines)) > _LONGEST_LINE:
        facts = FileFacts(language, len(lines), notes=("a line over 20,000 characters",))
    elif language in PROSE:
        facts = _facts_of_document(text, lines, language)
    elif _says_generated(lines):
        facts = FileFacts(language, len(lines), marks=tuple(find_marks(lines)), notes=("generated",))
    else:
        facts = _facts_of_source(text, lines, language, role_of(path))
    return replace(facts, notes=("invalid UTF-8", *facts.notes)) if "\ufffd" in text else facts


def _facts_of_document(text: str, lines: list[str], language: str) -> FileFacts:
    return FileFacts(
        language,
        len(lines),
        tuple(in_prose(text, language)),
        defaults=tuple(documented_defaults(lines)),
    )


def _facts_of_source(text: str, lines: list[str], language: str, role: str) -> FileFacts:
    syntax, notes = _syntax_of(text, language)
    has_tests = role == "test" or language in _TESTS_BESIDE_CODE
    has_defaults = role != "test" and language in GRAMMARS
    tests = tuple(tests_in(lines, language, syntax.definitions)) if has_tests else ()
    statements = _statements_of_source(text, lines, language, role, syntax)
    return FileFacts(
        language,
        len(lines),
        tuple(row for row in (*statements, *in_test_names(tests)) if row.score >= LEAST_SCORE),
        syntax.definitions,
        tests,
        tuple(find_marks(lines)),
        tuple(coded_defaults(lines)) if has_defaults else (),
        notes,
    )


def _statements_of_source(
    text: str, lines: list[str], language: str, role: str, syntax: Syntax
) -> Iterator[Statement]:
    if syntax is not _NOT_PARSED:
        yield from in_parsed_comments(lines, language, syntax)
    elif language in _SCANNED | GRAMMARS:
        yield from in_scanned_comments(lines, language)
    yield from in_descriptions(lines, text, language)
    if role != "test":
        yield from in_messages(lines, language, syntax)
        if language in _TOLD_BY_ITS_CODE:
            yield from in_code(lines, language, syntax)


def _syntax_of(text: str, language: str) -> tuple[Syntax, tuple[str, ...]]:
    if language in COMMENTED:
        return _NOT_PARSED, ("no grammar",)
    if language not in GRAMMARS:
        return _NOT_PARSED, ()
    try:
        syntax = read_syntax(text.encode("utf-8"), language)
    except SlowSyntaxError:
        return _NOT_PARSED, ("syntax that takes too long to parse",)
    except (ImportError, OSError, ValueError) as error:
        return _NOT_PARSED, (f"no grammar ({type(error).__name__})",)
    return syntax, ("syntax errors",) if syntax.broken else ()


def _says_generated(lines: list[str]) -> bool:
    return any(
        re.search(r"generated by|do not edit|@generated|autogenerated", line, re.I) for line in lines[:6]
    )
