"""Correct transactions, each run at one instant: strictly serializable, and so everything weaker."""

from __future__ import annotations

import itertools
from random import Random
from typing import Any

from refute.checkers.planted.simulated import USUAL, Client, Request, Shape, simulate
from refute.history import History


def transactions(
    seed: int, shape: Shape = USUAL, *, write: str = "append", keys: int = 6, most: int = 4, rotate: int = 100
) -> History:
    """Transactions of up to `most` micro-operations: `write` is `append` (lists) or `w` (registers).

    Keys are replaced by new ones every `rotate` transactions, so that lists stay short.
    """
    values = itertools.count(1)
    count = itertools.count()

    def choose(client: Client, rng: Random) -> Request:
        base = next(count) // rotate * keys
        steps: list[list[Any]] = []
        for _ in range(rng.randint(1, most)):
            key = base + rng.randrange(keys)
            fate = rng.random()
            if fate < 0.5:
                steps.append(["r", key, None])
            elif fate < 0.8:
                steps.append([write, key, next(values)])
            else:
                steps += [["r", key, None], [write, key, next(values)]]
        return "txn", None, steps, {}

    def apply(state: dict[int, Any], client: Client, request: Request) -> tuple[bool, Any]:
        answer = []
        for function, key, value in request[2]:
            if function == "append":
                state[key] = [*state.get(key, ()), value]
            elif function == "w":
                state[key] = value
            held = state.get(key, [] if write == "append" else None)
            answer.append([function, key, held if function == "r" else value])
        return True, answer

    def final(state: dict[int, Any]) -> list[Request]:
        return [("txn", None, [["r", key, None]], {}) for key in list(state)[-keys:]]

    return simulate({}, choose, apply, final, shape, seed, final_nodes=False)
