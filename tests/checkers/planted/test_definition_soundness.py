"""What is planted breaks the definition of the property, as the fuzz tests of its checker state it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import pytest

from refute.checkers.planted import operators_for
from refute.checkers.planted import simulated_objects as simulated
from refute.checkers.planted import simulated_services as services
from refute.checkers.planted.ground import Ground
from refute.checkers.planted.simulated import Shape
from refute.history import History, Outcome

from .. import (
    test_counter,
    test_mutual_exclusion,
    test_prefix,
    test_sessions,
    test_set_full,
    test_staleness,
)

SHAPE = Shape(operations=30, clients=3)
Truth = Callable[[History], Any]
LAGS = {"max_ms": 1000, "max_versions": 6}

CASES: list[tuple[str, Mapping[str, Any], Callable[..., History], Truth]] = [
    *((name, {}, simulated.replicas, truth) for name, truth in test_sessions.TRUTHS.items()),
    (
        "bounded-staleness",
        LAGS,
        partial(simulated.replicas, keys=1),
        partial(test_staleness.truth, max_ms=1000, max_versions=6),
    ),
    ("counter", {}, partial(simulated.counters, keys=1, retries=0), test_counter.truth),
    ("prefix", {"real_time": True}, partial(simulated.elements, kind="append"), test_prefix.truth),
    ("mutual-exclusion", {}, services.locks, test_mutual_exclusion.truth),
    ("set-full", {"linearizable": True}, simulated.elements, test_set_full.truth),
]

DOUBLED = {"doubled-member", "invented-element"}
"""What the truth of set-full does not speak of: tried in `test_object_soundness` instead."""


def answered(history: History) -> History:
    """Without the reads that nobody saw an answer of, which the definitions do not speak of."""
    operations = [o for o in history.operations if o.kind != "read" or o.outcome is Outcome.OK]
    return replace(history, operations=operations)


@pytest.mark.parametrize(("checker", "options", "make", "truth"), CASES)
def test_what_is_planted_breaks_the_definition(
    checker: str, options: Mapping[str, Any], make: Callable[..., History], truth: Truth
) -> None:
    found = 0
    for seed in range(60):
        history = make(seed, shape=SHAPE)
        assert not truth(answered(history))
        ground = Ground(history, checker, options)
        for operator in operators_for(checker, options):
            if operator.name in DOUBLED:
                continue
            for planting in itertools.islice(operator.places(ground, Random(seed)), 3):
                assert truth(answered(planting.history)), (operator.name, planting.sentence)
                found += 1
    assert found >= 60
