"""Finds near-duplicates that cannot both be right: with another number, or of which one denies."""

# ruff: noqa: E501  (patterns)
from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from refute.repository.models import Contradiction
from refute.repository.ranking import Candidate
from refute.repository.sentences import words_of
from refute.repository.statement_index import StatementIndex, contradiction

# `without` is none of these: what holds without something says nothing of what holds with it
_NEGATION = re.compile(r"\b(not|never|no|cannot|can't|won't|doesn't|don't|isn't|aren't|neither|nor)\b", re.I)
_DENYING_PREFIX = re.compile(r"\b(?:un|non|in|dis|im|de|not|no)[ -]?(?=[a-z]{4})", re.I)
_QUANTITY = re.compile(
    r"(?<![\w.-])(\d+(?:\.\d+)?)\s?(ms|milliseconds?|s|secs?|seconds?|minutes?|hours?|days?|[kmg]i?b|bytes?|times|retries)\b", re.I)  # fmt: skip
_BARE = re.compile(r"\d+(?:\.\d+)?")
_LEAST_STEMS = 6
_ALIKE, _VERY_ALIKE = 0.8, 0.88
_FEW_WORDS = 2
_PROPER = re.compile(r"(?<=[\w,(/] )[A-Z]\w+|\b[A-Z]\w*[A-Z]\w*\b|\b[a-z]+[A-Z]\w*\b|\b\w+_\w+\b")


def duplicates_that_differ(rows: Sequence[Candidate], index: StatementIndex) -> Iterator[Contradiction]:
    """Near-duplicates in different files with another number for the same unit, or one of which denies.

    Where a file says both, it speaks of two things: `storeIfAbsent` and `storeIfExists` stand beside each other.
    """
    spoken_at = {(_said(row), row.path) for row in rows}
    without_digits = [frozenset(word for word in stems if not word.isdigit()) for stems in index.stems]
    for at, row in enumerate(rows):
        if len(index.stems[at]) < _LEAST_STEMS:
            continue
        for other in index.near(at, most=8):
            theirs = rows[other]
            if other < at or theirs.path == row.path or not _may_be_of_one_thing(row, theirs):
                continue
            alike = index.alike(without_digits[at], without_digits[other])
            said_elsewhere = (_said(row), theirs.path) in spoken_at or (_said(theirs), row.path) in spoken_at
            if alike < _ALIKE or said_elsewhere:
                continue
            unit = _differing_unit(row.statement.text, theirs.statement.text)
            if unit:
                numbers = [sorted(_quantities(one.statement.text)[unit]) for one in (row, theirs)]
                note = f"{numbers[0]} against {numbers[1]} {unit}."
                yield contradiction("number differs", row, theirs, note, 0.4 + 0.5 * alike)
            few = len(without_digits[at] ^ without_digits[other]) <= _FEW_WORDS
            if alike >= _VERY_ALIKE and few and _one_denies(row, theirs):
                note = "One of two almost equal sentences denies."
                yield contradiction("polarity differs", row, theirs, note, 0.5 + 0.4 * alike)


def _said(row: Candidate) -> str:
    return row.statement.text.replace("’", "'")


def _may_be_of_one_thing(a: Candidate, b: Candidate) -> bool:
    """A comment speaks of what it stands at: two of them, of different symbols, do not speak of one thing."""
    rows = (a.statement, b.statement)
    if any(row.channel in ("document", "setting") for row in rows):
        return True
    return (
        all(row.channel == "doc-comment" and row.symbol for row in rows) and rows[0].symbol == rows[1].symbol
    )


def _differing_unit(a: str, b: str) -> str:
    """The unit for which two sentences name one number each, and not the same; empty where there is none."""
    numbers = _quantities(a), _quantities(b)
    differing = sorted(
        unit for unit in numbers[0] if numbers[1].get(unit, numbers[0][unit]) != numbers[0][unit]
    )
    if not differing or len(numbers[0]) != len(numbers[1]) or _counted(a) != _counted(b):
        return ""
    single = all(len(held[unit]) == 1 for held in numbers for unit in differing)
    return differing[0] if single and not _of_different_things(a, b) else ""


def _one_denies(a: Candidate, b: Candidate) -> bool:
    """Whether a denial is all that two sentences differ in, and the names of what they speak of do not deny."""
    texts = _said(a), _said(b)
    spoken = set(words_of(texts[0])) ^ set(words_of(texts[1]))
    counts = [len(_NEGATION.findall(text)) for text in texts]
    return (
        abs(counts[0] - counts[1]) == 1
        and len(spoken) <= 3
        and any(_NEGATION.fullmatch(word) for word in spoken)
        and not _opposites(a, b)
    )


def _counted(text: str) -> frozenset[str]:
    """The numbers without a unit; where these differ too, the two are lines of what a program printed."""
    return frozenset(_BARE.findall(_QUANTITY.sub(" ", text)))


def _of_different_things(a: str, b: str) -> bool:
    """Whether each names something that the other does not: what holds in MySQL denies nothing of PostgreSQL."""
    names = [frozenset(_PROPER.findall(text)) for text in (a, b)]
    return bool(names[0] - names[1]) and bool(names[1] - names[0])


def _opposites(a: Candidate, b: Candidate) -> bool:
    """Whether the names of what they speak about deny each other: `Recoverable` and `Unrecoverable`."""
    names = [f"{row.statement.symbol} {row.path}" for row in (a, b)]
    plain = [
        _DENYING_PREFIX.sub("", re.sub(r"(?<=[a-z])(?=[A-Z])|[_/.-]", " ", name)).lower() for name in names
    ]
    return plain[0] == plain[1] and names[0] != names[1]


def _quantities(text: str) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for number, unit in _QUANTITY.findall(text):
        found[unit.lower().rstrip("s") or "s"].add(number)
    return {unit: frozenset(numbers) for unit, numbers in found.items()}
