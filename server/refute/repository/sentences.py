"""Cuts a paragraph into sentences that know their lines, and words into the stems that are compared."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

_END = re.compile(
    r"(?<=[.!?])[\"')\]*_`]*\s+(?=[\"'(\[*_`]*[A-Z0-9`\"'(*_])|(?<=[;])\s+(?=(?:otherwise|however|the)\b)"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|cf|vs|resp|approx|incl|no|fig|sec|al|Dr|Mr|St)|\b[A-Z])\.$", re.I
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[_\-./:]+")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?:['’-][A-Za-z]+)?|\d+(?:\.\d+)?")
_DEFAULT = re.compile(r"@?defaults?(?:value)?\b[:\s]", re.I)
_STOP = frozenset(
    [
        "the",
        "a",
        "an",
        "of",
        "to",
        "in",
        "on",
        "at",
        "by",
        "for",
        "and",
        "or",
        "is",
        "are",
        "was",
        "be",
        "been",
        "being",
        "it",
        "its",
        "this",
        "that",
        "these",
        "those",
        "as",
        "with",
        "from",
        "we",
        "you",
        "i",
        "they",
        "he",
        "she",
        "will",
        "would",
        "can",
        "may",
        "might",
        "so",
        "such",
        "there",
        "here",
        "which",
        "who",
        "whom",
        "what",
        "when",
        "where",
        "how",
        "do",
        "does",
        "did",
        "has",
        "have",
        "had",
        "into",
        "than",
        "then",
        "also",
        "any",
        "all",
        "each",
        "other",
        "some",
        "more",
        "most",
        "one",
        "two",
        "our",
        "your",
        "their",
        "if",
        "not",
        "no",
        "via",
        "per",
        "e",
        "g",
        "eg",
        "ie",
        "etc",
        "use",
        "used",
        "using",
        "see",
        "note",
    ]
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence, or one item of a list, with the lines (counted from 1) that it stands on."""

    text: str
    line: int
    end_line: int


def split_sentences(lines: Sequence[tuple[int, str]]) -> list[Sentence]:
    """The sentences of one paragraph given as `(line number, text)`; linear in its length."""
    starts: list[tuple[int, int]] = []
    parts: list[str] = []
    length = 0
    for number, text in lines:
        stripped = " ".join(text.split())
        if not stripped:
            continue
        starts.append((length, number))
        parts.append(stripped)
        length += len(stripped) + 1
    whole = " ".join(parts)
    found: list[Sentence] = []
    begin = 0
    row = 0
    for end in [*(_cuts(whole)), len(whole)]:
        piece = whole[begin:end].strip()
        if piece:
            while row + 1 < len(starts) and starts[row + 1][0] <= begin:
                row += 1
            last = row
            while last + 1 < len(starts) and starts[last + 1][0] < begin + len(piece):
                last += 1
            found.append(Sentence(piece, starts[row][1], starts[last][1]))
        begin = end
        while begin < len(whole) and whole[begin] == " ":
            begin += 1
    return _with_defaults(found)


def _with_defaults(found: list[Sentence]) -> list[Sentence]:
    """`Default: 5.` alone says nothing: it belongs to the sentence before it."""
    joined: list[Sentence] = []
    for one in found:
        whole = one
        if joined and len(one.text) < 80 and _DEFAULT.match(one.text):
            before = joined.pop()
            whole = Sentence(f"{before.text} {one.text}", before.line, one.end_line)
        joined.append(whole)
    return joined


def _cuts(whole: str) -> list[int]:
    return [
        match.end()
        for match in _END.finditer(whole)
        if not _ABBREVIATION.search(whole[max(0, match.start() - 8) : match.start()])
    ]


@lru_cache(maxsize=65536)
def pieces(word: str) -> tuple[str, ...]:
    """An identifier cut where its case or punctuation changes, in lower case: `maxTokenTTL` is max, token, ttl."""
    return tuple(piece.lower() for piece in _CAMEL.split(word) if piece)


@lru_cache(maxsize=131072)
def stem(word: str) -> str:
    """A crude stem, good enough to see that `commits` and `committed` are one word."""
    for ending in ("ations", "ation", "ings", "ing", "ies", "ied", "edly", "ed", "es", "ly", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 4 else word


def words_of(text: str) -> list[str]:
    """The words in lower case, identifiers cut into their parts."""
    return [piece for word in _WORD.findall(text) for piece in pieces(word)]


def stems_of(text: str) -> frozenset[str]:
    """The stems that say something, for comparing sentences."""
    return frozenset(
        stem(word) for word in words_of(text) if word not in _STOP and (len(word) > 1 or word.isdigit())
    )
