"""Fits `learned_category.json` to the hand-made lists, and prints how well that carries over.

    python benchmarks/fit_category.py --repositories DIR

First each repository is judged by weights fitted to the others, beside our vocabulary alone; then all are
fitted. The lists in `gold/untuned` have no part in it.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from refute.repository.learned_category import WEIGHTS, words_with_a_say
from refute.repository.lexicon import CATEGORIES
from refute.repository.mirror import open_repository
from refute.repository.scoring import read_rows
from refute.repository.survey import survey
from refute.repository.weighing import weigh

GOLD = Path(__file__).parents[1] / "tests" / "repository" / "gold"
IN_REPOSITORIES = 5
WORD_PENALTY, PENALTY, LEAST_WEIGHT = 5.0, 3.0, 0.04
KINDS = len(CATEGORIES)


def fit(vocabulary: np.ndarray, words: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Scale and bias of each category, then a row of corrections for each word, in one vector."""

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        scale, bias, rows = flat[:KINDS], flat[KINDS : 2 * KINDS], flat[2 * KINDS :].reshape(-1, KINDS)
        odds = vocabulary * scale + bias + words @ rows
        odds = np.exp(odds - odds.max(1, keepdims=True))
        odds /= odds.sum(1, keepdims=True)
        slope = odds - wanted
        cost = -(wanted * np.log(odds + 1e-12)).sum()
        cost += PENALTY * (((scale - 2) ** 2).sum() + (bias**2).sum()) + WORD_PENALTY * (rows**2).sum()
        parts = (
            (slope * vocabulary).sum(0) + 2 * PENALTY * (scale - 2),
            slope.sum(0) + 2 * PENALTY * bias,
            (words.T @ slope + 2 * WORD_PENALTY * rows).ravel(),
        )
        return cost, np.concatenate(parts)

    start = np.concatenate([np.full(KINDS, 2.0), np.zeros(KINDS + words.shape[1] * KINDS)])
    return minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 60}).x


def chosen(flat: np.ndarray, vocabulary: np.ndarray, words: np.ndarray) -> np.ndarray:
    """The most likely category of each row."""
    rows = flat[2 * KINDS :].reshape(-1, KINDS)
    return (vocabulary * flat[:KINDS] + flat[KINDS : 2 * KINDS] + words @ rows).argmax(1)


def main() -> None:
    """Read the statements on listed lines, print how the fit carries over, write it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repositories", type=Path, required=True)
    asked = parser.parse_args()
    sums, said, right, first, of_list, plain = [], [], [], [], [], []
    for number, gold in enumerate(sorted(GOLD.glob("*.jsonl"))):
        listed = read_rows(gold)
        place = asked.repositories / gold.stem
        place = place / "repo" if (place / "repo").is_dir() else place
        with open_repository(place, revision=listed[0]["commit"]) as snapshot:
            statements = {file.path: facts.statements for file, facts in survey(snapshot).files}
        for claim in listed:
            for row in statements.get(claim["path"], ()):
                weighed = weigh(row.text) if row.channel != "code" else None
                if weighed is None or row.line > claim["end_line"] or row.end_line < claim["line"]:
                    continue
                sums.append(weighed.sums)
                said.append(words_with_a_say(row.text))
                right.append(
                    [name in {claim["category"], *claim.get("also_category", ())} for name in CATEGORIES]
                )
                first.append([name == claim["category"] for name in CATEGORIES])
                of_list.append(number)
                plain.append(weighed.category)
    lists = np.array(of_list)
    used = {(number, word) for number, words in zip(of_list, said, strict=True) for word in words}
    spread = Counter(word for _, word in used)
    names = sorted(word for word, count in spread.items() if count >= IN_REPOSITORIES)
    words = np.array([[name in row for name in names] for row in said], dtype=float)
    vocabulary = np.log1p(np.array(sums))
    allowed = np.array(right)
    wanted = allowed.astype(float) + np.array(first)
    wanted /= wanted.sum(1, keepdims=True)
    carried = np.array(plain)
    for number in sorted(set(of_list)):
        others = lists != number
        flat = fit(vocabulary[others], words[others], wanted[others])
        carried[~others] = chosen(flat, vocabulary[~others], words[~others])
    rows = np.arange(len(lists))
    print(
        f"{len(rows)} statements: vocabulary {100 * allowed[rows, plain].mean():.0f} % right, "
        f"corrected by the other lists {100 * allowed[rows, carried].mean():.0f} %"
    )
    flat = fit(vocabulary, words, wanted)
    corrections = flat[2 * KINDS :].reshape(-1, KINDS)
    table = {
        "scale": [round(float(value), 2) for value in flat[:KINDS]],
        "bias": [round(float(value), 2) for value in flat[KINDS : 2 * KINDS]],
        "words": {
            name: [round(float(value), 2) for value in corrections[at]]
            for at, name in enumerate(names)
            if abs(corrections[at]).max() >= LEAST_WEIGHT
        },
    }
    shown = json.dumps(table).replace('], "', '],\n"')
    WEIGHTS.write_text(shown + "\n", encoding="utf-8")
    print(f"{len(table['words'])} words written to {WEIGHTS}")


if __name__ == "__main__":
    main()
