"""Fits the weights of `learned_worth.json` to what readers said, or prints how well they carry over.

    python benchmarks/fit_worth.py --repositories DIR [--check]

Readers said two things: of single claims (`gold/first`), whether they belong in a test plan, in four grades;
and of whole repositories (`gold/*.jsonl`), which 25 claims they would start from. With `--check`, each
repository is judged by weights fitted to the others. What is in `gold/untuned` and `gold/first-untuned` is
never fitted to: `score_claims.py` and `score_first.py` measure by it.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.sparse.linalg import svds

from refute.repository.clusters import near_duplicates
from refute.repository.learned_worth import WEIGHTS, features, long_stems
from refute.repository.mirror import open_repository
from refute.repository.ranking import Candidate, candidates, ranked
from refute.repository.scoring import read_rows
from refute.repository.sentences import words_of
from refute.repository.survey import survey

GOLD = Path(__file__).parents[1] / "tests" / "repository" / "gold"
JUDGED = GOLD / "first"
# How likely it is that another reader would put a claim of each grade in a plan.
LIKELY = (0.0, 0.15, 0.85, 1.0)
# Of all claims of a list together and of the rest of its rows, when a judged claim has 1.
WEIGHT_OF_LISTED, WEIGHT_OF_REST = 100.0, 32.0
PENALTY, PENALTY_OF_LIKENESS, PENALTY_OF_FREE = 12.0, 15.0, 0.05
PENALTIES_OF = {"pair": 25.0, "heading": 20.0, "place": 20.0}
PENALTY_OF_REPOSITORY = 1.0
FREE = ("worth", "score", "promise", "domain", "length")
IN_REPOSITORIES = 4  # a word, or a pair of them, that fewer of them use has no weight of its own
IN_SENTENCES = 25  # and no likeness to others
DIMENSIONS = 40
MOST_ROWS = 3000
MOST_READ = 900  # of the candidates of a repository: what words stand beside each other is learned from these
LEAST_WEIGHT = 0.02
OF_WORDS = ("word ", "starts ", "pair ", "heading ", "place ")
FOLDS = 9


@dataclass(frozen=True, slots=True)
class Read:
    """Candidates of one repository, what each should be (0 to 1), and how much each counts."""

    name: str
    rows: Sequence[Candidate]
    wanted: np.ndarray
    counts: np.ndarray
    of_list: bool


def lines_of(row: Candidate) -> tuple[str, int, int]:
    """Where the statement stands."""
    return row.path, row.statement.line, row.statement.end_line


def place_of(repositories: Path, listed: Path) -> Path:
    """Where the repository of a list is."""
    place = repositories / listed.stem
    return place / "repo" if (place / "repo").is_dir() else place


def rows_of(repositories: Path, listed: Path) -> list[Candidate]:
    """All candidates of the repository of a list, at the commit that its first row names."""
    with open_repository(place_of(repositories, listed), revision=read_rows(listed)[0]["commit"]) as snapshot:
        return candidates(survey(snapshot).files)


def stems(row: Candidate) -> frozenset[str]:
    """What words the sentence of a candidate has, for the model."""
    return long_stems(words_of(row.statement.text))


def overlaps(row: Candidate, listed: dict[str, Any]) -> bool:
    """Whether the statement stands on the lines of the listed claim."""
    said = row.statement
    return row.path == listed["path"] and said.line <= listed["end_line"] and said.end_line >= listed["line"]


def read_listed(repositories: Path, gold: Path) -> Read:
    """The best candidates of a repository, and which of them stand on listed lines."""
    listed = read_rows(gold)
    rows = rows_of(repositories, gold)[:MOST_ROWS]
    found = np.array([any(overlaps(row, claim) for claim in listed) for row in rows], dtype=float)
    counts = np.where(
        found > 0, WEIGHT_OF_LISTED / max(found.sum(), 1), WEIGHT_OF_REST / max((1 - found).sum(), 1)
    )
    return Read(gold.stem, rows, found, counts, of_list=True)


def read_judged(repositories: Path, judged: Path) -> Read:
    """The candidates that a reader judged, and how likely they belong in a plan."""
    said = {(row["path"], row["line"], row["end_line"]): LIKELY[row["grade"]] for row in read_rows(judged)}
    rows = [row for row in rows_of(repositories, judged) if lines_of(row) in said]
    likely = np.array([said[lines_of(row)] for row in rows])
    return Read(judged.stem, rows, likely, np.ones(len(rows)), of_list=False)


def likeness(sentences: Sequence[frozenset[str]]) -> tuple[list[str], np.ndarray]:
    """Words, and for each a vector of length 1: words that stand beside the same words have vectors alike.

    The left singular vectors of the positive pointwise mutual information of words in one sentence, with
    the square roots of the singular values, and context counts to the power 3/4 (Levy, Goldberg and Dagan,
    "Improving distributional similarity with lessons learned from word embeddings", TACL 2015).
    """
    counted = Counter(word for sentence in sentences for word in sentence)
    words = sorted(word for word, count in counted.items() if count >= IN_SENTENCES)
    at = {word: index for index, word in enumerate(words)}
    cells = [(r, at[word]) for r, sentence in enumerate(sentences) for word in sentence if word in at]
    r, c = zip(*cells, strict=True)
    stands = sp.csr_matrix((np.ones(len(r)), (r, c)), shape=(len(sentences), len(words)))
    beside = (stands.T @ stands).tolil()
    beside.setdiag(0)
    pairs = beside.tocoo()
    of_word = np.bincount(pairs.row, weights=pairs.data, minlength=len(words))
    as_context = of_word**0.75 / (of_word**0.75).sum()
    information = np.log(pairs.data / (of_word[pairs.row] * as_context[pairs.col]))
    positive = information > 0
    table = sp.csr_matrix(
        (information[positive], (pairs.row[positive], pairs.col[positive])), shape=pairs.shape
    )
    left, strength, _ = svds(table, k=DIMENSIONS, random_state=0)
    vectors = left * np.sqrt(strength)
    return words, vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)


@dataclass(frozen=True, slots=True)
class Model:
    """The columns of the regression: named features, then the likenesses of the words, summed."""

    names: Sequence[str]
    words: Sequence[str]
    vectors: np.ndarray

    def matrix(self, rows: Sequence[Candidate]) -> sp.csr_matrix:
        """The rows described."""
        named = _cells((features(row) for row in rows), self.names, len(rows))
        worded = _cells((((word, 1.0) for word in stems(row)) for row in rows), self.words, len(rows))
        return sp.hstack([named, worded @ self.vectors]).tocsr()

    def penalties(self) -> np.ndarray:
        """What the square of each weight costs."""
        named = [
            PENALTY_OF_FREE if name in FREE else PENALTIES_OF.get(name.split()[0], PENALTY)
            for name in self.names
        ]
        return np.array([*named, *[PENALTY_OF_LIKENESS] * self.vectors.shape[1]])

    def by_name(self, weights: np.ndarray) -> dict[str, float]:
        """The weights as the product uses them: what a likeness weighs is given to each word that has it."""
        table = dict(zip(self.names, weights, strict=False))
        for word, weight in zip(self.words, self.vectors @ weights[len(self.names) :], strict=True):
            table[f"word {word}"] = table.get(f"word {word}", 0.0) + weight
        return {name: round(float(weight), 3) for name, weight in sorted(table.items())}


def _cells(
    described: Iterable[Iterable[tuple[str, float]]], names: Sequence[str], count: int
) -> sp.csr_matrix:
    at = {name: index for index, name in enumerate(names)}
    cells = [(r, at[name], value) for r, row in enumerate(described) for name, value in row if name in at]
    r, c, v = zip(*cells, strict=True)
    return sp.csr_matrix((v, (r, c)), shape=(count, len(names)))


def fit(parts: Sequence[tuple[sp.csr_matrix, Read]], penalties: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights and bias of the logistic regression.

    Of the rows of a list few are listed, while most of the judged belong in a plan: the lists have a bias of
    their own, which nobody else uses. Neither does anybody use how much more or less each judged repository
    promises than others: what its words weigh should not have to explain it.
    """
    inputs = sp.vstack([matrix for matrix, _ in parts])
    wanted = np.concatenate([read.wanted for _, read in parts])
    counts = np.concatenate([read.counts for _, read in parts])
    of_list = np.concatenate([np.full(len(read.rows), read.of_list) for _, read in parts])
    own = sp.block_diag([np.full((len(read.rows), 1), float(not read.of_list)) for _, read in parts])
    inputs = sp.hstack([inputs, own, np.column_stack([~of_list, of_list])]).tocsr()
    penalty = np.concatenate([penalties, np.full(len(parts), PENALTY_OF_REPOSITORY), [0.0, 0.0]])

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        odds = 1 / (1 + np.exp(-np.clip(inputs @ weights, -30, 30)))
        told = -(counts * (wanted * np.log(odds + 1e-12) + (1 - wanted) * np.log(1 - odds + 1e-12))).sum()
        return told + (penalty * weights**2).sum(), inputs.T @ (
            counts * (odds - wanted)
        ) + 2 * penalty * weights

    start = np.zeros(inputs.shape[1])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 200}).x
    return found[: len(penalties)], float(found[-2])


