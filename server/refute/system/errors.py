"""What goes wrong with a system under test, by whose fault it is."""

from __future__ import annotations

from refute.errors import InputError, UnavailableError


class ClusterError(UnavailableError):
    """The system cannot be had on this machine now: a port in use, a node that dies or never gets ready."""


class ClusterInputError(InputError):
    """The description is at fault: a command that does not exist, a template without a value."""
