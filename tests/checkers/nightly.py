"""Marks tests that try very many small histories, in blocks of seeds so that a night cut short is taken up again."""

from __future__ import annotations

from collections.abc import Callable
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
