"""What can be wrong with a session directory."""

from __future__ import annotations

from refute.errors import InputError


class SessionError(InputError):
    """A session that is not there, is not whole, or cannot be written."""
