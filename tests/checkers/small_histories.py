"""Small random histories: an object that is truly linearizable, whose answers are then sometimes spoilt."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from refute.history import History, Operation, Outcome

Make = Callable[[random.Random], tuple[str, Any, Any]]
"""A kind, a key and an input."""
Run = Callable[[Any, str, Any], tuple[Any, Any]]
"""The state and the output after an operation that takes effect."""
Spoil = Callable[[random.Random, str, Any], Any]
"""Another output."""


def history(
    rng: random.Random,
    make: Make,
    run: Run,
    spoil: Spoil,
    *,
    initial: Any = None,
    size: int = 7,
    clients: int = 3,
    unknown: float = 0.15,
    failed: float = 0.05,
    spoilt: float = 0.15,
) -> History:
    """Operations of some clients on one object a key, each with its point of effect inside its interval.

    Unknown operations take effect late, or never; failed ones never do, except where spoilt.
    """
    states: dict[Any, Any] = {}
    clock = [0.0] * clients
    drafts = []
    for _ in range(size):
        client = rng.randrange(clients)
        start = clock[client] + rng.choice((0, 1, 1, 2, 3))
        end = start + rng.choice((0, 1, 2, 3, 5, 8))
        outcome = Outcome.OK
        effect: float | None = rng.uniform(start, end)
        if rng.random() < unknown:
            outcome = Outcome.INFO
            effect = rng.uniform(start, end + 10) if rng.random() < 0.6 else None
        elif rng.random() < failed:
            outcome = Outcome.FAIL
            effect = rng.uniform(start, end) if rng.random() < spoilt else None
        clock[client] = end + 1
        drafts.append((start, end, effect, outcome, client, *make(rng)))
    outputs: dict[int, Any] = {}
    for number in sorted(
        (n for n, draft in enumerate(drafts) if draft[2] is not None), key=lambda n: (drafts[n][2], n)
    ):
        _, _, _, _, _, kind, key, value = drafts[number]
        states[key], outputs[number] = run(states.get(key, initial), kind, value)
    operations = []
    for number, (start, end, _, outcome, client, kind, key, value) in enumerate(drafts):
        output = outputs.get(number) if outcome is Outcome.OK else None
        if outcome is Outcome.OK and rng.random() < spoilt:
            output = spoil(rng, kind, output)
        open_ended = outcome is Outcome.INFO and rng.random() < 0.5
        operations.append(
            (int(start), number, client, kind, key, value, output, outcome, None if open_ended else int(end))
        )
    operations.sort(key=lambda draft: draft[:2])
    return History(
        [
            Operation(index, client, kind, key, value, output, outcome, start, end)
            for index, (start, _, client, kind, key, value, output, outcome, end) in enumerate(operations)
        ]
    )
