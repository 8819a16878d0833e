"""Waiting for sockets and for moments: the loop that the proxy host runs in.

Written for throughput: a proxied byte costs one wait, one read and one write, and nothing else.
"""

from __future__ import annotations

import heapq
import itertools
import select
import selectors
import socket
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Protocol

READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
NS = 1_000_000_000
_LONGEST_WAIT_S = 1.0

Callback = Callable[[int], None]


class Loop:
    """Calls back when a socket is ready or a moment has come, in one thread."""

    def __init__(self) -> None:
        self._waiting: _Waiting = _Epoll() if hasattr(select, "epoll") else _AnySelector()
        self._timers: list[tuple[int, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._over = False

    def watch(self, sock: socket.socket, interest: int, before: int, callback: Callback) -> None:
        """Wait for these events at the socket; `before` are those that were waited for until now."""
        self._waiting.change(sock.fileno(), interest, before, callback)

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


# EPOLLIN is 1, EPOLLOUT 4, EPOLLERR 8, EPOLLHUP 16.
_EVENTS = [
    (READ if events & 1 or events & 24 else 0) | (WRITE if events & 4 or events & 24 else 0)
    for events in range(32)
]


class _Epoll:
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


class _AnySelector:
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
