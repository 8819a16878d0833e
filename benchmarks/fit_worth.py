"""Fits the weights of `learned_worth.json` to the hand-made lists, or prints how well they carry over.

    python benchmarks/fit_worth.py --repositories DIR [--check]

With `--check`, each repository is judged by weights fitted to the others. What a reader said of the first
claims of further repositories (`gold/first`) is fitted to beside the lists. What is in `gold/untuned` and
`gold/first-untuned` is never fitted to: `score_claims.py` and `score_first.py` measure by it.
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
JUDGED = GOLD / "first"
# of all judged claims of a repository together; the claims of a list have 1, the rest of its rows 8
WEIGHT_OF_JUDGED = 2.0
PENALTY = 0.3
IN_REPOSITORIES = 8  # a word that fewer of them use has no weight
KEPT_WORDS = 900
MOST_ROWS = 3000
OF_WORDS = ("word ", "starts ")
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


def read_judged(place: Path, judged: Path) -> tuple[list[Candidate], np.ndarray]:
    """The candidates that a reader judged, and which of them belong in a plan."""
    said = {(row["path"], row["line"], row["end_line"]): row for row in read_rows(judged)}
    with open_repository(place, revision=next(iter(said.values()))["commit"]) as snapshot:
        rows = [row for row in candidates(survey(snapshot).files) if lines_of(row) in said]
    return rows, np.array([said[lines_of(row)]["in_plan"] for row in rows], dtype=float)


def lines_of(row: Candidate) -> tuple[str, int, int]:
    """Where the statement stands."""
    return row.path, row.statement.line, row.statement.end_line


def fit(
    matrices: list[sp.csr_matrix],
    found: list[np.ndarray],
    judged: list[tuple[sp.csr_matrix, np.ndarray]],
    free: np.ndarray,
) -> np.ndarray:
    """Weights of a logistic regression in which every repository counts the same.

    The judged claims are the first of their repositories, so that far more of them belong in a plan than of
    the rows behind a list: they have an intercept of their own.
    """
    inputs = sp.vstack([*matrices, *(rows for rows, _ in judged)]).tocsr()
    wanted = np.concatenate([*found, *(said for _, said in judged)])
    counts = np.concatenate(
        [
            *(np.where(one > 0, 1 / max(one.sum(), 1), 8 / max((1 - one).sum(), 1)) for one in found),
            *(np.full(len(said), WEIGHT_OF_JUDGED / len(said)) for _, said in judged),
        ]
    )
    listed = sum(len(one) for one in found)
    apart = np.zeros((len(wanted), 2))
    apart[:listed, 0] = apart[listed:, 1] = 1
    inputs = sp.hstack([inputs, apart]).tocsr()
    penalty = np.append(np.where(free, 0.001, PENALTY), [0.0, 0.0])

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        odds = 1 / (1 + np.exp(-np.clip(inputs @ weights, -30, 30)))
        told = -(counts * (wanted * np.log(odds + 1e-12) + (1 - wanted) * np.log(1 - odds + 1e-12))).sum()
        slope = counts * (odds - wanted)
        return told + (penalty * weights**2).sum(), inputs.T @ slope + 2 * penalty * weights

    start = np.zeros(inputs.shape[1])
    return minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 120}).x[:-2]


def main() -> None:
    """Read, fit, and write or check."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repositories", type=Path, required=True)
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    read_in = [read(place_of(asked.repositories, gold), gold) for gold in sorted(GOLD.glob("*.jsonl"))]
    read_first = [
        read_judged(place_of(asked.repositories, judged), judged) for judged in sorted(JUDGED.glob("*.jsonl"))
    ]
    described = [[dict(features(row)) for row in rows] for rows, _, _ in read_in]
    spread = Counter(name for rows in described for name in {name for row in rows for name in row})
    names = sorted(
        name for name, count in spread.items() if count >= IN_REPOSITORIES or not name.startswith(OF_WORDS)
    )
    at = {name: index for index, name in enumerate(names)}
    matrices = [matrix_of(rows, at) for rows in described]
    judged = [
        (matrix_of([dict(features(row)) for row in rows], at), said) for rows, said in read_first if rows
    ]
    found = [one for _, one, _ in read_in]
    free = np.array([name in ALWAYS for name in names])
    hand = np.concatenate([[row.worth for row in rows] for rows, _, _ in read_in])
    if asked.check:
        sums = Counter[str]()
        for left_out, (rows, _, listed) in enumerate(read_in):
            others = [index for index in range(len(read_in)) if index != left_out]
            weights = fit([matrices[i] for i in others], [found[i] for i in others], judged, free)
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
    # lists reward what a reader looked for, judged claims what was no noise: the mean of both serves both
    learned = (
        scaled(fit(matrices, found, [], free), matrices, hand)
        + scaled(fit(matrices, found, judged, free), matrices, hand)
    ) / 2
    words = sorted((n for n in names if n.startswith(OF_WORDS)), key=lambda n: -abs(learned[at[n]]))
    kept = {*words[:KEPT_WORDS], *(n for n in names if not n.startswith(OF_WORDS))}
    table = {name: round(float(learned[at[name]]), 3) for name in sorted(kept)}
    WEIGHTS.write_text(json.dumps(table, indent=0) + "\n", encoding="utf-8")
    print(f"{len(table)} weights from {len(read_in)} lists written to {WEIGHTS}")


def place_of(repositories: Path, listed: Path) -> Path:
    """Where the repository of a list is."""
    place = repositories / listed.stem
    return place / "repo" if (place / "repo").is_dir() else place


def matrix_of(rows: list[dict[str, float]], at: dict[str, int]) -> sp.csr_matrix:
    """The described rows as a sparse matrix whose columns are the features."""
    cells = [(r, at[n], v) for r, row in enumerate(rows) for n, v in row.items() if n in at]
    r, c, v = zip(*cells, strict=True)
    return sp.csr_matrix((v, (r, c)), shape=(len(rows), len(at)))


def scaled(weights: np.ndarray, matrices: list[sp.csr_matrix], hand: np.ndarray) -> np.ndarray:
    """Weights whose worth spreads as far as that of the rules: the ranking's own steps keep their size."""
    return weights * (hand.std() / max(float((sp.vstack(matrices) @ weights).std()), 1e-9))


if __name__ == "__main__":
    main()
