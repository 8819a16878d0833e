"""One node put together: it starts, serves until it is told to stop, and stops."""

from __future__ import annotations

import asyncio
import logging
import os
import signal

from .api import Api
from .config import Config
from .disk import claim_directory
from .elections import Elections
from .http1 import HttpServer
from .metrics import Metrics
from .peers import Link, Message, PeerServer
from .replica import Replica
from .replication import Replication
from .transfer import Transfer

log = logging.getLogger("quorumkv")

LAST_ANSWERS_S = 0.05
"""Time for clients that are waiting to be told that the outcome is unknown."""


class Node:
    """Everything that runs in one process. `start`, then `stop`; a stopped node is not started again."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self._lock = claim_directory(config.data)
        self.metrics = Metrics(sorted(config.peers))
        self.replica = Replica(config, self.metrics)
        self._links = {name: Link(name, address, self.metrics) for name, address in config.peers.items()}
        self._elections = Elections(self.replica, self._links)
        api = Api(config, self.replica, Transfer(self.replica, self._links))
        self._peer_server = PeerServer(config.peer, self._handle, self.metrics)
        self._http = HttpServer(config.client, api.handle)
        self.tasks: list[asyncio.Task[None]] = []

    def _handle(self, message: Message) -> Message:
        match message["kind"]:
            case "append":
                return self.replica.append_entries(message)
            case "vote":
                return self._elections.vote(message)
            case "snapshot":
                return self.replica.install_snapshot(message)
            case "stand":
                return self._elections.stand_now(message)
        raise ValueError(f"unknown message {message['kind']!r}")

    async def start(self) -> None:
        await self._peer_server.start()
        await self._http.start()
        self.tasks = [asyncio.create_task(self._elections.run())]
        self.tasks += [
            asyncio.create_task(Replication(self.replica, link).run()) for link in self._links.values()
        ]
        log.info(
            "%s serves clients on %s, peers on %s", self.config.node, self.config.client, self.config.peer
        )

    async def stop(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        self.replica.step_down(self.replica.term, "stopping")
        await asyncio.sleep(LAST_ANSWERS_S)
        await self._http.stop()
        await self._peer_server.stop()
        for link in self._links.values():
            link.close()
        self.replica.log.close()
        os.close(self._lock)


async def serve(config: Config) -> None:
    """Run a node until SIGTERM or SIGINT. Raises OSError if a port cannot be had, DiskError for the disk."""
    node = Node(config)
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopping.set)
    await node.start()
    waiter = asyncio.create_task(stopping.wait())
    await asyncio.wait([waiter, *node.tasks], return_when=asyncio.FIRST_COMPLETED)
    failed = [task for task in node.tasks if task.done()]
    waiter.cancel()
    await node.stop()
    for task in failed:
        task.result()
    log.info("%s stopped", config.node)
