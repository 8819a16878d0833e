"""Every fast algorithm for registers against the slow obvious one."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from refute.checkers import run_check
from refute.checkers.linearizable import search
from refute.history import History, Operation, Outcome
from tests.checkers import brute_force, small_histories
from tests.checkers.nightly import many


def run_register(state: Any, kind: str, value: Any) -> tuple[Any, Any]:
    if kind == "write":
        return value, None
    if kind == "cas":
        return (value[1], None) if state == value[0] else (state, False)
    if kind == "append":
        return (state or "") + value, None
    if kind == "delete":
        return None, None
    return state, state


def small(rng: random.Random, flavour: str) -> History:
    counter = itertools.count(1)
    keys = rng.choice([[None], [None], ["x", "y"]])
    domain = rng.choice([2, 3])

    def make(rng: random.Random) -> tuple[str, Any, Any]:
        key = rng.choice(keys)
        kind = rng.choice(
            {
                "unique": ["read", "write"],
                "repeated": ["read", "read", "write"],
                "cas": ["read", "write", "cas", "cas"],
                "unique-cas": ["read", "write", "cas", "cas"],
                "map": ["read", "read", "write", "delete", "append"],
            }[flavour]
        )
        if kind == "cas" and flavour == "unique-cas":
            new = next(counter)
            return kind, key, [rng.choice([None, *range(1, new)]), new]
        if kind == "cas":
            return kind, key, [rng.randrange(domain), rng.randrange(domain)]
        if kind == "append":
            return kind, key, rng.choice("ab")
        if kind == "write":
            if flavour == "map":
                return kind, key, rng.choice("ab")
            return kind, key, next(counter) if flavour.startswith("unique") else rng.randrange(domain)
        return kind, key, None

    def spoil(rng: random.Random, kind: str, output: Any) -> Any:
        if kind == "cas":
            return rng.choice([None, False])
        if kind != "read":
            return output
        if flavour == "map":
            return rng.choice([None, "a", "b", "ab", "ba", "aa"])
        return rng.choice([None, *range(4)])

    return small_histories.history(
        rng, make, run_register, spoil, size=rng.randint(1, 8), clients=rng.randint(1, 4)
    )


def expected(history: History, initial: tuple[Any, ...] = (None,)) -> bool:
    keys = {op.key for op in history.operations}
    return all(
        brute_force.linearizable(
            [op for op in history.operations if op.key == key], initial, brute_force.register
        )
        for key in keys
    )


def proves(history: History, operations: tuple[Operation, ...], **options: Any) -> None:
    """The operations of an anomaly must fail by themselves, failed writes counting as nothing."""
    alone = [op for op in operations if op.outcome is not Outcome.FAIL]
    assert alone
    assert len(operations) <= 10
    keys = {op.key for op in alone}
    assert len(keys) == 1
    assert not brute_force.linearizable(alone, (None,), brute_force.register)


def try_many(flavour: str, seeds: range) -> dict[Any, int]:
    seen: dict[Any, int] = {True: 0, False: 0}
    model = "kv" if flavour == "map" else "cas-register"
    for seed in seeds:
        history = small(random.Random(seed), flavour)
        if not any(op.outcome is not Outcome.FAIL for op in history.operations):
            continue
        result = run_check("linearizable", history, {"model": model})
        truth = expected(history)
        if result.valid == "unknown":
            assert not result.consumed["ok"], (seed, result)
            continue
        assert result.valid is truth, (seed, result, list(history.operations))
        seen[truth] += 1
        if not truth:
            (anomaly,) = result.anomalies
            assert anomaly.sentence
            if flavour != "map":
                proves(history, anomaly.operations)
    return seen


@pytest.mark.parametrize("flavour", ["unique", "repeated", "cas", "unique-cas", "map"])
def test_fast_and_slow_agree_on_small_histories(flavour: str) -> None:
    seen = try_many(flavour, range(3000))
    assert min(seen.values()) > 300, seen


@pytest.mark.parametrize("flavour", ["repeated", "cas"])
def test_proofs_from_a_window_are_proofs(flavour: str, monkeypatch: pytest.MonkeyPatch) -> None:
    windows = []
    monkeypatch.setattr(search, "_LOOK_UP_EVERY", 1)
    monkeypatch.setattr(search, "_PATIENCE", 0)
    real = search.Search._window

    def watched(self: search.Search, stuck: int) -> Any:
        windows.append(real(self, stuck))
        return windows[-1]

    monkeypatch.setattr(search.Search, "_window", watched)
    try_many(flavour, range(3000))
    assert sum(finding is not None for finding in windows) > 5


def longer(seed: int) -> History:
    """A few dozen operations, too many for every order, spoilt in one place at most."""
    rng = random.Random(seed)

    def make(rng: random.Random) -> tuple[str, Any, Any]:
        kind = rng.choice(["read", "write", "cas", "cas"])
        value = [rng.randrange(3), rng.randrange(3)] if kind == "cas" else rng.randrange(3)
        return kind, None, None if kind == "read" else value

    def spoil(rng: random.Random, kind: str, output: Any) -> Any:
        return rng.randrange(3) if kind == "read" else None

    return small_histories.history(
        rng, make, run_register, spoil, size=40, clients=6, unknown=0.05, spoilt=0.02
    )


def test_a_window_proves_only_what_the_whole_search_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    histories = [longer(seed) for seed in range(300)]
    whole = [run_check("linearizable", one).valid for one in histories]
    monkeypatch.setattr(search, "_LOOK_UP_EVERY", 1)
    monkeypatch.setattr(search, "_PATIENCE", 0)
    assert [run_check("linearizable", one).valid for one in histories] == whole
    assert min(whole.count(True), whole.count(False)) > 50


@many()
@pytest.mark.parametrize("flavour", ["unique", "repeated", "cas", "unique-cas", "map"])
def test_fast_and_slow_agree_on_very_many_small_histories(flavour: str, seeds: range) -> None:
    seen = try_many(flavour, seeds)
    assert min(seen.values()) > 400, seen


@pytest.mark.parametrize("flavour", ["unique", "repeated", "cas"])
def test_an_unknown_initial_value_may_be_any_one_value(flavour: str) -> None:
    seen = {True: 0, False: 0}
    for seed in range(1500):
        history = small(random.Random(seed), flavour)
        keys = {op.key for op in history.operations if op.outcome is not Outcome.FAIL}
        truth = all(
            any(expected(one, (initial,)) for initial in (None, "else", *range(12)))
            for key in keys
            for one in [History([op for op in history.operations if op.key == key])]
        )
        result = run_check("linearizable", history, {"unknown_initial": True})
        if result.valid == "unknown":
            continue
        assert result.valid is truth, (seed, result, list(history.operations))
        seen[truth] += 1
    assert min(seen.values()) > 50, seen
