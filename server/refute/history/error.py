"""The error that a recorded file raises when it cannot be believed."""

from __future__ import annotations

from refute.errors import InputError


class HistoryError(InputError):
    """A file of operations, faults or landing evidence is malformed; `where` is `file:line`."""
