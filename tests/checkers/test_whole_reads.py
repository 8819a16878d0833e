"""Sets and multisets: those that only grow and are read whole, and what may be read of any."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from refute.checkers import Budget, CheckerError, run_check
from refute.checkers.planted import simulated_objects
from refute.checkers.planted.simulated import Shape
from refute.history import History
from tests.checkers.test_linearizable import check
from tests.checkers.test_linearizable_objects import act

WHOLE = [
    (True, [("add", 1, None, 0, 9), ("read", None, [], 1, 2), ("read", None, [1], 3, 4)]),
    (True, [("add", 1, None, 0, 1), ("add", 2, None, 0, 9), ("read", None, [1], 2, 3), ("read", None, [1, 2], 4, 5)]),
    (True, [("add", 1, None, 0, 9), ("add", 2, None, 0, 9), ("read", None, [1], 1, 8), ("read", None, [1, 2], 1, 8)]),
    (True, [("add", 1, None, 0, 9), ("contains", 1, True, 1, 4), ("contains", 1, False, 2, 3)]),
    (False, [("add", 1, None, 0, 1), ("read", None, [], 2, 3)]),
    (False, [("add", 1, None, 0, 9), ("read", None, [1], 1, 2), ("read", None, [], 3, 4)]),
    (False, [("add", 1, None, 0, 9), ("add", 2, None, 0, 9), ("read", None, [1], 1, 8), ("read", None, [2], 1, 8)]),
    (False, [("add", 1, None, 5, 6), ("read", None, [1], 2, 3)]),
    (False, [("read", None, [1], 2, 3)]),
    (False, [("add", 1, None, 0, 1), ("read", None, [1, 1], 2, 3)]),
    (False, [("add", 1, None, 0, 9), ("contains", 1, True, 1, 2), ("contains", 1, False, 3, 4), ("read", None, [1], 5, 6)]),
    (False, [("add", 1, None, 0, 9), ("contains", 1, True, 1, 2), ("read", None, [], 3, 4)]),
    # 1 was there before 2 was asked for, so no read shows 2 alone.
    (False, [("add", 1, None, 0, 1), ("add", 2, None, 2, 9), ("read", None, [2], 3, 8), ("read", None, [1, 2], 3, 9)]),
]  # fmt: skip


@pytest.mark.parametrize("model", ["set", "multiset"])
@pytest.mark.parametrize(("holds", "operations"), WHOLE)
def test_collections_that_grow_and_are_read_whole(model: str, holds: bool, operations: list[Any]) -> None:
    result = check(*(act(process, *one) for process, one in enumerate(operations)), model=model)
    assert result.valid is holds
    if any(one[0] == "read" for one in operations):
        assert result.algorithm == "graph"


@pytest.mark.parametrize("outcome", ["ok", "info"])
def test_an_unknown_add_need_not_be_seen(outcome: str) -> None:
    added = act(0, "add", 1, None, 0, 1, outcome)
    unseen, seen = act(1, "read", None, [], 2, 3), act(1, "read", None, [1], 4, 5)
    assert check(added, unseen, seen, model="set").valid is (outcome == "info")
    assert check(added, unseen, model="set").valid is (outcome == "info")
    assert check(added, seen, act(1, "read", None, [], 6, 7), model="set").valid is False


def test_a_read_of_what_a_failed_add_had_added_is_named() -> None:
    result = check(act(0, "add", 1, None, 0, 1, "fail"), act(1, "read", None, [1], 2, 3), model="set")
    assert result.anomalies[0].name == "aborted read"
    assert result.anomalies[0].sentence == (
        "read of 1 values by process 1 shows 1, which only an add that was reported as failed had added"
    )


def test_whole_reads_of_realistic_shape_are_decided() -> None:
    made = simulated_objects.elements(3, Shape(operations=2_000, clients=8))
    result = run_check("linearizable", made, {"model": "set"}, budget=Budget(60.0, None))
    assert (result.valid, result.algorithm) == (True, "graph")
    late = next(one for one in made.operations if one.kind == "read" and one.index > 1_500)
    spoilt = [replace(one, output=one.output[1:]) if one is late else one for one in made.operations]
    result = run_check("linearizable", History(spoilt), {"model": "set"}, budget=Budget(60.0, None))
    assert result.valid is False
    assert "are left out here" in result.anomalies[0].sentence


def test_elements_of_a_set_are_independent() -> None:
    operations = [act(0, "add", number, None, 10 * number, 10 * number + 5) for number in range(50)]
    wrong = act(1, "contains", 7, False, 900, 901)
    result = check(*operations, wrong, model="set")
    assert result.valid is False
    assert [one.input for one in result.anomalies[0].operations] == [7, 7]


@pytest.mark.parametrize("model", ["set", "multiset"])
@pytest.mark.parametrize("behind", [1, 500])
def test_a_cycle_is_found_whatever_comes_after_it(model: str, behind: int) -> None:
    late = [act(process, "read", None, [7], 0, 9) for process in range(behind)]
    early, added = act(behind, "read", None, [7], 1, 2), act(behind + 1, "add", 7, None, 3, 4)
    result = check(*late, early, added, model=model)
    assert result.valid is False
    assert {one.process for one in result.anomalies[0].operations} == {behind, behind + 1}


@pytest.mark.parametrize("model", ["set", "multiset"])
@pytest.mark.parametrize("answer", [7, True, "7", {"7": 1}])
def test_a_read_of_a_collection_answers_with_a_list(model: str, answer: Any) -> None:
    with pytest.raises(CheckerError, match="operation 1: read must answer with a list of all elements, not"):
        check(act(0, "add", 7, None, 0, 1), act(1, "read", None, answer, 2, 3), model=model)
