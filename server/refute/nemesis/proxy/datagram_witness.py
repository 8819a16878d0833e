"""What the kernel delivers to the nodes' UDP sockets over loopback, seen by a socket of ours past the proxy.

A kernel keeps no count of datagrams by sender, so each is looked at as it passes: packet(7), with a filter
for UDP. It needs the right to open such a socket (CAP_NET_RAW in the network of the nodes): root has it.
"""

from __future__ import annotations

import ctypes
import select
import socket
import struct
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from refute.history.fault import Reading
from refute.nemesis.errors import NemesisError
from refute.nemesis.proxy.datagram_ways import DatagramWay
from refute.system.process_table import family
from refute.system.socket_owners import datagram_pids

Address = tuple[str, int]
_Leg = tuple[bool, tuple[str, str]]  # whether it is the one away from the sender, and the link
_Seen = tuple[int, Address, Address, int, int]  # when, from, to, what, bytes

_IP = 0x0800
_UDP_ONLY = (  # the classic BPF program: the protocol of the IPv4 header is UDP, and it is no later fragment
    (0x30, 0, 0, 9),
    (0x15, 0, 3, socket.IPPROTO_UDP),
    (0x28, 0, 0, 6),
    (0x45, 1, 0, 0x1FFF),
    (0x06, 0, 0, 0xFFFF),
    (0x06, 0, 0, 0),
)
_ATTACH_FILTER = 26
_FORCE_BUFFER = 33
_ROOM_BYTES = 16 << 20
_PACKET, _STATISTICS = 263, 6
_LARGEST = 65600
_LOOK_UP_EVERY_S = 0.25
_ASKED_AT_MOST = 3
_KEPT_FOR_NS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Session:
    """How the datagrams of one sender go: from `caller` to `listener`, and on from `ours` to `target`."""

    caller: Address
    listener: Address
    ours: Address
    target: Address
    link: tuple[str, str]

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> Session:
        """As the proxy host tells it."""
        caller, listener, ours, target = ((str(host), int(port)) for host, port in written["ends"])
        return cls(caller, listener, ours, target, (written["caller"], written["callee"]))


