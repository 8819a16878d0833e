"""One node's part in consensus: terms, the log, what is committed, and the waiting clients.

The protocol is Raft (Ongaro and Ousterhout, In Search of an Understandable Consensus Algorithm, 2014).
Everything here runs on one event loop and nothing here awaits while it changes state, so that each
message is handled whole. `elections` decides when to stand, `replication` carries the log to the peers.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from typing import Any

from .config import Config
from .disk import Ballot, read_json, replace_durably
from .entry import Entry
from .log import Log
from .metrics import Metrics
from .peers import Message
from .store import Reply, Store

log = logging.getLogger("quorumkv")

FOLLOWER, CANDIDATE, LEADER = "follower", "candidate", "leader"


class PeerState:
    """What the leader knows of a follower."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.wake = asyncio.Event()
        self.reset(0)

    def reset(self, last_index: int) -> None:
        self.next = last_index + 1
        self.match = 0
        self.applied = 0
        self.probing = True
        """Until it has answered once since the last failure, it is sent nothing but a question."""
        self.answered_at = 0.0
        self.confirmed = 0
        """The newest read that was waiting when a message it has since answered was sent."""


class Replica:
    """State and message handlers. Futures given to clients hold None when the outcome is unknown."""

    def __init__(self, config: Config, metrics: Metrics) -> None:
        self.config = config
        self.metrics = metrics
        self.ballot = Ballot(config.data)
        self.log = Log(config.data, config.policies.wal_format)
        self.store = Store()
        self.role = FOLLOWER
        self.leader: str | None = None
        self.leader_client: str | None = None
        self.commit_index = 0
        self.applied = 0
        self.snapshot_index = 0
        self.heard_at = 0.0
        self.leader_commit = 0
        self.quorum_at = 0.0
        self.changed = asyncio.Event()
        """Set whenever role, leader or readiness may have changed; see `wait_ready`."""
        self.opening_index = 0
        self.peers = {name: PeerState(name) for name in config.peers}
        self.voted_at = 0.0
        self._snapshot_path = config.data / "snapshot.json"
        self._batch: list[tuple[dict[str, Any], str | None, asyncio.Future[Reply | None]]] = []
        self._waiting: dict[int, asyncio.Future[Reply | None]] = {}
        self._in_flight: dict[tuple[str, str], tuple[dict[str, Any], asyncio.Future[Reply | None]]] = {}
        self._reads: list[tuple[int, asyncio.Future[bool]]] = []
        self.read_number = 0
        self._recover()

    def _recover(self) -> None:
        snapshot = read_json(self._snapshot_path)
        if snapshot is None:
            return
        self.store.restore(snapshot["state"])
        index, term = snapshot["index"], snapshot["term"]
        self.commit_index = self.applied = self.snapshot_index = index
        if self.log.term_at(index) != term:
            self.log.rebase(index, term, keep=False)

    # Roles

    @property
    def term(self) -> int:
        return self.ballot.term

    @property
    def ready(self) -> bool:
        """A leader may serve once an entry of its own term is applied: then everything before it is, too."""
        return self.role == LEADER and self.applied >= self.opening_index

    def step_down(self, term: int, reason: str) -> None:
        """Become a follower of nobody, in `term` if that is newer."""
        if term > self.term:
            self.ballot.save(term, None)
        if self.role != FOLLOWER:
            log.info("%s steps down in term %d: %s", self.config.node, self.term, reason)
        if self.role == LEADER:
            self._abandon()
        self.role, self.leader, self.leader_client = FOLLOWER, None, None
        self.changed.set()

    def _abandon(self) -> None:
        waiting = [*self._waiting.values(), *(future for _, _, future in self._batch)]
        self._waiting, self._in_flight, self._batch = {}, {}, []
        for future in waiting:
            if not future.done():
                future.set_result(None)
        reads, self._reads = self._reads, []
        for _, read in reads:
            if not read.done():
                read.set_result(False)

    def become_leader(self) -> None:
        log.info("%s becomes leader of term %d", self.config.node, self.term)
        self.metrics.add("elections_won_total")
        self.metrics.add("leader_changes_total")
        self.role, self.leader, self.leader_client = LEADER, self.config.node, str(self.config.client)
        self.quorum_at = time.monotonic()
        for peer in self.peers.values():
            peer.reset(self.log.last_index)
        self.opening_index = self.log.last_index + 1
        self._append([Entry(self.opening_index, self.term, wall_ms(), None)])

    def follow(self, message: Message) -> None:
        """The sender leads the term that it names, which is not older than ours."""
        if message["term"] > self.term or self.role != FOLLOWER:
            self.step_down(message["term"], f"{message['from']} leads")
        if self.leader != message["from"]:
            log.info("%s follows %s in term %d", self.config.node, message["from"], self.term)
            self.metrics.add("leader_changes_total")
            self.leader = message["from"]
        self.leader_client = message["client"]
        self.heard_at = time.monotonic()
        self.changed.set()

    def hears_leader(self) -> bool:
        return self.role == LEADER or time.monotonic() - self.heard_at < self.config.election_s[0]

    # Clients

    def propose(self, command: dict[str, Any], request: str | None) -> asyncio.Future[Reply | None]:
        """Put a write on its way; only for a leader that is ready."""
        future: asyncio.Future[Reply | None] = asyncio.get_running_loop().create_future()
        if not self._batch:
            asyncio.get_running_loop().call_soon(self._flush)
        self._batch.append((command, request, future))
        if request is not None:
            self._in_flight[(command["tenant"], request)] = (command, future)
        return future

    def in_flight(
        self, tenant: str, request: str
    ) -> tuple[dict[str, Any], asyncio.Future[Reply | None]] | None:
        return self._in_flight.get((tenant, request))

    def _flush(self) -> None:
        """Everything that arrived in one turn of the event loop shares one fsync."""
        batch, self._batch = self._batch, []
        if not batch or self.role != LEADER:
            return
        entries = []
        for index, (command, request, future) in enumerate(batch, start=self.log.last_index + 1):
            entries.append(Entry(index, self.term, wall_ms(), command, request))
            self._waiting[index] = future
        self._append(entries)

    def _append(self, entries: list[Entry]) -> None:
        self.log.append(entries)
        self.metrics.add("entries_appended_total", len(entries))
        self.advance()
        for peer in self.peers.values():
            peer.wake.set()

    def confirm(self) -> asyncio.Future[bool]:
        """True once a majority has answered a message sent after this call; False if this node steps down."""
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.read_number += 1
        self._reads.append((self.read_number, future))
        self.answer_reads()
        for peer in self.peers.values():
            peer.wake.set()
        return future

    def answer_reads(self) -> None:
        marks = sorted([self.read_number, *(peer.confirmed for peer in self.peers.values())], reverse=True)
        confirmed = marks[self.config.majority - 1]
        while self._reads and self._reads[0][0] <= confirmed:
            _, future = self._reads.pop(0)
            if not future.done():
                future.set_result(True)

    async def wait_ready(self, timeout_s: float) -> bool:
        """Whether this node is a leader that may serve; a leader that has just won is given some time."""
        deadline = time.monotonic() + timeout_s
        while self.role == LEADER and not self.ready and time.monotonic() < deadline:
            self.changed.clear()
            try:
                await asyncio.wait_for(self.changed.wait(), max(0.0, deadline - time.monotonic()))
            except TimeoutError:
                break
        return self.ready

    # Commit and apply

    def advance(self) -> None:
        """Commit what a majority has on disk, if it is of this leader's own term."""
        marks = sorted([self.log.last_index, *(peer.match for peer in self.peers.values())], reverse=True)
        index = marks[self.config.majority - 1]
        if index > self.commit_index and self.log.term_at(index) == self.term:
            self.commit_to(index)

    def commit_to(self, index: int) -> None:
        self.commit_index = index
        while self.applied < index:
            entry = self.log.entry(self.applied + 1)
            reply = self.store.apply(entry)
            self.applied = entry.index
            self.metrics.add("entries_applied_total")
            if entry.command is not None and entry.request is not None:
                self._in_flight.pop((entry.command["tenant"], entry.request), None)
            future = self._waiting.pop(entry.index, None)
            if future is not None and not future.done():
                future.set_result(reply)
        self.changed.set()
        if self.applied - self.snapshot_index >= self.config.snapshot_every:
            self.take_snapshot()

    # Snapshots

    def snapshot(self) -> dict[str, Any]:
        return {
            "index": self.applied,
            "term": self.log.term_at(self.applied),
            "state": self.store.dump(self.config.policies.snapshot_format),
        }

    def take_snapshot(self) -> None:
        """Save the state and shorten the log; entries that a follower may soon ask for stay."""
        snapshot = self.snapshot()
        replace_durably(self._snapshot_path, json.dumps(snapshot).encode())
        self.snapshot_index = snapshot["index"]
        self.metrics.add("snapshots_taken_total")
        base = self.snapshot_index - self.config.snapshot_every
        if self.role == LEADER:
            recent = time.monotonic() - 1.0
            base = min([base, *(peer.match for peer in self.peers.values() if peer.answered_at > recent)])
        term = self.log.term_at(base)
        if base > self.log.base_index and term is not None:
            self.log.rebase(base, term, keep=True)

    def install_snapshot(self, message: Message) -> Message:
        if message["term"] < self.term:
            return {"term": self.term, "ok": False}
        self.follow(message)
        snapshot = message["snapshot"]
        index, term = snapshot["index"], snapshot["term"]
        if index > self.applied:
            replace_durably(self._snapshot_path, json.dumps(snapshot).encode())
            self.log.rebase(index, term, keep=self.log.term_at(index) == term)
            self.store.restore(snapshot["state"])
            self.commit_index = self.applied = self.snapshot_index = index
            self.metrics.add("snapshots_installed_total")
            log.info("%s installed a snapshot up to %d", self.config.node, index)
        return {"term": self.term, "ok": True, "match": index, "applied": self.applied}

    # The log, as a follower

    def append_entries(self, message: Message) -> Message:
        if message["term"] < self.term:
            return {"term": self.term, "ok": False}
        self.follow(message)
        entries = [Entry.from_wire(fields) for fields in message["entries"]]
        previous = message["prev_index"]
        match = previous + len(entries)
        if previous < self.log.base_index:
            entries = [entry for entry in entries if entry.index > self.log.base_index]
        elif self.log.term_at(previous) != message["prev_term"]:
            return {"term": self.term, "ok": False, "hint": self._retry_from(previous)}
        for position, entry in enumerate(entries):
            known = self.log.term_at(entry.index)
            if known == entry.term:
                continue
            if known is not None:
                self.log.cut_from(entry.index)
            self.log.append(entries[position:])
            self.metrics.add("entries_appended_total", len(entries) - position)
            break
        self.leader_commit = message["commit"]
        if min(message["commit"], match) > self.commit_index:
            self.commit_to(min(message["commit"], match))
        return {"term": self.term, "ok": True, "match": match, "applied": self.applied}

    def _retry_from(self, previous: int) -> int:
        """Where the leader should try next: the end of a short log, or the start of the term that differs."""
        if previous > self.log.last_index:
            return self.log.last_index + 1
        term = self.log.term_at(previous)
        while previous - 1 > self.commit_index and self.log.term_at(previous - 1) == term:
            previous -= 1
        return previous


def wall_ms() -> int:
    return int(time.time() * 1000)
