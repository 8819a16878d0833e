"""A key-value service whose only store is a refute history: what it acknowledged is read back from there.

`recorder.py PORT FOLDER`; `GET` and `PUT /kv/KEY`, `GET /status`. Each start reads all histories of the
folder, the last of which may end in the middle of a line, and begins another.
"""

from __future__ import annotations

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from refute.history import HistoryWriter, Outcome
from refute.history.event_reader import read_history


class Recorder:
    """What every key holds, recorded before it is acknowledged."""

    def __init__(self, folder: Path) -> None:
        written = sorted(folder.glob("history-*.jsonl"))
        self.values: dict[str, Any] = {}
        self.read_back = 0
        for path in written:
            for operation in read_history(path).operations:
                if operation.outcome is Outcome.OK:
                    self.values[operation.key] = operation.input
                    self.read_back += 1
        self._writer = HistoryWriter(folder / f"history-{len(written):04}.jsonl")
        self._lock = threading.Lock()

    def put(self, key: str, value: Any) -> None:
        """Records a write as invoked and completed; it is in the file when this returns."""
        with self._lock:
            # One client at a time writes a key, so the completions stand in the order of the writes.
            number = self._writer.invoke(key, "write", key=key, input=value)
            self._writer.complete(number, Outcome.OK)
            self.values[key] = value


def handler_of(recorder: Recorder) -> type[BaseHTTPRequestHandler]:
    """The HTTP face of a recorder."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/status":
                self._answer({"serving": True, "read_back": recorder.read_back})
            else:
                self._answer({"value": recorder.values.get(self.path.removeprefix("/kv/"))})

        def do_PUT(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            recorder.put(self.path.removeprefix("/kv/"), body["value"])
            self._answer({"done": True})

        def _answer(self, document: dict[str, Any]) -> None:
            data = json.dumps(document).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


if __name__ == "__main__":
    store = Recorder(Path(sys.argv[2]))
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), handler_of(store)).serve_forever()
