"""Real servers on loopback that answer, or misbehave, as a test tells them to."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Asked:
    """One request as the server saw it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Service:
    """A running HTTP server: its address, and what it was asked."""

    port: int
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0


Answering = Callable[[Asked], tuple[int, Any] | tuple[int, Any, dict[str, str]]]


@contextlib.contextmanager
def service(answer: Answering) -> Iterator[Service]:
    """An HTTP/1.1 server whose answers come from a function: status, body (JSON unless bytes), headers."""
    running = Service(0)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # one packet an answer
        disable_nagle_algorithm = True

        def setup(self) -> None:
            running.connections += 1
            super().setup()

        def _any(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            asked = Asked(
                self.command,
                self.path,
                {name.lower(): value for name, value in self.headers.items()},
                self.rfile.read(length),
            )
            running.asked.append(asked)
            status, body, *more = answer(asked)
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in (more[0] if more else {}).items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_POST = do_DELETE = _any  # noqa: N815 - the names that http.server calls

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    running.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield running
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextlib.contextmanager
def raw_server(behave: Callable[[socket.socket], None]) -> Iterator[int]:
    """A TCP server that hands each connection to a function, and its port."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.05)
    over = threading.Event()
    threads: list[threading.Thread] = []

    def serve(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            behave(connection)

    def accept() -> None:
        while not over.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            connection.settimeout(5)
            threads.append(threading.Thread(target=serve, args=(connection,), daemon=True))
            threads[-1].start()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield listener.getsockname()[1]
    finally:
        over.set()
        accepting.join()
        listener.close()


def read_request(connection: socket.socket) -> bytes:
    """Reads a request without a body."""
    received = b""
    while b"\r\n\r\n" not in received:
        part = connection.recv(65536)
        if not part:
            break
        received += part
    return received


def reset(connection: socket.socket) -> None:
    """Ends the connection with a reset instead of an orderly close."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def closed_port() -> int:
    """A port at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Store:
    """A key-value map behind HTTP, right about every promise; `answer` goes to `service`."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.lock = threading.Lock()

    def answer(self, asked: Asked) -> tuple[int, Any]:
        key = asked.path.removeprefix("/kv/")
        with self.lock:
            if asked.method == "GET":
                return (200, {"value": self.values[key]}) if key in self.values else (404, {})
            if asked.method == "PUT":
                self.values[key] = asked.json["value"]
                return 200, {}
            old, new = asked.json["old"], asked.json["new"]
            if self.values.get(key) != old:
                return 409, {"error": "differs"}
            self.values[key] = new
            return 200, {}


STORE_CLIENT = {
    "http": {
        "operations": {
            "read": {"path": "/kv/{key}", "output": "value", "absent": 404},
            "write": {"method": "PUT", "path": "/kv/{key}", "body": {"value": "{value}"}},
            "cas": {
                "method": "POST",
                "path": "/kv/{key}",
                "body": {"old": "{input.0}", "new": "{input.1}"},
                "fail": 409,
            },
        }
    }
}
