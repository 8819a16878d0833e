"""One proxied connection: two sockets and the two flows of bytes between them."""

from __future__ import annotations

import selectors
import socket
import struct
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from refute.nemesis.proxy.effect import NS, Bucket
from refute.nemesis.proxy.link import Link

if TYPE_CHECKING:
    from refute.nemesis.proxy.loop import Loop

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
CHUNK_BYTES = 256 * 1024
MOST_QUEUED_BYTES = 1024 * 1024
MOST_DELAYED_BYTES = 16 * 1024 * 1024
_BUFFER = memoryview(bytearray(CHUNK_BYTES))
_RESET = struct.pack("ii", 1, 0)
_TCP_INFO = getattr(socket, "TCP_INFO", None)
_ACKED_AT = 120  # tcpi_bytes_acked: what the other kernel has acknowledged


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
        if mask & WRITE:
            if not self.up:
                self.incoming.connection.connected()
            else:
                self.incoming.pump()
        if mask & READ and self.socket.fileno() >= 0 and self._interest & READ:
            self.outgoing.read()


class Flow:
    """The bytes of one direction of a connection."""

    __slots__ = (
        *("_blocked", "_bucket", "_last_release_ns", "_timer_ns", "_truncate_left", "connection", "done"),
        *("ended", "link", "queue", "queued", "reset", "sink", "source", "swallow", "_close_ns"),
    )

    def __init__(self, connection: Connection, link: Link, source: End, sink: End | None) -> None:
        self.connection = connection
        self.link = link
        self.source = source
        self.sink = sink
        self.queue: deque[tuple[int, int, bytes]] = deque()  # (not before ns, arrived ns, bytes)
        self.queued = 0
        self.ended = False  # the source will send no more
        self.reset = False  # it ended with a RST
        self.done = False  # the end was passed on
        self.swallow = False  # half-open: nobody is there any more
        self._blocked = False
        self._bucket: Bucket | None = None
        self._last_release_ns = 0
        self._timer_ns = 0
        self._truncate_left: int | None = None
        self._close_ns = 0

    def read(self) -> None:
        """Take what the source has sent, and pass it on at once if nothing is in the way."""
        try:
            size = self.source.socket.recv_into(_BUFFER)
        except BlockingIOError:
            return
        except OSError:
            self.end(reset=True)
            return
        if size == 0:
            self.end(reset=False)
            return
        link = self.link
        link.received_bytes += size
        sink = self.sink
        if link.effect is None and not self.queued and not self.swallow and sink is not None and sink.up:
            began = time.monotonic_ns()
            try:
                sent = sink.socket.send(_BUFFER[:size])
            except BlockingIOError:
                sent = 0
            except OSError:
                self.sink_broke()
                return
            link.delivered_bytes += sent
            link.transit_ns += time.monotonic_ns() - began
            link.transits += 1
            if sent == size:
                return
            self._enqueue(0, bytes(_BUFFER[sent:size]))
            self._blocked = True
            self.settle()
            return
        self._take(bytes(_BUFFER[:size]))

    def end(self, *, reset: bool) -> None:
        """The source has closed, or broken, its side."""
        self.ended, self.reset = True, reset
        effect = self.link.effect
        if effect is not None and effect.slow_close_s and not reset:
            self._close_ns = time.monotonic_ns() + int(effect.slow_close_s * NS)
            self.link.late_closes += 1
        self.pump()

    def sink_broke(self) -> None:
        """The receiver is gone: what was meant for it is lost, and the sender learns of it."""
        self._drop_queue()
        self.done = self.ended = True
        self.connection.other(self).end(reset=True)

    def pump(self) -> None:
        """Pass on what may pass now; arrange to be called when more may."""
        self._blocked = False
        link, effect = self.link, self.link.effect
        if self.connection.closed or self.sink is None or not self.sink.up or (effect and effect.cut):
            self.settle()
            return
        while self.queue:
            not_before, arrived, data = self.queue[0]
            now = time.monotonic_ns()
            if not_before > now:
                self._wake_at(not_before)
                break
            allowed = len(data)
            for bucket in self._buckets():
                allowed, free_ns = bucket.allow(allowed, now)
                if not allowed:
                    self._wake_at(free_ns)
                    break
            if not allowed:
                break
            try:
                sent = self.sink.socket.send(data if allowed >= len(data) else data[:allowed])
            except BlockingIOError:
                self._blocked = True
                break
            except OSError:
                self.sink_broke()
                return
            for bucket in self._buckets():
                bucket.spend(sent, now)
                link.limited_bytes += sent
            link.delivered_bytes += sent
            self.queued -= sent
            if sent == len(data):
                self.queue.popleft()
                link.transit_ns += time.monotonic_ns() - arrived
                link.transits += 1
            else:
                self.queue[0] = (not_before, arrived, data[sent:])
        if self.ended and not self.queue and not self.done:
            self._pass_the_end_on()
        self.settle()

    def settle(self) -> None:
        """Wait for what matters now: room at the sink, more from the source."""
        if not self.connection.closed:
            self.connection.settle()

    @property
    def wants_to_read(self) -> bool:
        """Whether more may be taken from the source; what is not waits in its kernel, then in it."""
        effect = self.link.effect
        most = MOST_DELAYED_BYTES if effect is not None and effect.delays else MOST_QUEUED_BYTES
        room = self.queued < most and (effect is not None or self.swallow or not self._blocked)
        return room and not self.ended

    @property
    def wants_to_write(self) -> bool:
        """Whether bytes wait for room at the sink."""
        return self._blocked

    def drop(self) -> int:
        """Lose what is queued; how many bytes that were."""
        lost = self.queued
        self.link.dropped_bytes += lost
        self._drop_queue()
        return lost

    def forget_limits(self) -> None:
        """The faults of the link have changed: start afresh with them."""
        self._bucket, self._truncate_left = None, None

    def _take(self, data: bytes) -> None:
        link, effect = self.link, self.link.effect
        if self.swallow:
            link.swallowed_bytes += len(data)
            return
        not_before = 0
        if effect is not None:
            if effect.cut:
                link.held_bytes += len(data)
            if effect.corruption:
                data, changed = effect.corrupted(data)
                link.corrupted_bytes += changed
            if effect.truncate_after is not None:
                data = self._cut_short(data, effect.truncate_after)
            if effect.delays:
                not_before = max(self._last_release_ns, time.monotonic_ns() + effect.delay_ns())
                self._last_release_ns = not_before
                link.delayed_bytes += len(data)
        if data:
            self._enqueue(not_before, data)
        self.pump()

    def _cut_short(self, data: bytes, after: int) -> bytes:
        left = after if self._truncate_left is None else self._truncate_left
        kept = data[:left]
        self._truncate_left = left - len(kept)
        if len(kept) < len(data):
            self.ended = self.connection.cut_short = True
            self.link.truncated_connections += 1
        return kept

    def _enqueue(self, not_before: int, data: bytes) -> None:
        self.queue.append((not_before, time.monotonic_ns(), data))
        self.queued += len(data)

    def _buckets(self) -> list[Bucket]:
        effect = self.link.effect
        if effect is None:
            return []
        if effect.flow_rate and self._bucket is None:
            self._bucket = Bucket(effect.flow_rate)
        return [bucket for bucket in (effect.link_bucket, self._bucket) if bucket is not None]

    def _pass_the_end_on(self) -> None:
        if self._close_ns > time.monotonic_ns():
            self._wake_at(self._close_ns)
            return
        self.done = True
        if self.reset or self.connection.cut_short:
            self.connection.close(reset=self.reset)
            return
        assert self.sink is not None
        with suppress(OSError):
            self.sink.socket.shutdown(socket.SHUT_WR)
        self.connection.close_if_done()

    def _wake_at(self, when_ns: int) -> None:
        if not self._timer_ns or when_ns < self._timer_ns:
            self._timer_ns = when_ns
            self.connection.loop.at(when_ns, self._woken)

    def _woken(self) -> None:
        self._timer_ns = 0
        if not self.connection.closed:
            self.pump()

    def _drop_queue(self) -> None:
        self.queue.clear()
        self.queued = 0


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
                flow.link.acked_by_closed += flow.sink.acked_bytes()
        self.near.close(reset=reset)
        if self.far is not None:
            self.far.close(reset=reset)
        self._on_close(self)

    def _unreachable(self) -> None:
        self.forward.link.unreachable += 1
        self.close(reset=True)
