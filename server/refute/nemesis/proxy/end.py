"""One socket of a proxied connection: what is waited for at it, what the kernel behind it has received."""

from __future__ import annotations

import socket
import struct
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from refute.nemesis.proxy.loop import READ, WRITE, Loop

if TYPE_CHECKING:
    from refute.nemesis.proxy.flow import Flow

_RESET = struct.pack("ii", 1, 0)
_TCP_INFO = getattr(socket, "TCP_INFO", None) if sys.platform == "linux" else None
_ACKED_AT = 120  # tcpi_bytes_acked of Linux: what the other kernel has acknowledged


class End:
    """One of the two sockets of a connection, and what is waited for at it."""

    __slots__ = ("_acked_before", "_interest", "_loop", "incoming", "outgoing", "socket", "up")

    def __init__(self, loop: Loop, sock: socket.socket, *, up: bool) -> None:
        self.socket = sock
        self.up = up  # connected
        self.outgoing: Flow  # what its peer sends
        self.incoming: Flow  # what its peer is sent
        self._loop = loop
        self._interest = 0
        self._acked_before = 0
        sock.setblocking(False)
        with suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if up:
            self._acked_before = self._acknowledged()

    def came_up(self) -> None:
        """The connection is established."""
        self.up = True
        self._acked_before = self._acknowledged()

    def acked_bytes(self) -> int:
        """Bytes that the kernel at the other side has acknowledged; 0 where that cannot be asked."""
        return max(0, self._acknowledged() - self._acked_before) if self.up else 0

    def want(self, interest: int) -> None:
        """Wait for these events from now on, and for no others."""
        if interest == self._interest or self.socket.fileno() < 0:
            return
        self._loop.watch(self.socket, interest, self._interest, self._on_event)
        self._interest = interest

    def close(self, *, reset: bool) -> None:
        """Close the socket, with a RST or a FIN."""
        if self.socket.fileno() < 0:
            return
        self.want(0)
        self._loop.forget(self.socket.fileno())
        if reset:
            with suppress(OSError):
                self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.socket.close()

    def _acknowledged(self) -> int:
        if _TCP_INFO is None:
            return 0
        try:
            info = self.socket.getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _ACKED_AT + 8)
        except OSError:
            return 0
        return int(struct.unpack_from("Q", info, _ACKED_AT)[0]) if len(info) >= _ACKED_AT + 8 else 0

    def _on_event(self, mask: int) -> None:
        # An end or an error is told as both events, whichever was waited for.
        if mask & WRITE and self._interest & WRITE:
            if not self.up:
                self.incoming.connection.connected()
            else:
                self.incoming.pump()
        if mask & READ and self._interest & READ and self.socket.fileno() >= 0:
            self.outgoing.read()
