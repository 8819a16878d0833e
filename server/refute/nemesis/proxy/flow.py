"""The bytes of one direction of a proxied connection: passed on, held, delayed, limited, damaged or lost."""

from __future__ import annotations

import errno
import socket
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING

from refute.nemesis.proxy.effect import NS, Bucket
from refute.nemesis.proxy.end import End
from refute.nemesis.proxy.link import Link
from refute.nemesis.proxy.relay import Outcome
from refute.nemesis.proxy.splice import WORTHWHILE_BYTES, Splice

if TYPE_CHECKING:
    from refute.nemesis.proxy.connection import Connection

CHUNK_BYTES = 256 * 1024
MOST_QUEUED_BYTES = 1024 * 1024
MOST_DELAYED_BYTES = 16 * 1024 * 1024
_BUFFER = memoryview(bytearray(CHUNK_BYTES))
_SPLICE = Splice()


class Flow:
    """The bytes of one direction of a connection."""

    __slots__ = (
        *("_blocked", "_bucket", "_close_ns", "_last_release_ns", "_limited", "_timer_ns", "_truncate_left"),
        *("_relayed", "connection", "done", "ended", "large", "link", "queue", "queued", "reset", "sink"),
        *("source", "swallow"),
    )

    def __init__(self, connection: Connection, link: Link, source: End, sink: End | None) -> None:
        self.connection = connection
        self.link = link
        self.source = source
        self.sink = sink
        self.queue: deque[tuple[int, int, bytes]] = deque()  # (not before ns, arrived ns, bytes)
        self.queued = 0
        self.large = False  # the last piece was
        self.ended = False  # the source will send no more
        self.reset = False  # it ended with a RST
        self.done = False  # the end was passed on
        self.swallow = False  # half-open: nobody is there any more
        self._relayed = False  # while nothing is in the way, bytes pass without our doing
        self._blocked = False
        self._bucket: Bucket | None = None
        self._limited = False  # what is queued had to wait for bandwidth
        self._last_release_ns = 0
        self._timer_ns = 0
        self._truncate_left: int | None = None
        self._close_ns = 0

    def read(self) -> None:
        """Take what the source has sent, and pass it on at once if nothing is in the way."""
        if self.large and self._splice():
            return
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
        self.large = _SPLICE.works and size >= WORTHWHILE_BYTES
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
            self._wait_for_room(bytes(_BUFFER[sent:size]))
            return
        self._take(bytes(_BUFFER[:size]))

    def relay_if_plain(self) -> None:
        """Have the relay pass bytes on while there is nothing else to do with them, and the link is clear."""
        sink, idle = self.sink, not (self.queued or self._blocked or self.swallow or self.ended)
        plain = idle and self.source.up and sink is not None and sink.up
        if plain == self._relayed:
            return
        loop, descriptor = self.connection.loop, self.source.socket.fileno()
        if plain:
            assert sink is not None
            into = sink.socket.fileno()
            self._relayed = loop.carry(descriptor, into, self.link.relayed, self._handed_back)
        else:
            self._relayed = False
            loop.leave(descriptor)

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
                allowed, free_ns = bucket.allow(self, allowed, now)
                if not allowed:
                    self._wake_at(free_ns)
                    break
            self._limited |= allowed < len(data)
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
                bucket.spend(self, sent, now)
            if self._limited:
                link.limited_bytes += sent
            link.delivered_bytes += sent
            self.queued -= sent
            if sent == len(data):
                self.queue.popleft()
                link.transit_ns += time.monotonic_ns() - arrived
                link.transits += 1
            else:
                self.queue[0] = (not_before, arrived, data[sent:])
        self._limited &= bool(self.queue)
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
        if self.link.effect is None or not self.link.effect.slow_close_s:
            self._close_ns = 0

    def _splice(self) -> bool:
        # What `read` does, for large pieces with nothing in their way. False where it has to be done there.
        link, sink = self.link, self.sink
        if link.effect is not None or self.queued or self.swallow or sink is None or not sink.up:
            return False
        began = time.monotonic_ns()
        try:
            size = _SPLICE.take(self.source.socket.fileno())
        except BlockingIOError:
            return False
        except OSError as error:
            if error.errno == errno.EINVAL:  # not for this socket
                return False
            self.end(reset=True)  # the kernel tells it once: `recv` would see an orderly end
            return True
        if not size:
            return False
        link.received_bytes += size
        self.large = size >= WORTHWHILE_BYTES
        sent, broke = 0, False
        try:
            sent = _SPLICE.give(sink.socket.fileno(), size)
        except BlockingIOError:
            pass
        except OSError:
            broke = True
        rest = _SPLICE.rest(size - sent)
        link.delivered_bytes += sent
        link.transit_ns += time.monotonic_ns() - began
        link.transits += 1
        if broke:
            self.sink_broke()
        elif rest:
            self._wait_for_room(rest)
        return True

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

    def _handed_back(self, outcome: int, rest: bytes) -> None:
        if self.connection.closed:
            return
        if outcome == Outcome.REST:
            self._wait_for_room(rest)
        elif outcome == Outcome.SOURCE_BROKE:
            self.end(reset=True)
        else:
            self.sink_broke()

    def _wait_for_room(self, rest: bytes) -> None:
        self._enqueue(0, rest)
        self._blocked = True
        self.settle()

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
