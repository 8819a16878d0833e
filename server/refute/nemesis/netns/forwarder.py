"""The way of clients into the netns plane: a process that listens on loopback and connects from inside.

`python -m refute.nemesis.netns.forwarder`, with its configuration as JSON on standard input. It opens its
listening sockets on the machine's loopback, then enters the clients' namespace for good, and connects from
there. It listens only while the node does, so that a node that is down refuses connections as it should.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from refute.nemesis.netns.kernel import join, join_users
from refute.nemesis.proxy.connection import Connection
from refute.nemesis.proxy.link import Link
from refute.nemesis.proxy.loop import READ, Loop
from refute.nemesis.proxy.relay import relay_if_any
from refute.system.node_reference import CLIENT
from refute.system.process_table import ProcessId, is_alive
from refute.system.socket_diagnosis import SocketTable
from refute.system.socket_owners import listening_ports

_BACKLOG = 1024
_ACCEPTS_A_ROUND = 64
_LOOK_EVERY_NS = 10_000_000


class Forwarder:
    """All ways in of one run."""

    def __init__(self, configuration: Mapping[str, Any]) -> None:
        self.loop = Loop(relay_if_any())
        self._holder = ProcessId(*configuration["holder"])
        self._ways = [_Way(self.loop, written) for written in configuration["ways"]]
        if configuration["user"]:
            join_users(configuration["clients"])
        self._tables: dict[int, SocketTable] = {}
        for anchor in {way.anchor for way in self._ways}:
            join(anchor)
            self._tables[anchor] = SocketTable()
        join(configuration["clients"])
        self._look()

    def _look(self) -> None:
        if not is_alive(self._holder):
            self.loop.end()
            return
        listening = {anchor: listening_ports(table) for anchor, table in self._tables.items()}
        for way in self._ways:
            way.follow(listening[way.anchor])
        self.loop.at(time.monotonic_ns() + _LOOK_EVERY_NS, self._look)


class _Way:
    """One loopback port, which leads to one port of one node."""

    def __init__(self, loop: Loop, written: Mapping[str, Any]) -> None:
        self.anchor: int = written["anchor"]
        self._loop = loop
        self._target = (written["target"][0], int(written["target"][1]))
        self._there, self._back = Link(CLIENT, written["node"]), Link(written["node"], CLIENT)
        self._connections: set[Connection] = set()
        self._open = False
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", written["port"]))
        self._socket.setblocking(False)

    def follow(self, listening: set[int]) -> None:
        """Listen where the node does; the port stays bound in between, so that it is nobody else's."""
        wanted = self._target[1] in listening
        if wanted and not self._open:
            self._socket.listen(_BACKLOG)
            self._loop.watch(self._socket, READ, 0, self._accept)
        elif self._open and not wanted:
            self._loop.watch(self._socket, 0, READ, self._accept)
            self._socket.shutdown(socket.SHUT_RDWR)
        self._open = wanted

    def _accept(self, _: int) -> None:
        for _round in range(_ACCEPTS_A_ROUND):
            try:
                accepted, _address = self._socket.accept()
            except OSError:  # nobody more, or gone again
                return
            connection = Connection(
                self._loop, accepted, self._target, self._there, self._back, self._connections.discard
            )
            self._connections.add(connection)
            connection.begin()


def main() -> int:
    """Listen and carry until told to leave, or until the network is gone."""
    configuration = json.load(sys.stdin)
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    try:
        forwarder = Forwarder(configuration)
    except OSError as error:
        print(json.dumps({"error": str(error)}), flush=True)  # noqa: T201
        return 69
    signal.signal(signal.SIGTERM, lambda *_: forwarder.loop.end())
    print(json.dumps({"ready": True}), flush=True)  # noqa: T201
    os.close(1)
    with suppress(KeyboardInterrupt):
        forwarder.loop.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
