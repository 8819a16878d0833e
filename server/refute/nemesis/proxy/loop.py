"""Waiting for sockets and for moments: the loop that the proxy host runs in.

Written for throughput: a proxied byte costs one wait, one read and one write, and nothing else. With the
relay, bytes that no fault touches cost no Python at all.
"""

from __future__ import annotations

import ctypes
import heapq
import itertools
import select
import selectors
import socket
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Protocol

from refute.nemesis.proxy.relay import Counts, Outcome, Relay

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
NS = 1_000_000_000
_LONGEST_WAIT_S = 1.0

Callback = Callable[[int], None]
HandedBack = Callable[[int, bytes], None]  # an Outcome, the bytes that were read and not sent


class Loop:
    """Calls back when a socket is ready or a moment has come, in one thread."""

    def __init__(self, relay: ctypes.CDLL | None = None) -> None:
        """`relay` is the library that moves bytes, where there is one."""
        self._waiting: _Waiting = _AnySelector()
        if hasattr(select, "epoll"):
            self._waiting = _Epoll() if relay is None else _RelayedEpoll(relay)
        self._timers: list[tuple[int, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._over = False

    def watch(self, sock: socket.socket, interest: int, before: int, callback: Callback) -> None:
        """Wait for these events at the socket; `before` are those that were waited for until now."""
        self._waiting.change(sock.fileno(), interest, before, callback)

    def carry(self, source: int, sink: int, counts: Counts, handed_back: HandedBack) -> bool:
        """Pass on what is read at `source` without a call back, while `counts` are clear; whether it is done.

        What cannot be passed on is handed back; whatever else happens at `source` is called back as ever.
        """
        return self._waiting.carry(source, sink, counts, handed_back)

    def leave(self, source: int) -> None:
        """Call back for what is read at `source` again."""
        self._waiting.leave(source)

    def forget(self, descriptor: int) -> None:
        """A socket is about to be closed, and its number free for another one."""
        self._waiting.forget(descriptor)

    def at(self, when_ns: int, callback: Callable[[], None]) -> None:
        """Call back at a monotonic time."""
        heapq.heappush(self._timers, (when_ns, next(self._order), callback))

    def end(self) -> None:
        """Return from `run` after the present round."""
        self._over = True

    def run(self) -> None:
        """Until `end` is called."""
        ready, timers = self._waiting.ready, self._timers
        while not self._over:
            wait_s = _LONGEST_WAIT_S
            if timers:
                wait_s = min(wait_s, max(0.0, (timers[0][0] - time.monotonic_ns()) / NS))
            for callback, events in ready(wait_s):
                callback(events)
            while timers and timers[0][0] <= time.monotonic_ns():
                heapq.heappop(timers)[2]()


class _Waiting(Protocol):
    def change(self, descriptor: int, interest: int, before: int, callback: Callback) -> None: ...

    def ready(self, wait_s: float) -> Iterable[tuple[Callback, int]]: ...

    def carry(self, source: int, sink: int, counts: Counts, handed_back: HandedBack) -> bool: ...

    def leave(self, source: int) -> None: ...

    def forget(self, descriptor: int) -> None: ...


class _NoRelay:
    """Where every byte goes through Python."""

    def carry(self, source: int, sink: int, counts: Counts, handed_back: HandedBack) -> bool:  # noqa: ARG002
        return False

    def leave(self, source: int) -> None:
        """Nothing is carried."""

    def forget(self, descriptor: int) -> None:
        """Nothing is carried."""


# EPOLLIN is 1, EPOLLOUT 4, EPOLLERR 8, EPOLLHUP 16.
_EVENTS = [
    (READ if events & 1 or events & 24 else 0) | (WRITE if events & 4 or events & 24 else 0)
    for events in range(32)
]


class _Epoll(_NoRelay):
    """Linux: without the objects that `selectors` makes for every event."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._callbacks: dict[int, Callback] = {}

    def change(self, descriptor: int, interest: int, before: int, callback: Callback) -> None:
        events = (select.EPOLLIN if interest & READ else 0) | (select.EPOLLOUT if interest & WRITE else 0)
        if not interest:
            self._callbacks.pop(descriptor, None)
            with suppress(OSError, ValueError):
                self._epoll.unregister(descriptor)
            return
        self._callbacks[descriptor] = callback
        if before:
            self._epoll.modify(descriptor, events)
        else:
            self._epoll.register(descriptor, events)

    def ready(self, wait_s: float) -> Iterable[tuple[Callback, int]]:
        # An end or an error wakes both: the read or the write that follows tells which it is.
        # The callbacks are looked up before any of them runs: one may close a socket whose number the next
        # one is given at once.
        callbacks = self._callbacks
        return [
            (callbacks[d], _EVENTS[events & 31]) for d, events in self._epoll.poll(wait_s) if d in callbacks
        ]


class _RelayedEpoll(_Epoll):
    """Linux, with the relay."""

    def __init__(self, library: ctypes.CDLL) -> None:
        super().__init__()
        self._relay = Relay(library, self._epoll.fileno())
        # The counts are written to by the relay: they are kept for as long as it knows of them.
        self._carried: dict[int, tuple[Counts, HandedBack]] = {}

    def carry(self, source: int, sink: int, counts: Counts, handed_back: HandedBack) -> bool:
        begun = self._relay.begin(source, sink, counts)
        if begun:
            self._carried[source] = (counts, handed_back)
        return begun

    def leave(self, source: int) -> None:
        self._relay.end(source)
        self._carried.pop(source, None)

    def forget(self, descriptor: int) -> None:
        self._relay.forget(descriptor)
        self._carried.pop(descriptor, None)

    def ready(self, wait_s: float) -> Iterable[tuple[Callback, int]]:
        found: list[tuple[Callback, int]] = []
        callbacks = self._callbacks
        for descriptor, events, outcome, rest in self._relay.wait(wait_s):
            if outcome == Outcome.READY:
                if descriptor in callbacks:
                    found.append((callbacks[descriptor], _EVENTS[events & 31]))
            else:
                # First of all: a fault that goes on in this round has to find these bytes queued.
                handed_back = self._carried[descriptor][1]
                found.insert(0, (partial(_hand_back, handed_back, outcome, rest), events))
        return found


def _hand_back(handed_back: HandedBack, outcome: int, rest: bytes, _events: int) -> None:
    handed_back(outcome, rest)


class _AnySelector(_NoRelay):
    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def change(self, descriptor: int, interest: int, before: int, callback: Callback) -> None:
        if not interest:
            with suppress(KeyError, ValueError):
                self._selector.unregister(descriptor)
        elif before:
            self._selector.modify(descriptor, interest, callback)
        else:
            self._selector.register(descriptor, interest, callback)

    def ready(self, wait_s: float) -> Iterable[tuple[Callback, int]]:
        return [(key.data, events) for key, events in self._selector.select(wait_s)]
