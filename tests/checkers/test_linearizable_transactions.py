"""Transactions over several keys: by saturation where their values name their writers."""

from __future__ import annotations

from typing import Any

import pytest

from refute.checkers import Budget, run_check
from refute.checkers.planted.simulated import Shape
from refute.checkers.planted.simulated_transactions import transactions
from refute.history import Operation
from tests.checkers.test_linearizable import check
from tests.checkers.test_linearizable_objects import act


def txn(process: int, start: int, end: int | None, *micros: list[Any], outcome: str = "ok") -> Operation:
    asked = [[name, key, None if name == "r" else value] for name, key, value in micros]
    return act(process, "txn", asked, list(micros) if outcome == "ok" else None, start, end, outcome)


TRANSACTIONS = [
    (True, [txn(0, 0, 1, ["w", "x", 1], ["w", "y", 1]), txn(1, 2, 3, ["r", "x", 1], ["r", "y", 1])]),
    (False, [txn(0, 0, 1, ["w", "x", 1], ["w", "y", 1]), txn(1, 2, 3, ["r", "x", 1], ["r", "y", None])]),
    (False, [txn(0, 0, 1, ["w", "x", 1]), txn(1, 2, 3, ["w", "x", 2]), txn(2, 4, 5, ["r", "x", 1])]),
    (True, [txn(0, 0, 1, ["w", "x", 1]), txn(1, 2, 9, ["w", "x", 2]), txn(2, 4, 5, ["r", "x", 1])]),
    (False, [txn(0, 0, 1, ["w", "x", 1], ["w", "x", 2]), txn(1, 0, 9, ["r", "x", 1])]),
    (False, [txn(0, 0, 1, ["w", "x", 1], ["r", "x", None])]),
    (False, [txn(0, 0, 9, ["r", "x", None], ["w", "y", 1]), txn(1, 0, 9, ["r", "y", None], ["w", "x", 1]),
             txn(2, 10, 11, ["r", "x", 1], ["r", "y", 1])]),
    (True, [txn(0, 0, 1, ["w", "x", 1], outcome="info"), txn(1, 2, 3, ["r", "x", None]), txn(1, 4, 5, ["r", "x", 1])]),
    (False, [txn(0, 0, 1, ["w", "x", 1], outcome="info"), txn(1, 2, 3, ["r", "x", 1]), txn(1, 4, 5, ["r", "x", None])]),
    (True, [txn(0, 0, 9, ["append", "x", 1]), txn(1, 0, 9, ["append", "x", 2]), txn(2, 0, 9, ["r", "x", [2, 1]])]),
    (False, [txn(0, 0, 1, ["append", "x", 1]), txn(1, 2, 3, ["append", "x", 2]), txn(2, 0, 9, ["r", "x", [2, 1]])]),
    (False, [txn(0, 0, 1, ["append", "x", 1]), txn(2, 2, 3, ["r", "x", None])]),
    (False, [txn(0, 0, 1, ["append", "x", 1], ["append", "x", 2]), txn(2, 0, 9, ["r", "x", [1]])]),
    (True, [txn(0, 0, 1, ["append", "x", 1]), txn(2, 0, 9, ["append", "x", 2], ["r", "x", [1, 2]])]),
    (False, [txn(0, 0, 1, ["append", "x", 1]), txn(2, 2, 3, ["append", "x", 2], ["r", "x", [2]])]),
    (False, [txn(0, 0, 9, ["r", "x", [1]]), txn(1, 0, 9, ["r", "x", [2]]),
             txn(2, 0, 9, ["append", "x", 1]), txn(3, 0, 9, ["append", "x", 2])]),
]  # fmt: skip


@pytest.mark.parametrize(("holds", "operations"), TRANSACTIONS)
def test_transactions_whose_values_name_their_writers(holds: bool, operations: list[Operation]) -> None:
    result = check(*operations, model="transactions")
    assert (result.valid, result.algorithm) == (holds, "saturation")
    assert holds or check(*result.anomalies[0].operations, model="transactions").valid is False


def test_transactions_of_realistic_shape_are_decided() -> None:
    made = transactions(3, Shape(operations=2_000, clients=8), write="w")
    result = run_check("linearizable", made, {"model": "transactions"}, budget=Budget(60.0, None))
    assert (result.valid, result.algorithm) == (True, "saturation")
