"""What the kernel says of the nodes' own sockets: the victims' side of a link, read past the proxy."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from refute.history.fault import Reading
from refute.nemesis.errors import NemesisError
from refute.system.process_table import family
from refute.system.socket_diagnosis import (
    SOCKETS_CAN_BE_ASKED,
    Pair,
    SocketBytes,
    established_to,
    socket_bytes,
)
from refute.system.socket_owners import connection_pids

_HANDSHAKE_BYTES = 2  # a SYN and a FIN are acknowledged as bytes, and not received as such
_ASKED_AT_MOST = 3
_LOOK_EVERY_S = 0.02


@dataclass(slots=True)
class _Direction:
    """One direction of one connection: the ends of its two nodes."""

    link: str
    sender: Pair
    receiver: Pair


@dataclass(slots=True)
class _Link:
    received: dict[Pair, int] = field(default_factory=dict)  # of every socket that was ever seen
    live: int = 0
    behind: int = 0
    looks: int = 0
    orphans: int = 0


class NodeSockets:
    """Counters of each directed link, read from the sockets of its two nodes, whichever way they took.

    A connection between two nodes that does not pass the proxy counts as well: a link is not silent while
    bytes arrive past the plane. Any thread may read.
    """

    def __init__(self, links: Iterable[str], pids: Callable[[], Mapping[str, int]]) -> None:
        self._pids = pids
        self._links = {link: _Link() for link in links}
        self._directions: list[_Direction] = []
        self._strangers: dict[Pair, tuple[int, str | None]] = {}
        self._lock = threading.Lock()

    def update(self, connections: Iterable[Mapping[str, Any]], ports: Mapping[int, str]) -> None:
        """Take in which connections there are: those of the proxy, and those past it to these ports."""
        directions: list[_Direction] = []
        ours: set[Pair] = set()
        for each in connections:
            near, far = _pair(each["near"]), _pair(each["far"])
            if near is None or far is None:
                continue
            ours.add(far)
            directions += _both_ways(each["caller"], each["callee"], near, far)
        for pair in established_to(ports):
            if pair not in ours and (caller := self._stranger(pair)):
                directions += _both_ways(caller, ports[pair[0][1]], (pair[1], pair[0]), pair)
        with self._lock:
            self._directions = directions

    def look(self, only: Iterable[str] | None = None) -> None:
        """Read the sockets of all links or of some, and add to their counters."""
        with self._lock:
            wanted = None if only is None else set(only)
            chosen = [each for each in self._directions if wanted is None or each.link in wanted]
            # Senders first: what arrives in between makes the way look shorter, never longer.
            senders = socket_bytes(each.sender for each in chosen)
            receivers = socket_bytes(each.receiver for each in chosen)
            for name, link in self._links.items():
                if wanted is None or name in wanted:
                    own = [each for each in chosen if each.link == name]
                    link.live, link.looks = 0, link.looks + 1
                    link.orphans += sum(_add(link, each, senders, receivers) for each in own) > 0

    def values(self) -> dict[str, Reading]:
        """The counters so far, by link: `n1->n2.node_received_bytes`."""
        with self._lock:
            found: dict[str, Reading] = {}
            if not SOCKETS_CAN_BE_ASKED:
                return found
            for name, link in self._links.items():
                found[f"{name}.node_received_bytes"] = sum(link.received.values())
                found[f"{name}.node_connections"] = f"{len(link.received)} seen, {link.live} open"
                found[f"{name}.node_behind_bytes"] = link.behind
                found[f"{name}.node_looks"] = link.looks
                found[f"{name}.node_orphans"] = link.orphans
            return found

    def _stranger(self, pair: Pair) -> str | None:
        """The node that has opened a connection past the proxy; None for whoever is no node."""
        asked, caller = self._strangers.get(pair, (0, None))
        if caller is None and asked < _ASKED_AT_MOST:
            for node, pid in self._pids().items():
                members = [pid, *(member.pid for member in family(pid))]
                if connection_pids(pair[1], pair[0], members):
                    caller = node
                    break
            self._strangers[pair] = (asked + 1, caller)
        return caller


class Looking(threading.Thread):
    """Looks often at the links of a fault whose effect can only be seen in passing."""

    def __init__(self, sockets: NodeSockets, links: Iterable[str], refresh: Callable[[], None]) -> None:
        super().__init__(name="node-sockets", daemon=True)
        self._sockets = sockets
        self._refresh = refresh
        self._links = tuple(links)
        self._over = threading.Event()

    def run(self) -> None:
        """Until `end`; never busier than a tenth of the time."""
        wait_s = 0.0
        while not self._over.wait(wait_s):
            began = time.monotonic()
            with suppress(NemesisError):  # the proxy host is gone: there is nothing to look at
                self._refresh()
                self._sockets.look(self._links)
            wait_s = max(_LOOK_EVERY_S, 10 * (time.monotonic() - began))

    def end(self) -> None:
        """Look no more."""
        self._over.set()
        if self.is_alive():
            self.join()


def _both_ways(caller: str, callee: str, near: Pair, far: Pair) -> list[_Direction]:
    return [_Direction(f"{caller}->{callee}", near, far), _Direction(f"{callee}->{caller}", far, near)]


def _add(
    link: _Link, way: _Direction, senders: Mapping[Pair, SocketBytes], receivers: Mapping[Pair, SocketBytes]
) -> bool:
    """Take one direction in; whether its receiver is still connected to a sender that is gone."""
    receiver, sender = receivers.get(way.receiver), senders.get(way.sender)
    if receiver is None:
        return False
    link.received[way.receiver] = receiver.received
    link.live += receiver.established
    if sender is not None and sender.established:
        link.behind += max(0, sender.acked - receiver.received - _HANDSHAKE_BYTES)
    return receiver.established and (sender is None or not sender.established)


def _pair(written: Any) -> Pair | None:
    if not written or None in written:
        return None
    (host, port), (other_host, other_port) = written
    return (host, port), (other_host, other_port)
