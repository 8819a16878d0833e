"""How a process of ours is started in Python: wherever it is started, it imports nothing from there."""

from __future__ import annotations

import sys


def python(*arguments: str) -> list[str]:
    """The command line of this interpreter with these arguments, safe to start in a stranger's folder.

    `python -m` and `python -c` look for modules in the working directory first, and an agent works in the
    repository that it asks about: a folder `refute`, or a `pickle.py`, at its top would run in our place.
    """
    return [sys.executable, "-P", *arguments]
