"""A stand-in for the Messages API on loopback: it gives scripted replies and keeps the requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = dict[str, Any] | Callable[[dict[str, Any]], dict[str, Any]]


@dataclass
class ModelStub:
    """`replies` in order; the last one again where more are asked for. A status other than 200 is an error."""

    url: str
    replies: list[Reply]
    status: int = 200
    requests: list[dict[str, Any]] = field(default_factory=list)

    def results(self) -> list[dict[str, Any]]:
        """Every tool result that was sent back, in order."""
        last = self.requests[-1]["messages"]
        return [
            block
            for message in last
            if message["role"] == "user" and isinstance(message["content"], list)
            for block in message["content"]
            if block["type"] == "tool_result"
        ]


def words(text: str) -> dict[str, Any]:
    """A reply that ends the conversation."""
    return {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    """A reply that calls a tool."""
    block = {"type": "tool_use", "id": f"toolu_{tool}", "name": tool, "input": arguments}
    return {"content": [block], "stop_reason": "tool_use"}


@contextmanager
def model_stub(*replies: Reply, status: int = 200) -> Iterator[ModelStub]:
    """The stub, while it is asked."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            stub.requests.append(asked)
            reply = stub.replies[min(len(stub.requests), len(stub.replies)) - 1]
            said = reply(asked) if callable(reply) else reply
            if stub.status != 200:
                body: dict[str, Any] = {"type": "error", "error": {"type": "x", "message": "no such thing"}}
            else:
                usage = {"input_tokens": 1, "output_tokens": 1}
                head = {"id": "msg_1", "type": "message", "role": "assistant", "model": asked["model"]}
                body = head | {"stop_sequence": None, "usage": usage} | said
            data = json.dumps(body).encode()
            self.send_response(stub.status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    stub = ModelStub(f"http://127.0.0.1:{server.server_port}", list(replies), status)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield stub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