def columns(said: Sequence[Read], described: Sequence[Sequence[Candidate]]) -> Model:
    """The features that are in what was said of enough repositories, and the likenesses of all words."""
    spread = Counter(
        name for read in said for name in {name for row in read.rows for name, _ in features(row)}
    )
    names = sorted(n for n, c in spread.items() if c >= IN_REPOSITORIES or not n.startswith(OF_WORDS))
    sentences = sorted({stems(row) for rows in described for row in rows[:MOST_READ]}, key=sorted)
    return Model(names, *likeness(sentences))


def check(model: Model, judged: Sequence[Read], listed: Sequence[Read]) -> None:
    """Judge each repository by weights fitted to the others."""
    matrices = {id(read): model.matrix(read.rows) for read in (*judged, *listed)}
    names = sorted({read.name for read in (*judged, *listed)})
    order = np.random.default_rng(1).permutation(len(names))
    sums, counted = Counter[str](), 0
    for fold in np.array_split(order, FOLDS):
        out = {names[at] for at in fold}
        parts = [(matrices[id(read)], read) for read in (*judged, *listed) if read.name not in out]
        weights, bias = fit(parts, model.penalties())
        for read in judged:
            if read.name in out:
                worth = matrices[id(read)] @ weights + bias
                first = read.wanted[np.argsort(-worth, kind="stable")][:30]
                counted += 1
                sums["of 30 in a plan"] += (first > 0.5).sum()
                sums["with 24"] += (first > 0.5).sum() >= 24
        for read in listed:
            if read.name in out:
                rows = [
                    replace(row, worth=float(worth))
                    for row, worth in zip(read.rows, matrices[id(read)] @ weights + bias, strict=True)
                ]
                rows.sort(key=lambda row: -row.worth)
                shown = ranked(near_duplicates(rows), 200)
                claims = read_rows(GOLD / f"{read.name}.jsonl")
                sums["listed"] += len(claims)
                for cut in (50, 200):
                    sums[f"listed @{cut}"] += sum(
                        any(overlaps(row, claim) for cluster in shown[:cut] for row in cluster)
                        for claim in claims
                    )
    print(
        f"{counted} repositories, each by weights fitted to the others: of the best 30 of the judged claims "
        f"{sums['of 30 in a plan'] / counted:.1f} belong in a plan, 24 or more in "
        f"{100 * sums['with 24'] / counted:.0f} % of repositories"
    )
    for cut in (50, 200):
        print(f"of listed claims @{cut}: {100 * sums[f'listed @{cut}'] / sums['listed']:.0f} %")


def main() -> None:
    """Read, fit, and write or check."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repositories", type=Path, required=True)
    parser.add_argument("--check", action="store_true")
    asked = parser.parse_args()
    judged = [read_judged(asked.repositories, path) for path in sorted(JUDGED.glob("*.jsonl"))]
    listed = [read_listed(asked.repositories, path) for path in sorted(GOLD.glob("*.jsonl"))]
    described = [rows_of(asked.repositories, path) for path in sorted(JUDGED.glob("*.jsonl"))]
    model = columns([*judged, *listed], described)
    if asked.check:
        check(model, judged, listed)
        return
    weights, bias = fit([(model.matrix(read.rows), read) for read in (*judged, *listed)], model.penalties())
    table = {"bias": round(bias, 3), **model.by_name(weights)}
    table = {name: weight for name, weight in table.items() if abs(weight) >= LEAST_WEIGHT}
    WEIGHTS.write_text(json.dumps(table, indent=0) + "\n", encoding="utf-8")
    print(
        f"{len(table)} weights, from {len(judged)} judged repositories and {len(listed)} lists, in {WEIGHTS}"
    )


if __name__ == "__main__":
    main()
