"""The exceptions of this room: what a person can mend, and what is missing on this machine."""

from __future__ import annotations

from refute.errors import InputError, UnavailableError


class RepositoryError(InputError):
    """The folder, revision or range that was asked for cannot be read as asked (exit code 64)."""


class GitUnavailableError(UnavailableError):
    """The `git` program is needed for this and is not on the PATH (exit code 69)."""