class DatagramWitness(threading.Thread):
    """Counts what arrives at each node from each other. Raises OSError where it may not look.

    `sessions` asks the proxy host, `targets` are the nodes' own sockets, `listeners` those of the proxies.
    """

    def __init__(
        self,
        links: Iterable[tuple[str, str]],
        sessions: Callable[[], Iterable[Session]],
        targets: Mapping[Address, str],
        listeners: Iterable[Address],
        pids: Callable[[], Mapping[str, int]],
    ) -> None:
        super().__init__(name="datagram-witness", daemon=True)
        self._sessions = sessions
        self._targets = dict(targets)
        self._near = frozenset([*self._targets, *listeners])
        self._pids = pids
        self._ways = defaultdict[tuple[str, str], DatagramWay](
            DatagramWay, {link: DatagramWay() for link in links}
        )
        self._seen: list[_Seen] = []
        self._legs: dict[tuple[Address, Address], _Leg] = {}
        self._strangers: dict[Address, tuple[int, str | None]] = {}
        self._one_at_a_time = threading.Lock()
        self._over = False
        self._overrun = False
        self._socket = _open()

    def run(self) -> None:
        """Until `end`."""
        ready = select.poll()
        ready.register(self._socket, select.POLLIN)
        looked = time.monotonic()
        while not self._over:
            ready.poll(_LOOK_UP_EVERY_S * 1000)
            with self._one_at_a_time:
                self._take_down_all()
            if time.monotonic() - looked > _LOOK_UP_EVERY_S:
                with suppress(NemesisError):  # the proxy host is gone: there is nothing more to learn
                    self.settle()
                looked = time.monotonic()

    def settle(self) -> None:
        """Take in all that the kernel has brought so far, and find out whose datagrams those were."""
        with self._one_at_a_time:
            self._take_down_all()
        legs: dict[tuple[Address, Address], _Leg] = {}
        for session in self._sessions():
            there, back = session.link, session.link[::-1]
            legs[session.caller, session.listener] = (True, there)
            legs[session.ours, session.target] = (False, there)
            legs[session.target, session.ours] = (True, back)
            legs[session.listener, session.caller] = (False, back)
        with self._one_at_a_time:
            self._legs |= legs
            # The proxy may be about to learn of the first ones of a session.
            young_ns = time.monotonic_ns() - _KEPT_FOR_NS
            self._seen = [each for each in self._seen if not self._count(each) and each[0] > young_ns]
            self._overrun |= _dropped(self._socket) > 0

    def values(self) -> dict[str, Reading]:
        """The counters so far, by link: `n1->n2.node_missing`; none where some may not have been seen."""
        found: dict[str, Reading] = {}
        with self._one_at_a_time:
            if self._overrun:
                return found
            now_ns = time.monotonic_ns()
            for (caller, callee), way in self._ways.items():
                link = f"{caller}->{callee}"
                found |= {
                    f"{link}.node_received_bytes": way.received_bytes,
                    f"{link}.node_datagrams": way.arrived,
                    f"{link}.node_missing": way.missing(now_ns),
                    f"{link}.node_doubled": way.doubled,
                    f"{link}.node_changed": way.changed,
                    f"{link}.node_reordered": way.reordered,
                    f"{link}.node_transit_ns": way.transit_ns,
                    f"{link}.node_transits": way.transits,
                }
        return found

    def end(self) -> None:
        """Look no more."""
        self._over = True
        if self.is_alive():
            self.join()
        self._socket.close()

    def _take_down_all(self) -> None:
        with suppress(BlockingIOError):
            while True:
                self._take_down(self._socket.recv(_LARGEST))

    def _take_down(self, packet: bytes) -> None:
        header = (packet[0] & 15) * 4
        if len(packet) < header + 8:
            return
        from_port, to_port = struct.unpack_from("!HH", packet, header)
        source = (socket.inet_ntoa(packet[12:16]), from_port)
        to = (socket.inet_ntoa(packet[16:20]), to_port)
        if source in self._near or to in self._near:
            payload = packet[header + 8 :]
            self._seen.append((time.monotonic_ns(), source, to, hash(payload), len(payload)))

    def _count(self, seen: _Seen) -> bool:
        now_ns, source, to, content, size = seen
        leg = self._legs.get((source, to))
        if leg is not None:
            leaves, link = leg
            if leaves:
                self._ways[link].sent(content, now_ns)
            else:
                self._ways[link].came(content, size, now_ns)
            return True
        caller = self._who(source) if to in self._targets else None
        if caller is None or caller == self._targets[to]:
            return False
        self._ways[caller, self._targets[to]].came_past(size)
        return True

    def _who(self, source: Address) -> str | None:
        """The node whose socket a datagram came from that took no way of the plane; None for whoever else."""
        asked, caller = self._strangers.get(source, (0, None))
        if caller is None and asked < _ASKED_AT_MOST:
            for node, pid in self._pids().items():
                if datagram_pids(source, [pid, *(member.pid for member in family(pid))]):
                    caller = node
                    break
            self._strangers[source] = (asked + 1, caller)
        return caller


def _open() -> socket.socket:
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
    try:
        program = b"".join(struct.pack("=HBBI", *each) for each in _UDP_ONLY)
        kept = ctypes.create_string_buffer(program)
        where = struct.pack("@HP", len(_UDP_ONLY), ctypes.addressof(kept))
        opened.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, where)
        with suppress(OSError):
            opened.setsockopt(socket.SOL_SOCKET, _FORCE_BUFFER, _ROOM_BYTES)
        opened.setblocking(False)
        opened.bind(("lo", _IP))
    except BaseException:
        opened.close()
        raise
    return opened


def _dropped(opened: socket.socket) -> int:
    # Reading it sets it back to nothing.
    with suppress(OSError):
        return int(struct.unpack("=II", opened.getsockopt(_PACKET, _STATISTICS, 8))[1])
    return 0
