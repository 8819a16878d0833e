"""What belongs in a test plan stands before what is only worded like it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from refute.repository.learned_worth import WEIGHTS, by_learned_worth, features, learned_weights
from refute.repository.ranking import Candidate
from refute.repository.statement import Statement

GOLD = Path(__file__).with_name("gold")


def said(text: str, *, path: str = "docs/delivery.md", channel: str = "document") -> Candidate:
    return Candidate(path, "blob", Statement(text, 1, 1, channel, 3.0, 0, promise=1.0, domain=1.0), 4.0)


@pytest.mark.parametrize(
    ("promise", "noise"),
    [
        (
            "An acknowledged write is never lost, even if the leader crashes.",
            "This option must be a positive integer and is only used when the pool is created.",
        ),
        (
            "If a worker dies before it acknowledges, the message is redelivered to another consumer.",
            "If you want to wait for the commit, you can set blocking to true.",
        ),
        (
            "A follower that misses heartbeats for the election timeout becomes a candidate.",
            "Helper that must be called before each test to create a candidate.",
        ),
    ],
)
def test_a_promise_stands_before_noise_whatever_the_order(promise: str, noise: str) -> None:
    for rows in ([said(promise), said(noise)], [said(noise), said(promise)]):
        first, last = by_learned_worth(rows)
        assert (first.statement.text, last.statement.text) == (promise, noise)


def test_the_worth_is_the_sum_of_what_each_feature_weighs() -> None:
    row = said("Messages are redelivered when the lease expires.")
    weights = learned_weights()
    by_hand = weights["bias"] + math.fsum(weights.get(name, 0.0) * value for name, value in features(row))
    assert by_learned_worth([row])[0].worth == pytest.approx(by_hand)


def test_a_word_that_nobody_judged_changes_nothing_but_the_length() -> None:
    plain, strange = (
        dict(features(said(f"Messages are never lost when the {noun} fails."))) for noun in ("qqzv", "qqzw")
    )
    assert {name for name in plain if name not in strange} == {
        "word qqzv", "pair the qqzv", "pair qqzv fail",
    }  # fmt: skip
    assert not {name for name in learned_weights() if "qqzv" in name}


def test_equal_worth_is_ordered_by_place() -> None:
    rows = [said("Messages are never lost.", path=path) for path in ("docs/b.md", "docs/a.md")]
    assert [row.path for row in by_learned_worth(rows)] == ["docs/a.md", "docs/b.md"]


def test_every_weight_is_a_finite_number_of_a_feature() -> None:
    weights = json.loads(WEIGHTS.read_text(encoding="utf-8"))
    assert all(isinstance(weight, float) and math.isfinite(weight) for weight in weights.values())
    assert sum(name.startswith("word ") for name in weights) > 1000


def test_every_judgement_names_a_place_and_a_grade() -> None:
    judged = [*GOLD.glob("first/*.jsonl"), *GOLD.glob("first-untuned/*.jsonl")]
    assert len(judged) > 60
    for path in judged:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        assert len(rows[0]["commit"]) == 40, path
        places = [(row["path"], row["line"], row["end_line"]) for row in rows]
        assert len(set(places)) == len(places), path
        assert {row["grade"] for row in rows} <= {0, 1, 2, 3}, path


def test_no_repository_is_both_fitted_to_and_measured_by() -> None:
    fitted = {path.stem for path in [*GOLD.glob("*.jsonl"), *GOLD.glob("first/*.jsonl")]}
    measured = {path.stem for path in [*GOLD.glob("untuned/*.jsonl"), *GOLD.glob("first-untuned/*.jsonl")]}
    assert not fitted & measured
