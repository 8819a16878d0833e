"""One proxied connection: two sockets and the two flows of bytes between them."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from refute.nemesis.proxy.end import End
from refute.nemesis.proxy.flow import Flow
from refute.nemesis.proxy.link import Link
from refute.nemesis.proxy.loop import READ, WRITE, Loop


class Connection:
    """A connection that a node has opened to another one; `forward` is what the opener sends."""

    def __init__(
        self,
        loop: Loop,
        caller: socket.socket,
        target: tuple[str, int],
        there: Link,
        back: Link,
        on_close: Callable[[Connection], None],
    ) -> None:
        self.loop = loop
        self.target = target
        self.closed = False
        self.cut_short = False
        self._on_close = on_close
        self.near = End(loop, caller, up=True)
        self._caller_s, self._ours = _addresses(caller)
        self._ours_there: tuple[str, int] | None = None
        self.far: End | None = None
        self.forward = Flow(self, there, self.near, None)
        self.back: Flow | None = None
        self._back_link = back
        self.near.outgoing = self.forward

    def begin(self) -> None:
        """Carry on to the receiver, unless the link is cut; then what the caller sends is held."""
        if self.forward.link.cut or self._back_link.cut:
            self.forward.link.held_connections += 1
            self.near.want(READ)
            return
        self.open()

    def open(self) -> None:
        """Connect to the receiver."""
        if self.far is not None or self.closed:
            return
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.far = End(self.loop, sock, up=False)
        self.back = Flow(self, self._back_link, self.far, self.near)
        self.forward.sink = self.far
        self.far.outgoing, self.far.incoming = self.back, self.forward
        self.near.incoming = self.back
        with suppress(BlockingIOError):
            try:
                sock.connect(self.target)
            except OSError as error:
                if not isinstance(error, BlockingIOError):
                    self._unreachable()
                    return
        self.far.want(WRITE)

    def connected(self) -> None:
        """The attempt to connect has ended, well or not."""
        assert self.far is not None
        if self.far.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self._unreachable()
            return
        self.far.came_up()
        self._ours_there = _addresses(self.far.socket)[1]
        self.forward.link.connections += 1
        self.forward.pump()

    def other(self, flow: Flow) -> Flow:
        """The flow of the opposite direction."""
        other = self.back if flow is self.forward else self.forward
        assert other is not None
        return other

    def settle(self) -> None:
        """Wait at both sockets for what their two flows want."""
        forward, back = self.forward, self.back
        for flow in self.flows():
            flow.relay_if_plain()
        if self.far is None or back is None:
            self.near.want(READ if forward.wants_to_read else 0)
            return
        near = (READ if forward.wants_to_read else 0) | (WRITE if back.wants_to_write else 0)
        self.near.want(near)
        if self.far.up:
            self.far.want((READ if back.wants_to_read else 0) | (WRITE if forward.wants_to_write else 0))

    def flows(self) -> list[Flow]:
        """The directions that exist so far."""
        return [self.forward] if self.back is None else [self.forward, self.back]

    def ends(self) -> dict[str, Any]:
        """The sockets of the two nodes: each its own address and ours; `far` is None while there is none."""
        there = None if self._ours_there is None else [self.target, self._ours_there]
        return {
            "caller": self.forward.link.caller,
            "callee": self.forward.link.callee,
            "near": [self._caller_s, self._ours],
            "far": there,
        }

    def touches(self, links: set[Link]) -> bool:
        """Whether one of its directions is one of these links."""
        return self.forward.link in links or self._back_link in links

    def unblocked(self, drop: set[Link]) -> None:
        """Faults were lifted: go on, or end where bytes were held that are to be lost."""
        if self.closed:
            return
        held = self.far is None
        lost = any(
            flow.link in drop and (flow.queued or (flow.ended and not flow.done)) for flow in self.flows()
        )
        if lost or (held and (self.forward.link in drop or self._back_link in drop)):
            for flow in self.flows():
                flow.drop()
            self.close(reset=True)
            return
        if held and not self.forward.link.cut and not self._back_link.cut:
            self.open()
        for flow in self.flows():
            flow.forget_limits()
            if not self.closed:
                flow.pump()

    def make_half_open(self, link: Link) -> bool:
        """End it for the receiver of the link only; the sender goes on sending to nobody."""
        flow = next((flow for flow in self.flows() if flow.link is link), None)
        if flow is None or flow.sink is None or flow.swallow:
            return False
        flow.swallow = True
        flow.drop()
        other = self.other(flow)
        other.ended = other.done = True
        link.acked_by_closed += flow.sink.acked_bytes()
        flow.sink.close(reset=True)
        flow.source.want(READ)
        return True

    def close_if_done(self) -> None:
        """Close once both directions have ended."""
        if self.forward.done and self.back is not None and self.back.done:
            self.close(reset=False)

    def close(self, *, reset: bool) -> None:
        """End it for both sides."""
        if self.closed:
            return
        self.closed = True
        for flow in self.flows():
            if flow.sink is not None and flow.sink.socket.fileno() >= 0:
                acked = flow.sink.acked_bytes()
                flow.link.acked_by_closed += acked
                flow.link.asked_by_closed += acked if flow is self.forward else 0
        self.near.close(reset=reset)
        if self.far is not None:
            self.far.close(reset=reset)
        self._on_close(self)

    def _unreachable(self) -> None:
        self.forward.link.unreachable += 1
        self.close(reset=True)


def _addresses(sock: socket.socket) -> tuple[tuple[str, int] | None, tuple[str, int] | None]:
    # Of the other side and of this one; None where the connection has ended already.
    try:
        return sock.getpeername()[:2], sock.getsockname()[:2]
    except OSError:
        return None, None
