"""A node that keeps a diary on disk: a line a request, acknowledged once it is written, and read at its start.

Run as a program: `diary.py --port 20001 --data DIR [--sync] [--die]`. Each line carries a digest. With `--sync`
it is synced before it is acknowledged. At its start, a torn last line is cut off, and a line in the middle
whose digest is wrong ends it. What it says is from memory; `/disk` reads the file.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Diary:
    def __init__(self, folder: Path, sync: bool) -> None:
        self.path, self.sync = folder / "diary", sync
        self.lines: list[str] = []
        if self.path.exists():
            self.recover()
        self.file = self.path.open("ab", buffering=0)

    def recover(self) -> None:
        raw = self.path.read_bytes()
        whole = raw[: raw.rfind(b"\n") + 1]
        if whole != raw:
            print(f"torn tail: {len(raw) - len(whole)} bytes are cut off", flush=True)
            os.truncate(self.path, len(whole))
        for number, line in enumerate(whole.splitlines(), 1):
            digest, _, text = line.decode(errors="replace").partition(" ")
            if digest != digest_of(text):
                print(f"line {number} is corrupt", flush=True)
                sys.exit(3)
            self.lines.append(text)

    def write(self, text: str) -> None:
        whole = self.path.stat().st_size
        rest = f"{digest_of(text)} {text}\n".encode()
        try:
            while rest:
                rest = rest[self.file.write(rest) :]
        except OSError:
            os.truncate(self.path, whole)  # half a line must not stand before the next one
            raise
        if self.sync:
            os.fsync(self.file.fileno())
        self.lines.append(text)


def digest_of(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


class Handler(BaseHTTPRequestHandler):
    diary: Diary
    dies = False

    def do_GET(self) -> None:
        if not self.path.startswith("/disk"):
            self.answer(200, {"lines": self.diary.lines, "count": len(self.diary.lines)})
            return
        try:
            raw = self.diary.path.read_bytes()
        except OSError as error:
            print(f"cannot read: {error.strerror}", flush=True)
            self.answer(500, {"error": error.strerror})
        else:
            self.answer(200, {"bytes": len(raw)})

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"])).decode()
        try:
            self.diary.write(text)
        except OSError as error:
            print(f"cannot write: {error.strerror}", flush=True)
            if self.dies:
                os._exit(4)
            self.answer(500, {"error": error.strerror})
        else:
            self.answer(200, {"written": text})

    def answer(self, status: int, body: object) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        pass


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sync", action="store_true")
    parser.add_argument("--die", action="store_true", help="end where a line cannot be written")
    options = parser.parse_args()
    Handler.dies = options.die
    Handler.diary = Diary(options.data, options.sync)
    print("ready", flush=True)
    ThreadingHTTPServer(("127.0.0.1", options.port), Handler).serve_forever()


if __name__ == "__main__":
    main()
