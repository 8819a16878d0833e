"""A small HTTP/1.1 server: keep-alive, Content-Length bodies, JSON answers."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl

from .config import Address

MAX_BODY_BYTES = 1024 * 1024
IDLE_S = 60.0
LINGER_S = 1.0


@dataclass(frozen=True, slots=True)
class HttpRequest:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    status: int
    body: Any
    headers: dict[str, str] = field(default_factory=dict)

    def encode(self, *, close: bool) -> bytes:
        """A str body is sent as plain text, anything else as JSON."""
        if isinstance(self.body, str):
            content, kind = self.body.encode(), "text/plain; charset=utf-8"
        else:
            content, kind = json.dumps(self.body, separators=(",", ":")).encode(), "application/json"
        lines = [
            f"HTTP/1.1 {self.status} {HTTPStatus(self.status).phrase}",
            f"Content-Type: {kind}",
            f"Content-Length: {len(content)}",
            *(f"{name}: {value}" for name, value in self.headers.items()),
        ]
        if close:
            lines.append("Connection: close")
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


class RefusedError(Exception):
    """A request that is answered with an error before anybody looks at what it wants."""

    def __init__(self, status: int, error: str) -> None:
        super().__init__(error)
        self.answer = HttpAnswer(status, {"error": error})


async def read_request(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> HttpRequest | None:
    """The next request on the connection; None if the client has closed it."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    except asyncio.LimitOverrunError as error:
        raise RefusedError(431, "headers-too-large") from error
    first, *lines = head[:-4].decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise RefusedError(400, "bad-request-line")
    headers: dict[str, str] = {}
    for line in lines:
        name, separator, value = line.partition(":")
        if not separator:
            raise RefusedError(400, "bad-header")
        headers[name.strip().lower()] = value.strip()
    if "transfer-encoding" in headers:
        raise RefusedError(411, "length-required")
    length = headers.get("content-length", "0")
    if not length.isdigit():
        raise RefusedError(400, "bad-content-length")
    if int(length) > MAX_BODY_BYTES:
        raise RefusedError(413, "body-too-large")
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    body = await reader.readexactly(int(length)) if length != "0" else b""
    path, _, query = words[1].partition("?")
    return HttpRequest(words[0], path, dict(parse_qsl(query, keep_blank_values=True)), headers, body)


async def discard_rest(reader: asyncio.StreamReader) -> None:
    """Read what a refused client still sends: a reset connection would lose it the answer."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LINGER_S):
            while await reader.read(65536):
                pass


class HttpServer:
    """Hands each request to `handle`; a connection's requests are answered in order."""

    def __init__(self, address: Address, handle: Callable[[HttpRequest], Awaitable[HttpAnswer]]) -> None:
        self._address = address
        self._handle = handle
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(
            self._serve, self._address.host, self._address.port, backlog=512
        )

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with contextlib.suppress(OSError, TimeoutError, EOFError, asyncio.CancelledError):
                await self._answer_all(reader, writer)
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _answer_all(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                async with asyncio.timeout(IDLE_S):
                    request = await read_request(reader, writer)
            except RefusedError as refused:
                writer.write(refused.answer.encode(close=True))
                writer.write_eof()
                await discard_rest(reader)
                return
            if request is None:
                return
            answer = await self._handle(request)
            close = request.headers.get("connection", "").lower() == "close"
            writer.write(answer.encode(close=close))
            await writer.drain()
            if close:
                return

    async def stop(self) -> None:
        """Stop listening and close every connection."""
        if self._server is not None:
            self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
