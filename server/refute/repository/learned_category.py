"""Chooses the category of a claim: the weights of our vocabulary, corrected by what readers have chosen.

A multinomial logistic regression whose first inputs are the weights of the categories (`weighing`), fitted to
hand-made lists by `benchmarks/fit_category.py`. Only words that many repositories use have a say.
"""

from __future__ import annotations

import json
import math
from functools import lru_cache
from pathlib import Path
from typing import Any

from refute.repository.lexicon import CATEGORIES, promises_in
from refute.repository.sentences import stem, words_of
from refute.repository.weighing import weigh

WEIGHTS = Path(__file__).with_name("learned_category.json")
_NEARLY = 0.5  # a second category has at least this share of the odds of the first


def words_with_a_say(text: str) -> set[str]:
    """The stems and the kinds of promise of a sentence."""
    return {stem(word) for word in words_of(text) if len(word) > 2} | {
        f"promise {name}" for name, _ in promises_in(text)
    }


@lru_cache(maxsize=1)
def _learned() -> tuple[list[float], list[float], dict[str, list[float]]]:
    table: dict[str, Any] = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    return table["scale"], table["bias"], table["words"]


def category_in(text: str, otherwise: int) -> tuple[int, tuple[int, ...]]:
    """The category and at most two more that are nearly as likely; `otherwise` where no word tells."""
    weighed = weigh(text)
    if weighed is None:
        return otherwise, ()
    scale, odds, words = _learned()
    odds = [scale[at] * math.log1p(weight) + odds[at] for at, weight in enumerate(weighed.sums)]
    for word in words_with_a_say(text):
        for at, weight in enumerate(words.get(word, ())):
            odds[at] += weight
    order = sorted(range(len(CATEGORIES)), key=lambda at: -odds[at])
    near = [at for at in order[1:3] if odds[at] - odds[order[0]] >= math.log(_NEARLY)]
    return order[0], tuple(near)
