"""What can be wrong with a request to a tool."""

from __future__ import annotations

from refute.errors import InputError


class ToolError(InputError):
    """A request that cannot be carried out as it stands."""
