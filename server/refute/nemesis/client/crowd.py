"""Many connections to one port, held, or read slowly: `python -m refute.nemesis.client.crowd JSON`.

What it has done is written to a file, over and over. It ends with whoever started it.
"""

from __future__ import annotations

import array
import errno
import fcntl
import json
import os
import resource
import selectors
import socket
import sys
import termios
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_TICK_S = 0.1
_SMALL_BUFFER_BYTES = 4096


@dataclass(slots=True)
class Report:
    """Connections that were opened, are open, were ended by the other side, could not be opened; our ports;
    bytes that wait unread; requests sent."""

    opened: int = 0
    turned_away: int = 0
    failed: int = 0
    unread: int = 0
    requests: int = 0
    ports: list[int] = field(default_factory=list)


class Crowd:
    """The connections; `request` is sent on each where `bytes_per_s` says how slowly answers are read."""

    def __init__(self, host: str, port: int, count: int, request: bytes, bytes_per_s: float) -> None:
        self.address, self.count, self.request = (host, port), count, request
        self.share = max(1, round(bytes_per_s * _TICK_S))
        self.report = Report()
        self._open: dict[socket.socket, float] = {}
        self._news = selectors.DefaultSelector()

    def open_all(self) -> None:
        """As many as are asked for, one after the other; one that is refused is counted."""
        for _ in range(self.count):
            try:
                made = socket.socket()
                if self.request:
                    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL_BUFFER_BYTES)
                made.settimeout(2.0)
                made.connect(self.address)
            except OSError:
                self.report.failed += 1
                continue
            made.setblocking(False)
            self.report.opened += 1
            self.report.ports.append(made.getsockname()[1])
            self._open[made] = 0.0
            if not self.request:
                self._news.register(made, selectors.EVENT_READ)

    def tick(self) -> None:
        """Look at each connection once, and wait for the next turn."""
        began = time.monotonic()
        if self.request:
            for each in list(self._open):
                self._read_slowly(each)
            self.report.unread = sum(map(_unread, self._open))
        else:
            for key, _ in self._news.select(0):
                assert isinstance(key.fileobj, socket.socket)
                self._take(key.fileobj, 65536)
        time.sleep(max(0.0, began + _TICK_S - time.monotonic()))

    def _read_slowly(self, connection: socket.socket) -> None:
        if _unread(connection):
            self._take(connection, self.share)
        elif time.monotonic() - self._open[connection] > 1.0:  # the answer is over: ask again
            self._open[connection] = time.monotonic()
            try:
                connection.send(self.request)
                self.report.requests += 1
            except OSError:
                self._close(connection)
        else:
            self._take(connection, 1)

    def _take(self, connection: socket.socket, most: int) -> None:
        try:
            if not connection.recv(most):
                self._close(connection)
        except OSError as error:
            if error.errno not in (errno.EAGAIN, errno.EWOULDBLOCK):
                self._close(connection)

    def _close(self, connection: socket.socket) -> None:
        self.report.turned_away += 1
        del self._open[connection]
        if not self.request:
            self._news.unregister(connection)
        connection.close()


def _unread(connection: socket.socket) -> int:
    waiting = array.array("i", [0])
    with suppress(OSError):
        fcntl.ioctl(connection, termios.FIONREAD, waiting)
    return waiting[0]


def main(asked: dict[str, Any]) -> None:
    """Until we are ended, or whoever started us is gone."""
    parent, hard = os.getppid(), resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    file = Path(asked["report"])
    crowd = Crowd(
        asked["host"], asked["port"], asked["count"], bytes.fromhex(asked["request"]), asked["bytes_per_s"]
    )
    crowd.open_all()
    while os.getppid() == parent:
        partial = file.with_suffix(".partial")
        partial.write_text(json.dumps({name: getattr(crowd.report, name) for name in Report.__slots__}))
        partial.replace(file)
        crowd.tick()
    file.unlink(missing_ok=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
