"""When a node stands for leader, and for whom it votes."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from typing import Any

from .config import PEER_TIMEOUT_S
from .peers import Link, Message, PeerUnreachableError
from .replica import CANDIDATE, LEADER, Replica

log = logging.getLogger("quorumkv")

TICK_S = 0.015
STALL_S = 0.15
"""A tick so late means that this process or its disk stood still, not that the leader did."""


class Elections:
    """A timer that runs out when no leader is heard, the candidate's two rounds, and the voter's side."""

    def __init__(self, replica: Replica, links: dict[str, Link]) -> None:
        self._replica = replica
        self._links = links
        self._tasks: set[asyncio.Task[Any]] = set()
        self._rearm()

    def _rearm(self) -> None:
        self._armed_at = time.monotonic()
        self._timeout_s = random.uniform(*self._replica.config.election_s)

    def _quiet_s(self, now: float) -> float:
        return now - max(self._armed_at, self._replica.heard_at, self._replica.voted_at)

    async def run(self) -> None:
        replica = self._replica
        last = time.monotonic()
        while True:
            await asyncio.sleep(TICK_S)
            now = time.monotonic()
            if now - last > STALL_S:
                replica.metrics.add("stalls_total")
                replica.quorum_at = now
                self._rearm()
            last = now
            if replica.role == LEADER:
                self._armed_at = now
                if self._links and now - replica.quorum_at > replica.config.policies.quorum_loss_s:
                    replica.step_down(replica.term, "no answer from a majority")
            elif self._quiet_s(now) >= self._timeout_s:
                if replica.leader is not None:
                    replica.step_down(replica.term, "the leader is silent")
                await self.stand()
                self._rearm()
                last = time.monotonic()

    async def stand(self, *, ask_first: bool = True) -> None:
        """Stand for leader. A first round without a new term keeps a node that cannot win from disturbing."""
        replica = self._replica
        term = replica.term
        if ask_first:
            if not await self._poll(term + 1, ask_only=True):
                return
            if replica.term != term or replica.role == LEADER or replica.hears_leader():
                return
        replica.ballot.save(term + 1, replica.config.node)
        replica.role, replica.leader, replica.leader_client = CANDIDATE, None, None
        replica.metrics.add("elections_started_total")
        log.info("%s stands in term %d", replica.config.node, replica.term)
        won = await self._poll(replica.term, ask_only=False)
        if won and replica.role == CANDIDATE and replica.term == term + 1:
            replica.become_leader()

    async def _poll(self, term: int, *, ask_only: bool) -> bool:
        """Whether a majority, this node included, says yes; known as soon as it is decided."""
        replica = self._replica
        message: Message = {
            "kind": "vote",
            "from": replica.config.node,
            "term": term,
            "ask_only": ask_only,
            "last_index": replica.log.last_index,
            "last_term": replica.log.last_term,
        }
        votes = 1
        pending = {asyncio.create_task(self._ask(link, message)) for link in self._links.values()}
        while pending and votes < replica.config.majority:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            votes += sum(task.result() for task in done)
        for late in pending:
            self._tasks.add(late)
            late.add_done_callback(self._tasks.discard)
        return votes >= replica.config.majority

    async def _ask(self, link: Link, message: Message) -> bool:
        try:
            answer = await link.call(message, PEER_TIMEOUT_S)
        except PeerUnreachableError:
            return False
        if answer["term"] > self._replica.term:
            self._replica.step_down(answer["term"], f"{link.name} is ahead")
            return False
        return bool(answer["granted"])

    def vote(self, message: Message) -> Message:
        replica = self._replica
        ours = (replica.log.last_term, replica.log.last_index)
        complete = (message["last_term"], message["last_index"]) >= ours
        if message["ask_only"]:
            granted = complete and message["term"] > replica.term and not replica.hears_leader()
            return {"term": replica.term, "granted": granted}
        if message["term"] < replica.term:
            return {"term": replica.term, "granted": False}
        if message["term"] > replica.term:
            replica.step_down(message["term"], f"{message['from']} stands")
        granted = complete and replica.ballot.voted_for in (None, message["from"])
        if granted:
            replica.ballot.save(replica.term, message["from"])
            replica.voted_at = time.monotonic()
        return {"term": replica.term, "granted": granted}

    def stand_now(self, message: Message) -> Message:
        """The leader hands over: stand without waiting and without asking first."""
        replica = self._replica
        accepted: bool = message["term"] == replica.term and replica.role != LEADER
        if accepted:
            task = asyncio.create_task(self.stand(ask_first=False))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return {"term": replica.term, "ok": accepted}
