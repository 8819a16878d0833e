"""The register checkers against serial orders and snapshots by enumeration."""

from __future__ import annotations

from random import Random

from brute_force import serializable, snapshot_isolated, weakly_consistent
from tests.checkers.nightly import many
from tiny_transactions import random_history

from refute.checkers import Budget, run_check
from refute.checkers.transactions.rw_register import check_rw_register

_CASES = (
    ("serializable", "serializable-exact", "none", serializable, ""),
    ("strong-session-serializable", "serializable-exact", "session", serializable, "process"),
    ("strict-serializable", "serializable-exact", "real-time", serializable, "realtime"),
    ("snapshot-isolation", "snapshot-isolation-exact", "none", snapshot_isolated, ""),
    (
        "strong-session-snapshot-isolation",
        "snapshot-isolation-exact",
        "session",
        snapshot_isolated,
        "process",
    ),
    ("strong-snapshot-isolation", "snapshot-isolation-exact", "real-time", snapshot_isolated, "realtime"),
)


def _disagreements(seeds: range, turns: int = 1) -> list[str]:
    """With `turns`, a history meets only every so-manieth of the models."""
    wrong = []
    for seed in seeds:
        history = random_history(Random(seed), register=True)
        for model, exact, order, enumerate_all, level in _CASES[seed % turns :: turns]:
            expected = enumerate_all(history, level)
            inferred = check_rw_register(history, budget=Budget(), model=model)
            searched = run_check(exact, history, {"order": order})
            if inferred.reason.startswith("no committed transaction read"):
                continue
            wrong += [
                f"seed {seed} {model} {result.checker}: {result.valid} {result.reason}"
                for result in (inferred, searched)
                if result.valid is not expected
            ]
    return wrong


def test_inference_and_search_agree_with_enumeration() -> None:
    assert _disagreements(range(3000), turns=3) == []


@many()
def test_inference_and_search_agree_with_enumeration_on_many(seeds: range) -> None:
    assert _disagreements(seeds) == []


def _weak_disagreements(seeds: range) -> list[str]:
    wrong = []
    for seed in seeds:
        history = random_history(Random(seed), register=True, keys=3)
        for level in ("read-committed", "read-atomic", "causal"):
            result = run_check(level, history)
            expected = weakly_consistent(history, level)
            if result.valid is not expected and not result.reason.startswith("no committed transaction read"):
                wrong.append(f"seed {seed} {level}: {result.valid} {result.reason}, enumeration {expected}")
    return wrong


def test_weak_levels_agree_with_all_commit_orders() -> None:
    assert _weak_disagreements(range(3000)) == []


@many()
def test_weak_levels_agree_with_all_commit_orders_on_many(seeds: range) -> None:
    assert _weak_disagreements(seeds) == []


def _view_disagreements(seeds: range) -> list[str]:
    """Monotonic atomic view is read committed by its axiom, read atomic its own, both without sessions."""
    wrong = []
    for seed in seeds:
        history = random_history(Random(seed), register=True, keys=3)
        for model, level in (("monotonic-atomic-view", "read-committed"), ("read-atomic", "read-atomic")):
            result = check_rw_register(history, budget=Budget(), model=model)
            if result.reason.startswith("no committed transaction read"):
                continue
            if level == "read-committed" and "internal" in result.details["anomalies"]:
                continue  # it asks that a transaction sees its own writes, which the model leaves aside
            expected = weakly_consistent(history, level, sessions=False)
            if result.valid is not expected:
                wrong.append(f"seed {seed} {model}: {result.valid} {result.reason}, enumeration {expected}")
    return wrong


def test_atomic_views_agree_with_all_commit_orders() -> None:
    assert _view_disagreements(range(3000)) == []


@many()
def test_atomic_views_agree_with_all_commit_orders_on_many(seeds: range) -> None:
    assert _view_disagreements(seeds) == []
