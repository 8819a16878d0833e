"""How far the words of a sentence and the way it is said raise the odds that it belongs in a test plan.

A linear model (logistic regression with a quadratic penalty), fitted by `benchmarks/fit_worth.py` to what
readers said of single claims of some two hundred and seventy repositories, and to lists that readers made by
hand. It looks at words and at pairs of neighbouring words, at those of the headings and of the path that a
sentence stands under, and at how it is said. Only what stands in many repositories has a weight, so that none
is a product's own; words that are used alike have similar weights. The worth that our rules give is one of
its inputs. The worth that comes out is the logarithm of the odds (0: as likely as not).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from refute.repository.file_kinds import role_of
from refute.repository.manner import manner, under_failure
from refute.repository.ranking import Candidate
from refute.repository.sentences import stem, words_of

WEIGHTS = Path(__file__).with_name("learned_worth.json")


def features(row: Candidate) -> Iterator[tuple[str, float]]:
    """What the model looks at, each by its name."""
    said = row.statement
    words = words_of(said.text)
    stems = [stem(word) for word in words]
    yield "worth", row.worth
    yield "score", said.score
    yield "promise", math.log1p(said.promise)
    yield "domain", math.log1p(said.domain)
    yield "manner", manner(row)
    yield "length", min(len(words), 60) / 20
    yield "sentences", min(said.text.count(". "), 4) / 4
    yield f"channel {said.channel}", 1.0
    yield f"role {role_of(row.path)}", 1.0
    yield f"category {said.category}", 1.0
    if under_failure(said.text):
        yield "under failure", 1.0
    if words:
        yield f"starts {words[0]}", 1.0
    for kind in set(said.reasons):
        yield f"promise {kind}", 1.0
    for word in long_stems(words):
        yield f"word {word}", 1.0
    for pair in {f"pair {one} {next_}" for one, next_ in pairwise(stems)}:
        yield pair, 1.0
    for word in long_stems(words_of(" ".join(said.heading.split(" > ")[-2:]))):
        yield f"heading {word}", 1.0
    for word in long_stems(words_of("/".join(row.path.split("/")[-3:]))):
        yield f"place {word}", 1.0


def long_stems(words: Sequence[str]) -> frozenset[str]:
    """The stems of the words of three letters or more."""
    return frozenset(stem(word) for word in words if len(word) > 2)


@lru_cache(maxsize=1)
def learned_weights() -> dict[str, float]:
    """The fitted weights by feature; `bias` is what each sentence has."""
    weights: dict[str, float] = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return weights


def by_learned_worth(rows: Sequence[Candidate]) -> list[Candidate]:
    """The candidates with their learned worth, best first."""
    weights = learned_weights()
    judged = [
        replace(
            row,
            worth=weights["bias"] + sum(weights.get(name, 0.0) * value for name, value in features(row)),
        )
        for row in rows
    ]
    judged.sort(key=lambda row: (-row.worth, row.path, row.statement.line))
    return judged
