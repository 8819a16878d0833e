"""Finds places where a repository contradicts itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from refute.repository.mirror import RepositorySnapshot
from refute.repository.models import Contradiction
from refute.repository.ranking import Candidate
from refute.repository.survey import Survey


def find_contradictions(
    snapshot: RepositorySnapshot, surveyed: Survey, rows: Sequence[Candidate]
) -> Iterator[Contradiction]:
    """The contradictions, the surest first."""
    del snapshot, surveyed, rows
    yield from ()
