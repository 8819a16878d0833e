"""Fits the weights of `learned_worth.json` to the hand-made lists, or prints how well they carry over.

    python benchmarks/fit_worth.py --repositories DIR [--check]

With `--check`, each repository is judged by weights fitted to the others. The lists in `gold/untuned` are
never fitted to: `score_claims.py` measures by them.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from refute.repository.clusters import near_duplicates
from refute.repository.learned_worth import WEIGHTS, features
from refute.repository.mirror import open_repository
from refute.repository.ranking import Candidate, candidates, ranked
from refute.repository.scoring import read_rows
from refute.repository.survey import survey

GOLD = Path(__file__).parents[1] / "tests" / "repository" / "gold"
PENALTY = 0.3
IN_REPOSITORIES = 8  # a word that fewer of them use has no weight
KEPT_WORDS = 500
MOST_ROWS = 3000
ALWAYS = ("worth", "score", "promise", "domain", "length")


def overlaps(row: Candidate, listed: dict[str, Any]) -> bool:
    """Whether the statement stands on the lines of the listed claim."""
    said = row.statement
    return row.path == listed["path"] and said.line <= listed["end_line"] and said.end_line >= listed["line"]


def read(place: Path, gold: Path) -> tuple[list[Candidate], np.ndarray, list[dict[str, Any]]]:
    """The best candidates of a repository, and which of them stand on listed lines."""
    listed = read_rows(gold)
    with open_repository(place, revision=listed[0]["commit"]) as snapshot:
        rows = candidates(survey(snapshot).files)[:MOST_ROWS]
    found = np.array([any(overlaps(row, claim) for claim in listed) for row in rows], dtype=float)
    return rows, found, listed


def fit(matrices: list[sp.csr_matrix], found: list[np.ndarray], free: np.ndarray) -> np.ndarray:
    """Weights of a logistic regression in which every repository counts the same."""
    inputs, wanted = sp.vstack(matrices).tocsr(), np.concatenate(found)
    counts = np.concatenate(
        [np.where(one > 0, 1 / max(one.sum(), 1), 8 / max((1 - one).sum(), 1)) for one in found]
    )
    penalty = np.where(free, 0.001, PENALTY)

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        odds = 1 / (1 + np.exp(-np.clip(inputs @ weights[:-1] + weights[-1], -30, 30)))
        told = -(counts * (wanted * np.log(odds + 1e-12) + (1 - wanted) * np.log(1 - odds + 1e-12))).sum()
        slope = counts * (odds - wanted)
        return (
            told + (penalty * weights[:-1] ** 2).sum(),
            np.append(inputs.T @ slope + 2 * penalty * weights[:-1], slope.sum()),
        )

    start = np.zeros(inputs.shape[1] + 1)
    return minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 120}).x[:-1]


def main() -> None:
    """Read, fit, and write or check."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repositories", type=Path, required=True)
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    read_in = []
    for gold in sorted(GOLD.glob("*.jsonl")):
        place = asked.repositories / gold.stem
        read_in.append(read(place / "repo" if (place / "repo").is_dir() else place, gold))
    described = [[dict(features(row)) for row in rows] for rows, _, _ in read_in]
    spread = Counter(name for rows in described for name in {name for row in rows for name in row})
    names = sorted(
        name for name, count in spread.items() if count >= IN_REPOSITORIES or not name.startswith("word ")
    )
    at = {name: index for index, name in enumerate(names)}
    matrices = []
    for rows in described:
        cells = [(r, at[n], v) for r, row in enumerate(rows) for n, v in row.items() if n in at]
        r, c, v = zip(*cells, strict=True)
        matrices.append(sp.csr_matrix((v, (r, c)), shape=(len(rows), len(names))))
    found = [one for _, one, _ in read_in]
    free = np.array([name in ALWAYS for name in names])
    hand = np.concatenate([[row.worth for row in rows] for rows, _, _ in read_in])
    if asked.check:
        sums = Counter[str]()
        for left_out, (rows, _, listed) in enumerate(read_in):
            others = [index for index in range(len(read_in)) if index != left_out]
            weights = fit([matrices[i] for i in others], [found[i] for i in others], free)
            learned = scaled(weights, matrices, hand)
            for name, worth in (
                ("rules", [row.worth for row in rows]),
                ("learned", matrices[left_out] @ learned),
            ):
                judged = [
                    Candidate(row.path, row.blob, row.statement, float(w))
                    for row, w in zip(rows, worth, strict=True)
                ]
                judged.sort(key=lambda row: -row.worth)
                order = ranked(near_duplicates(judged), 200)
                for cut in (50, 200):
                    sums[f"{name} @{cut}"] += sum(
                        any(overlaps(row, claim) for cluster in order[:cut] for row in cluster)
                        for claim in listed
                    )
        total = sum(len(listed) for _, _, listed in read_in)
        print(", ".join(f"{name} {100 * count / total:.0f} %" for name, count in sums.items()))
        return
    learned = scaled(fit(matrices, found, free), matrices, hand)
    words = sorted((n for n in names if n.startswith("word ")), key=lambda n: -abs(learned[at[n]]))
    kept = {*words[:KEPT_WORDS], *(n for n in names if not n.startswith("word "))}
    table = {name: round(float(learned[at[name]]), 3) for name in sorted(kept)}
    WEIGHTS.write_text(json.dumps(table, indent=0) + "\n", encoding="utf-8")
    print(f"{len(table)} weights from {len(read_in)} lists written to {WEIGHTS}")


def scaled(weights: np.ndarray, matrices: list[sp.csr_matrix], hand: np.ndarray) -> np.ndarray:
    """Weights whose worth spreads as far as that of the rules: the ranking's own steps keep their size."""
    return weights * (hand.std() / max(float((sp.vstack(matrices) @ weights).std()), 1e-9))


if __name__ == "__main__":
    main()
