"""Tests that try many small histories: how often each answer came, and blocks of seeds for a night."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest

HISTORIES = 100_000
"""How many small histories every fast algorithm has to agree with its slow twin on."""
BLOCK = 5_000


def many(first: int = 10_000, histories: int = HISTORIES) -> Callable[[Any], Any]:
    """Marks a test that takes `seeds` as nightly; it runs once for each block of seeds from the first on.

    `pytest -m nightly --resume` leaves out the blocks that have passed; `-k seeds15000` runs one of each test.
    """
    blocks = [range(start, start + BLOCK) for start in range(first, first + histories, BLOCK)]
    split = pytest.mark.parametrize("seeds", blocks, ids=lambda block: f"seeds{block.start}")
    return lambda test: pytest.mark.nightly(split(test))


def how_often(compared: Callable[[random.Random], bool | None], seeds: Iterable[int]) -> list[int]:
    """How often a violation was not there and was there, in histories made of these seeds.

    `compared` makes a history, asserts that a checker and its slow twin agree, and returns their answer;
    None for a history that is no example of either. Both must come often, or nothing was compared.
    """
    seen = [0, 0]
    for seed in seeds:
        try:
            answer = compared(random.Random(seed))
        except AssertionError as error:
            error.add_note(f"seed {seed}")
            raise
        if answer is not None:
            seen[answer] += 1
    return seen
