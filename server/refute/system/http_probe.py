"""A small HTTP/1.1 reader on one kept connection: what a state that is read every millisecond can afford.

The general client of the standard library parses headers as mail, at three times the cost of the request.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Any


class HttpProbe:
    """Asks one fixed request of one address again and again."""

    def __init__(
        self, address: str, method: str, path: str, headers: Mapping[str, str], body: Any, timeout_s: float
    ) -> None:
        host, _, port = address.rpartition(":")
        self._place = (host, int(port))
        self._timeout_s = timeout_s
        self._connection: socket.socket | None = None
        payload = b"" if body is None else (body if isinstance(body, str) else json.dumps(body)).encode()
        lines = {"Host": address, "Accept": "*/*", **headers}
        if payload or method not in ("GET", "HEAD"):
            lines |= {"Content-Length": str(len(payload))}
            if not isinstance(body, str):
                lines.setdefault("Content-Type", "application/json")
        fields = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        head = f"{method} {path} HTTP/1.1\r\n{fields}"
        self._request = head.encode() + b"\r\n" + payload
        self._is_head = method == "HEAD"

    def ask(self) -> tuple[int, bytes]:
        """Status and body of the answer. Raises OSError, also for an answer that is not HTTP."""
        if self._connection is not None:
            # The server may have closed a connection that was idle: once more on a new one.
            with suppress(OSError):
                return self._exchange(self._connection)
            self.close()
        self._connection = socket.create_connection(self._place, self._timeout_s)
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            return self._exchange(self._connection)
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        """Give the connection up."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _exchange(self, connection: socket.socket) -> tuple[int, bytes]:
        connection.sendall(self._request)
        received = b""
        while (end := received.find(b"\r\n\r\n")) < 0:
            received += _more(connection)
        head, body = received[:end].decode("latin-1").split("\r\n"), received[end + 4 :]
        parts = head[0].split(" ", 2)
        if not parts[0].startswith("HTTP/") or len(parts) < 2 or not parts[1].isdigit():
            raise ConnectionError(f"not an HTTP answer: {head[0][:60]!r}")
        status = int(parts[1])
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(":") for line in head[1:])
        }
        if status in (204, 304) or self._is_head:
            body = b""
        elif "chunked" in headers.get("transfer-encoding", "").lower():
            body = self._chunks(connection, body)
        elif "content-length" in headers:
            length = int(headers["content-length"])
            pieces, have = [body], len(body)
            while have < length:
                pieces.append(_more(connection))
                have += len(pieces[-1])
            body = b"".join(pieces)
        else:
            body += self._until_closed(connection)
            headers["connection"] = "close"
        if headers.get("connection", "").lower() == "close" or parts[0] == "HTTP/1.0":
            self.close()
        return status, body

    @staticmethod
    def _chunks(connection: socket.socket, received: bytes) -> bytes:
        body = []
        while True:
            while (end := received.find(b"\r\n")) < 0:
                received += _more(connection)
            size = int(received[:end].split(b";")[0], 16)
            while len(received) < end + 2 + size + 2:
                received += _more(connection)
            body.append(received[end + 2 : end + 2 + size])
            received = received[end + 2 + size + 2 :]
            if size == 0:
                return b"".join(body)

    @staticmethod
    def _until_closed(connection: socket.socket) -> bytes:
        pieces = []
        while piece := connection.recv(65536):
            pieces.append(piece)
        return b"".join(pieces)


def _more(connection: socket.socket) -> bytes:
    piece = connection.recv(262144)
    if not piece:
        raise ConnectionError("the connection was closed in the middle of an answer")
    return piece
