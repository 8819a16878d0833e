"""Carrying the leader's log to the followers: a loop a peer, one message in flight, as much as fits in it."""

from __future__ import annotations

import asyncio
import logging
import time

from .config import HEARTBEAT_S, PEER_TIMEOUT_S, SNAPSHOT_TIMEOUT_S
from .peers import Link, Message, PeerUnreachableError
from .replica import LEADER, PeerState, Replica

log = logging.getLogger("quorumkv")

BATCH = 512
RETRY_S = 0.03


class Replication:
    """Keeps one follower in step while this node leads; sleeps while it does not."""

    def __init__(self, replica: Replica, link: Link) -> None:
        self._replica = replica
        self._link = link
        self._peer = replica.peers[link.name]

    async def run(self) -> None:
        peer = self._peer
        while True:
            peer.wake.clear()
            if self._replica.role == LEADER:
                try:
                    await self._exchange()
                except PeerUnreachableError:
                    peer.probing = True
                    await asyncio.sleep(RETRY_S)
                    continue
                if self._has_more(peer):
                    continue
            try:
                async with asyncio.timeout(HEARTBEAT_S):
                    await peer.wake.wait()
            except TimeoutError:
                pass

    def _has_more(self, peer: PeerState) -> bool:
        replica = self._replica
        return replica.role == LEADER and (
            peer.next <= replica.log.last_index or peer.confirmed < replica.read_number
        )

    async def _exchange(self) -> None:
        """One message and its answer."""
        replica, peer = self._replica, self._peer
        term, read_number = replica.term, replica.read_number
        if peer.next <= replica.log.base_index:
            await self._send_snapshot()
            return
        previous = peer.next - 1
        entries = [] if peer.probing else replica.log.slice(peer.next, BATCH)
        message = self._message("append")
        message["prev_index"] = previous
        message["prev_term"] = replica.log.term_at(previous)
        message["entries"] = [entry.to_wire() for entry in entries]
        message["commit"] = replica.commit_index
        answer = await self._link.call(message, PEER_TIMEOUT_S)
        if not self._accept(answer, term):
            return
        peer.confirmed = max(peer.confirmed, read_number)
        replica.answer_reads()
        if not answer["ok"]:
            peer.next = max(1, min(answer["hint"], previous))
            return
        self._matched(answer)
        if peer.probing:
            peer.probing = False
            if replica.applied - peer.match >= replica.config.snapshot_every:
                await self._send_snapshot()

    async def _send_snapshot(self) -> None:
        """Bring a follower that is far behind up to date in one step."""
        replica = self._replica
        term = replica.term
        message = self._message("snapshot")
        message["snapshot"] = replica.snapshot()
        replica.metrics.add("snapshots_sent_total")
        answer = await self._link.call(message, SNAPSHOT_TIMEOUT_S)
        if self._accept(answer, term) and answer["ok"]:
            self._matched(answer)
            self._peer.probing = False

    def _message(self, kind: str) -> Message:
        config = self._replica.config
        return {"kind": kind, "from": config.node, "term": self._replica.term, "client": str(config.client)}

    def _accept(self, answer: Message, term: int) -> bool:
        """Whether the answer is to a leader that this node still is; it counts as contact."""
        replica = self._replica
        if answer["term"] > replica.term:
            replica.step_down(answer["term"], f"{self._link.name} is ahead")
        if replica.role != LEADER or replica.term != term:
            return False
        self._peer.answered_at = time.monotonic()
        contacts = sorted((peer.answered_at for peer in replica.peers.values()), reverse=True)
        replica.quorum_at = max(replica.quorum_at, contacts[replica.config.majority - 2])
        return True

    def _matched(self, answer: Message) -> None:
        peer = self._peer
        peer.match = max(peer.match, answer["match"])
        peer.next = peer.match + 1
        peer.applied = answer["applied"]
        self._replica.advance()
