"""The choices that differ between this release and the next one, in one table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Policies:
    """How a node behaves where two releases differ; every node of a cluster uses the same set."""

    name: str
    wal_format: int
    """1: index, term, time and command of an entry. 2: the request id as well."""
    snapshot_format: int
    """1: items, replies and the position of each feed. 2: whole feeds; restored in one piece."""
    export_format: int
    """1: scan by tenant. 2: scan by tenant and separator, with the version of every item."""
    leader_reads: str
    """`applied`: from the leader's applied state. `confirmed`: after a round trip to a majority."""
    quorum_loss_s: float
    """A leader that has heard from no majority for so long becomes a follower."""


CURRENT = Policies(
    name="current",
    wal_format=1,
    snapshot_format=1,
    export_format=1,
    leader_reads="applied",
    quorum_loss_s=10.0,
)

NEXT = Policies(
    name="next",
    wal_format=2,
    snapshot_format=2,
    export_format=2,
    leader_reads="confirmed",
    quorum_loss_s=0.8,
)
