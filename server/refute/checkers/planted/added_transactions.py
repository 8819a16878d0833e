"""Plants new transactions that nobody has to misreport: anomalies of their own, on keys of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

from refute.checkers.planted.ground import NEW_PROCESS, Ground, fresh_value, shuffled
from refute.checkers.planted.operator import Planting
from refute.checkers.planted.transactions import Transactions
from refute.history import Operation, Outcome

_PLACES = 5
Steps = tuple[tuple[str, str, Any], ...]
"""A transaction as (function, key, value written or read); the keys `x` and `y` stand for new ones."""


@dataclass(frozen=True)
class AddedTransactions:
    """Transactions on two new keys: `concurrent` at one moment of the history, the `last` after its end."""

    sentence: str
    concurrent: tuple[Steps, ...]
    last: Steps = ()

    def places(self, ground: Ground, rng: Random) -> Iterator[Planting]:
        """Copies with the transactions added, at random moments; nothing where there are no transactions."""
        txns = Transactions(ground)
        if not txns.by_index:
            return
        taken = [key for key, _ in txns.writers]
        x = fresh_value(txns.key_like, taken)
        keys = {"x": x, "y": fresh_value(txns.key_like, [*taken, x])}
        operations = ground.history.operations
        end_ns = max(max(o.invoked_ns, o.completed_ns or 0) for o in operations)
        for operation in shuffled(operations, rng)[:_PLACES]:
            planned = [(steps, operation.invoked_ns) for steps in self.concurrent]
            if self.last:
                planned.append((self.last, end_ns + 1))
            added = tuple(
                _transaction(ground, number, [[does, keys[key], value] for does, key, value in steps], at_ns)
                for number, (steps, at_ns) in enumerate(planned)
            )
            yield Planting(ground.with_added(*added), added, self.sentence)


def _transaction(ground: Ground, number: int, steps: list[list[Any]], at_ns: int) -> Operation:
    return Operation(
        index=ground.next_index + number,
        process=f"{NEW_PROCESS}-{number}",
        kind="txn",
        key=None,
        input=[[does, key, None if does == "r" else value] for does, key, value in steps],
        output=steps,
        outcome=Outcome.OK,
        invoked_ns=at_ns,
        completed_ns=at_ns + 1,
    )
