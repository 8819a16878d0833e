"""One persistent HTTP/1.1 connection that knows whether a request can have reached the server."""

from __future__ import annotations

import contextlib
import io
import select
import socket
import time
from http.client import HTTPException, HTTPResponse
from typing import Any, cast

from refute.workload.answer import Answer

MAX_BODY_BYTES = 16 * 1024 * 1024


class NotSentError(Exception):
    """No byte of the request left this machine's socket: it did not happen and never will."""


class UnansweredError(Exception):
    """The request may have arrived, and no whole answer came back: nobody knows."""


class HttpConnection:
    """Sends one request at a time; reconnects where the other side closed in between.

    Every exchange has a deadline for all of it, so that a server that answers one byte a second
    does not hold a client for longer than its timeout.
    """

    def __init__(self, host: str, port: int) -> None:
        self._address = (host, port)
        self._socket: socket.socket | None = None

    def close(self) -> None:
        """Closes the socket; the next exchange opens another."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def exchange(self, request: bytes, method: str, deadline: float) -> Answer:
        """Sends a whole request and returns the whole answer, before `deadline` of `time.monotonic`.

        Raises NotSentError or UnansweredError; after either the connection is closed, since what a
        late answer says must never be taken for the answer to the next request.
        """
        try:
            wire = self._connected(deadline)
            self._send(wire, request, deadline)
            return self._receive(wire, method, deadline)
        except BaseException:
            self.close()
            raise

    def _connected(self, deadline: float) -> socket.socket:
        if self._socket is not None and _has_news(self._socket):
            self.close()  # closed by the other side, or an answer that nobody asked for
        if self._socket is None:
            try:
                self._socket = socket.create_connection(self._address, _left(deadline))
            except OSError as error:
                raise NotSentError(f"cannot connect: {_said(error)}") from None
            with contextlib.suppress(OSError):
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._socket

    def _send(self, wire: socket.socket, request: bytes, deadline: float) -> None:
        try:
            wire.settimeout(_left(deadline))
            sent = wire.send(request)
        except OSError as error:
            raise NotSentError(f"cannot send: {_said(error)}") from None
        try:
            if sent < len(request):
                wire.settimeout(_left(deadline))
                wire.sendall(request[sent:])
        except OSError as error:
            raise UnansweredError(f"sent in part: {_said(error)}") from None

    def _receive(self, wire: socket.socket, method: str, deadline: float) -> Answer:
        try:
            response = HTTPResponse(cast(Any, _Incoming(wire, deadline)), method=method)
            response.begin()
            body = response.read(MAX_BODY_BYTES + 1)
            if len(body) > MAX_BODY_BYTES:
                raise UnansweredError(f"the answer is longer than {MAX_BODY_BYTES} bytes")
            if response.length:  # read(n) returns what there is; what the length promised did not come
                raise UnansweredError("the answer was cut off")
        except TimeoutError:
            raise UnansweredError("timed out") from None
        except (OSError, HTTPException, ValueError) as error:
            raise UnansweredError(f"no whole answer: {_said(error)}") from None
        headers = {name.lower(): value for name, value in response.getheaders()}
        if response.will_close:
            self.close()
        return Answer(response.status, headers, body)


class _Incoming(io.RawIOBase):
    """The receiving side of a socket as a stream with a deadline."""

    def __init__(self, wire: socket.socket, deadline: float) -> None:
        super().__init__()
        self._wire = wire
        self._deadline = deadline

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self, 65536)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        self._wire.settimeout(_left(self._deadline))
        return self._wire.recv_into(buffer)


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("timed out")
    return left


def _has_news(wire: socket.socket) -> bool:
    poll = select.poll()
    poll.register(wire, select.POLLIN)
    return bool(poll.poll(0))


def _said(error: BaseException) -> str:
    strerror = getattr(error, "strerror", None)
    return str(strerror or error or type(error).__name__).lower()
