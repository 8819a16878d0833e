"""How much the words of a sentence add to the odds that a reader would put it on a list of claims.

A linear model (logistic regression with a quadratic penalty), fitted by `benchmarks/fit_worth.py` to lists
that readers made by hand, and to what a reader said of the first thirty claims of further repositories. Only
words that stand in many repositories have a weight, so that none is a product's own. The worth that our rules
give is one of its inputs, and the scale is that of the rules.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from refute.repository.file_kinds import role_of
from refute.repository.manner import under_failure
from refute.repository.ranking import Candidate
from refute.repository.sentences import stem, words_of

WEIGHTS = Path(__file__).with_name("learned_worth.json")


def features(row: Candidate) -> Iterator[tuple[str, float]]:
    """What the model looks at, each by its name."""
    said = row.statement
    words = words_of(said.text)
    yield "worth", row.worth
    yield "score", said.score
    yield "promise", math.log1p(said.promise)
    yield "domain", math.log1p(said.domain)
    yield "length", min(len(words), 60) / 20
    yield f"channel {said.channel}", 1.0
    yield f"role {role_of(row.path)}", 1.0
    yield f"category {said.category}", 1.0
    yield "sentences", min(said.text.count(". "), 4) / 4
    if under_failure(said.text):
        yield "under failure", 1.0
    if words:
        yield f"starts {words[0]}", 1.0
    for kind in set(said.reasons):
        yield f"promise {kind}", 1.0
    for word in {stem(word) for word in words if len(word) > 2}:
        yield f"word {word}", 1.0


@lru_cache(maxsize=1)
def learned_weights() -> dict[str, float]:
    """The fitted weights by feature."""
    weights: dict[str, float] = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return weights


def by_learned_worth(rows: Sequence[Candidate]) -> list[Candidate]:
    """The candidates with their learned worth, best first."""
    weights = learned_weights()
    judged = [
        replace(row, worth=sum(weights.get(name, 0.0) * value for name, value in features(row)))
        for row in rows
    ]
    judged.sort(key=lambda row: (-row.worth, row.path, row.statement.line))
    return judged
