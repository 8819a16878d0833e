"""Waiting for sockets and for moments: the loop that the proxy host runs in.

Written for throughput: a proxied byte costs one wait, one read and one write, and nothing else.
"""

from __future__ import annotations

import heapq
import itertools
import selectors
import socket
import time
from collections.abc import Callable
from contextlib import suppress

_LONGEST_WAIT_S = 1.0
NS = 1_000_000_000


class Loop:
    """Calls back when a socket is ready or a moment has come, in one thread."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._timers: list[tuple[int, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._over = False

    def watch(self, sock: socket.socket, interest: int, before: int, callback: Callable[[int], None]) -> None:
        """Wait for these events at the socket; `before` are those that were waited for until now."""
        if not interest:
            with suppress(KeyError, ValueError):
                self._selector.unregister(sock)
        elif not before:
            self._selector.register(sock, interest, callback)
        else:
            self._selector.modify(sock, interest, callback)

    def at(self, when_ns: int, callback: Callable[[], None]) -> None:
        """Call back at a monotonic time."""
        heapq.heappush(self._timers, (when_ns, next(self._order), callback))

    def end(self) -> None:
        """Return from `run` after the present round."""
        self._over = True

    def run(self) -> None:
        """Until `end` is called."""
        select, timers = self._selector.select, self._timers
        while not self._over:
            wait_s = _LONGEST_WAIT_S
            if timers:
                wait_s = min(wait_s, max(0.0, (timers[0][0] - time.monotonic_ns()) / NS))
            for key, mask in select(wait_s):
                key.data(mask)
            while timers and timers[0][0] <= time.monotonic_ns():
                heapq.heappop(timers)[2]()
