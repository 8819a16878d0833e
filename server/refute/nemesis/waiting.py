"""Waiting for something that nobody announces."""

from __future__ import annotations

import time
from collections.abc import Callable


def within(seconds: float, holds: Callable[[], bool], *, every_s: float = 0.005) -> bool:
    """Whether something came to hold within the time; asked again every `every_s` seconds."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(every_s)
    return True
