"""Reads a history in whatever format it is kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from refute.history.error import HistoryError
from refute.history.event_reader import read_history
from refute.history.history import History
from refute.history.pairing import OnBadLine

FORMATS: Mapping[str, Callable[..., History]] = {"refute": read_history}


def load(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - the option's name everywhere
    on_bad_line: OnBadLine = "error",
) -> History:
    """The history in a file.

    Raises HistoryError with `file:line` for what cannot be read; with `on_bad_line="count"` such
    lines are left out and counted in `completeness.unreadable_lines`.
    """
    name = format or "refute"
    if name not in FORMATS:
        raise HistoryError(f"there is no format {name!r}", hint=f"there are: {', '.join(FORMATS)}")
    return FORMATS[name](path, on_bad_line=on_bad_line)
