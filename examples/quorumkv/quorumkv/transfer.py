"""Handing leadership to a chosen follower, for maintenance."""

from __future__ import annotations

import asyncio
import time

from .config import PEER_TIMEOUT_S
from .peers import Link, PeerUnreachableError
from .replica import LEADER, Replica

PATIENCE_S = 2.0
POLL_S = 0.01


class Transfer:
    """Waits until the follower has the whole log, then tells it to stand at once."""

    def __init__(self, replica: Replica, links: dict[str, Link]) -> None:
        self._replica = replica
        self._links = links

    async def hand_over(self, target: str) -> bool:
        """Whether `target` leads in the end; False leaves the cluster with some other leader."""
        replica, peer = self._replica, self._replica.peers[target]
        deadline = time.monotonic() + PATIENCE_S
        while peer.probing or peer.match < replica.log.last_index:
            if replica.role != LEADER or time.monotonic() > deadline:
                return False
            await asyncio.sleep(POLL_S)
        message = {"kind": "stand", "from": replica.config.node, "term": replica.term}
        try:
            answer = await self._links[target].call(message, PEER_TIMEOUT_S)
        except PeerUnreachableError:
            return False
        while answer["ok"] and time.monotonic() < deadline:
            if replica.leader == target:
                return True
            await asyncio.sleep(POLL_S)
        return False
