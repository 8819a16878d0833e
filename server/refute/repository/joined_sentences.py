"""Joins neighbouring sentences of a paragraph that promise something, with what they lean on."""

# ruff: noqa: E501  (a table of patterns is read by its rows)

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from refute.repository.comments import untagged
from refute.repository.sentences import Sentence
from refute.repository.statement import LEAST_SCORE, Origin, Statement, judged_statement
from refute.repository.weighing import Weighed, category_of

_LONGEST_JOIN = 6  # lines
_LONGEST_TEXT = 700  # characters
_LEANS = re.compile(
    r"(however|otherwise|this|it|if|in th(?:is|at|ese) cases?|therefore|thus|hence|so|but|these|that|note|also|unless|"
    r"they|instead|in other words|in particular|as a result|until|when|without)\b", re.I)  # fmt: skip
_LICENCE = re.compile(
    r"licen[cs]ed? (?:under|to the)|required by applicable law or agreed to in writing|all rights reserved|redistribution and use|SPDX-License",
    re.I,
)

Judged = tuple[Sentence, Weighed | None]


def joined(judged: Iterable[Judged], origin: Origin) -> Iterator[Statement]:
    """One statement for each run of sentences that belong together, of a paragraph in order."""
    group: list[Judged] = []
    for sentence, weighed in judged:
        if weighed is not None and (weighed.score < LEAST_SCORE or _LICENCE.search(sentence.text)):
            weighed = None
        if group and (_is_full(group, sentence) or _is_apart(group, sentence, weighed)):
            yield from _one_statement(group, origin)
            group = []
        if group or weighed is not None:
            group.append((sentence, weighed))
    yield from _one_statement(group, origin)


def _is_full(group: list[Judged], sentence: Sentence) -> bool:
    return (
        sentence.end_line - group[0][0].line >= _LONGEST_JOIN
        or sum(len(row.text) for row, _ in group) + len(sentence.text) >= _LONGEST_TEXT
    )


def _is_apart(group: list[Judged], sentence: Sentence, weighed: Weighed | None) -> bool:
    last = group[-1][1]
    if last is None:
        return weighed is None or not _LEANS.match(sentence.text)
    return (  # on one long line each promise can be cited alone
        weighed is not None
        and weighed.category != last.category
        and group[0][0].line == sentence.end_line
        and not _LEANS.match(sentence.text)
    )


def _one_statement(group: list[Judged], origin: Origin) -> Iterator[Statement]:
    # What trails without a promise is cut off.
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
    if origin.channel in ("doc-comment", "code-comment"):
        text = untagged(text)
    yield judged_statement(text, group[0][0].line, group[-1][0].end_line, whole, origin)
