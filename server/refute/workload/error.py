"""The one exception of this room."""

from __future__ import annotations

from refute.errors import InputError


class WorkloadError(InputError):
    """A workload, client or worker that cannot be used as the plan describes it."""
