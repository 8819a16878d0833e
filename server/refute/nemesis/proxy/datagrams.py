"""Datagrams between nodes: each passed on by itself, late, twice, out of turn, damaged, or not at all."""

from __future__ import annotations

import socket
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from refute.nemesis.proxy.effect import NS
from refute.nemesis.proxy.link import Link
from refute.nemesis.proxy.loop import READ, Loop

_LARGEST = 65535
_A_ROUND = 64
_MOST_HELD = 4096
_MOST_SESSIONS = 1024
_IDLE_NS = 60 * NS
_OVERTAKEN_AFTER_NS = NS // 20
_RECEIVE_BUFFER_BYTES = 4 * 1024 * 1024

Address = tuple[str, int]


class Direction:
    """What one node sends to the other, one datagram at a time; `send` hands it to the receiver's kernel."""

    def __init__(self, loop: Loop, link: Link, send: Callable[[bytes], object]) -> None:
        self.link = link
        self._loop = loop
        self._send = send
        self._held: deque[bytes] = deque()
        self._waiting: bytes | None = None  # to be overtaken by the next one

    def take(self, data: bytes) -> None:
        """A datagram has come from the sender."""
        link, effect = self.link, self.link.effect
        link.received_bytes += len(data)
        link.datagrams += 1
        if effect is None:
            self._deliver(data)
            return
        if effect.cut:
            link.held_bytes += len(data)
            if effect.hold_datagrams and len(self._held) < _MOST_HELD:
                self._held.append(data)
            else:
                link.dropped_bytes += len(data)
            return
        if effect.is_lost():
            link.lost_datagrams += 1
            return
        if effect.corruption and data:
            data, changed = effect.corrupted(data)
            link.corrupted_bytes += changed
        copies = 1 + effect.is_doubled()
        link.duplicated_datagrams += copies - 1
        for _ in range(copies):
            if effect.delays:
                link.delayed_bytes += len(data)
                arrived_ns = time.monotonic_ns()
                self._later(data, arrived_ns + effect.delay_ns(), arrived_ns)
            else:
                self._in_turn(data, overtaken=effect.is_overtaken())

    def healed(self, *, drop: bool) -> None:
        """Faults were lifted: what is still held is delivered late, or lost."""
        if self.link.cut:
            return
        while self._held:
            data = self._held.popleft()
            if drop:
                self.link.dropped_bytes += len(data)
            else:
                self._deliver(data)
        self._let_pass()

    def _in_turn(self, data: bytes, *, overtaken: bool) -> None:
        if overtaken and self._waiting is None:
            self._waiting = data
            # Where nothing follows, nothing can overtake it: then it is only late.
            self._loop.at(time.monotonic_ns() + _OVERTAKEN_AFTER_NS, self._let_pass)
            return
        self._deliver(data)
        if self._waiting is not None:
            self.link.reordered_datagrams += 1
            self._let_pass()

    def _let_pass(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self._deliver(waiting)

    def _later(self, data: bytes, when_ns: int, arrived_ns: int) -> None:
        self._loop.at(when_ns, lambda: self._deliver(data, arrived_ns))

    def _deliver(self, data: bytes, arrived_ns: int = 0) -> None:
        began = arrived_ns or time.monotonic_ns()
        try:
            self._send(data)
        except BlockingIOError:
            self.link.dropped_bytes += len(data)
            return
        except OSError:  # nobody is bound there
            self.link.unreachable += 1
            return
        link = self.link
        link.delivered_bytes += len(data)
        link.delivered_datagrams += 1
        # Over loopback a datagram that was sent is in the receiver's kernel: that is the acknowledgement.
        link.acked_by_closed += len(data)
        link.transit_ns += time.monotonic_ns() - began
        link.transits += 1


class _Session:
    """One sender's address, and the socket from which its datagrams are passed on."""

    def __init__(
        self, loop: Loop, listening: socket.socket, caller: Address, target: Address, there: Link, back: Link
    ) -> None:
        self.used_ns = time.monotonic_ns()
        self._loop = loop
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.connect(target)
        self.there = Direction(loop, there, self._socket.send)
        self.back = Direction(loop, back, lambda data: listening.sendto(data, caller))
        loop.watch(self._socket, READ, 0, self._answers)

    @property
    def ours(self) -> Address:
        host, port = self._socket.getsockname()
        return host, port

    def close(self) -> None:
        if self._socket.fileno() >= 0:
            self._loop.watch(self._socket, 0, READ, self._answers)
            self._socket.close()

    def _answers(self, _: int) -> None:
        for _round in range(_A_ROUND):
            try:
                data = self._socket.recv(_LARGEST)
            except OSError:  # nothing more, or the receiver is not there
                return
            self.used_ns = time.monotonic_ns()
            self.back.take(data)


class Datagrams:
    """The datagrams to one node; their senders are told by the address that they come from."""

    def __init__(
        self,
        loop: Loop,
        listening: socket.socket,
        target: Address,
        links: Callable[[Address], tuple[Link, Link]],
    ) -> None:
        self._loop = loop
        self._socket = listening
        self._target = target
        self._links = links
        self._sessions: dict[Address, _Session] = {}
        with suppress(OSError):
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER_BYTES)
        listening.setblocking(False)
        loop.watch(listening, READ, 0, self._arrived)

    def directions(self) -> Iterator[Direction]:
        """All that there are now."""
        for session in self._sessions.values():
            yield session.there
            yield session.back

    def sessions(self) -> list[dict[str, Any]]:
        """Whose datagrams go which way now: from a caller to us, and from a socket of ours to the target."""
        ours = self._socket.getsockname()
        return [
            {
                "caller": session.there.link.caller,
                "callee": session.there.link.callee,
                "ends": [caller, ours, session.ours, self._target],
            }
            for caller, session in self._sessions.items()
        ]

    def close(self) -> None:
        """Close every socket."""
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()
        if self._socket.fileno() >= 0:
            self._loop.watch(self._socket, 0, READ, self._arrived)
            self._socket.close()

    def _arrived(self, _: int) -> None:
        for _round in range(_A_ROUND):
            try:
                data, caller = self._socket.recvfrom(_LARGEST)
            except OSError:
                return
            session = self._sessions.get(caller) or self._open(caller)
            session.used_ns = time.monotonic_ns()
            session.there.take(data)

    def _open(self, caller: Address) -> _Session:
        if len(self._sessions) >= _MOST_SESSIONS:
            self._forget_idle()
        there, back = self._links(caller)
        session = _Session(self._loop, self._socket, caller, self._target, there, back)
        self._sessions[caller] = session
        return session

    def _forget_idle(self) -> None:
        long_ago_ns = time.monotonic_ns() - _IDLE_NS
        oldest = min(self._sessions, key=lambda each: self._sessions[each].used_ns)
        for address in [a for a, each in self._sessions.items() if each.used_ns < long_ago_ns or a == oldest]:
            self._sessions.pop(address).close()
