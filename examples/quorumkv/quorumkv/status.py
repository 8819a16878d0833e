"""What a node says of itself: the JSON of /status and the text of /metrics."""

from __future__ import annotations

import time
from typing import Any

from .config import HEARTBEAT_S
from .replica import LEADER, Replica

SILENCE_S = 6 * HEARTBEAT_S
"""A follower that has heard no leader for so long does not call itself in sync."""


def followers(replica: Replica) -> dict[str, dict[str, Any]]:
    """The leader's view of each follower."""
    return {
        name: {
            "connected": not peer.probing,
            "match_index": peer.match,
            "applied": peer.applied,
            "in_sync": not peer.probing
            and peer.match == replica.log.last_index
            and peer.applied == replica.applied,
        }
        for name, peer in replica.peers.items()
    }


def status(replica: Replica) -> dict[str, Any]:
    if replica.role == LEADER:
        peers = followers(replica)
        in_sync = replica.ready and all(peer["in_sync"] for peer in peers.values())
    else:
        peers = {}
        fresh = replica.leader is not None and time.monotonic() - replica.heard_at < SILENCE_S
        in_sync = fresh and replica.applied == replica.leader_commit == replica.log.last_index
    return {
        "node": replica.config.node,
        "role": replica.role,
        "term": replica.term,
        "leader": replica.leader,
        "leader_client": replica.leader_client,
        "ready": replica.ready,
        "in_sync": in_sync,
        "commit_index": replica.commit_index,
        "applied": replica.applied,
        "last_index": replica.log.last_index,
        "log_length": len(replica.log),
        "snapshot_index": replica.snapshot_index,
        "peers": peers,
        "policies": replica.config.policies.name,
    }


def metrics(replica: Replica) -> str:
    return replica.metrics.render(
        {
            "term": replica.term,
            "is_leader": int(replica.role == LEADER),
            "commit_index": replica.commit_index,
            "applied_index": replica.applied,
            "log_entries": len(replica.log),
            "fsyncs_total": replica.log.fsyncs,
        }
    )
