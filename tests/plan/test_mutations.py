"""A clean plan that is damaged at random does not stay clean: at least 95 of 100 damages are noticed."""

from __future__ import annotations

import pytest

from refute import resources
from refute.checkers.catalog import CATALOG
from refute.plan.check import check_plan
from tests.plan.damages import unnoticed
from tests.plan.plans import CHECKERS, FLEET, STORE, check


def test_at_least_95_of_100_random_damages_are_noticed() -> None:
    missed = unnoticed((STORE, FLEET), sorted(CHECKERS), lambda text: not check(text).defects, times=200)
    assert len(missed) <= 10, missed


@pytest.mark.parametrize("name", ["quorumkv", "etcd", "refute"])
def test_at_least_95_of_100_random_damages_of_a_real_plan_are_noticed(name: str) -> None:
    # benchmarks/score_mutations.py does 200 of each
    text = (resources.folder("testing-plans") / f"{name}.md").read_text(encoding="utf-8")
    missed = unnoticed((text,), sorted(CATALOG), lambda changed: not check_plan(changed).defects, times=80)
    assert len(missed) <= 4, missed
