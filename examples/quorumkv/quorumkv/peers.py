"""Talking to the other nodes: JSON in frames of four length bytes, one request at a time on a connection."""

from __future__ import annotations

import asyncio
import contextlib
import json
import struct
from collections.abc import Callable
from typing import Any

from .config import Address
from .metrics import Metrics

Message = dict[str, Any]

MAX_FRAME_BYTES = 256 * 1024 * 1024
IDLE_S = 10.0


class PeerUnreachableError(Exception):
    """No answer came in time; whether the request arrived is not known."""


async def read_frame(reader: asyncio.StreamReader) -> Message:
    (size,) = struct.unpack(">I", await reader.readexactly(4))
    if size > MAX_FRAME_BYTES:
        raise ValueError(f"frame of {size} bytes")
    message: Message = json.loads(await reader.readexactly(size))
    return message


def frame(message: Message) -> bytes:
    content = json.dumps(message, separators=(",", ":")).encode()
    return struct.pack(">I", len(content)) + content


class Link:
    """The way to one peer. After any failure the connection is closed and the next call opens a new one."""

    def __init__(self, name: str, address: Address, metrics: Metrics) -> None:
        self.name = name
        self._address = address
        self._metrics = metrics
        self._lock = asyncio.Lock()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def call(self, message: Message, timeout_s: float) -> Message:
        """The peer's answer. Raises PeerUnreachableError after `timeout_s` without one."""
        async with self._lock:
            try:
                async with asyncio.timeout(timeout_s):
                    if self._streams is None:
                        self._streams = await asyncio.open_connection(self._address.host, self._address.port)
                    reader, writer = self._streams
                    writer.write(frame(message))
                    await writer.drain()
                    self._metrics.add("peer_messages_sent_total", peer=self.name)
                    return await read_frame(reader)
            except (OSError, TimeoutError, EOFError, ValueError) as error:
                self.close()
                self._metrics.add("peer_send_failures_total", peer=self.name)
                raise PeerUnreachableError(self.name) from error
            except asyncio.CancelledError:
                self.close()
                raise

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None


class PeerServer:
    """Answers the requests of other nodes with what `handle` returns."""

    def __init__(self, address: Address, handle: Callable[[Message], Message], metrics: Metrics) -> None:
        self._address = address
        self._handle = handle
        self._metrics = metrics
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, self._address.host, self._address.port)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with contextlib.suppress(OSError, TimeoutError, EOFError, ValueError, asyncio.CancelledError):
                while True:
                    async with asyncio.timeout(IDLE_S):
                        message = await read_frame(reader)
                    self._metrics.add("peer_messages_received_total", peer=message["from"])
                    writer.write(frame(self._handle(message)))
                    await writer.drain()
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
