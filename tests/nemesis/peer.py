"""A node to try faults on: it pings its peers all the time, counts what arrives, and says so over HTTP.

Run as a program: `peer.py --name n1 --client 20001 --peer 20002 --peers n2=127.0.0.1:20003 --data DIR`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import time
from pathlib import Path

PING_EVERY_S = 0.01


class Peer:
    def __init__(self, name: str, data: Path, version: str, reconnect: bool = False) -> None:
        self.name, self.version, self.reconnect = name, version, reconnect
        self.role, self.term, self.changed_ns = "follower", 0, time.monotonic_ns()
        self.received: dict[str, int] = {}
        self.answered: dict[str, int] = {}
        self.lines: dict[str, list[str]] = {}
        self.bad_lines = 0
        with (data / "boots").open("a") as boots:
            boots.write("boot\n")
        self.boots = len((data / "boots").read_text().splitlines())

    def status(self) -> dict[str, object]:
        fields = (
            "name",
            "role",
            "term",
            "changed_ns",
            "version",
            "boots",
            "received",
            "answered",
            "bad_lines",
        )
        clocks = {"wall_ns": time.time_ns(), "monotonic_ns": time.monotonic_ns()}
        return {field: getattr(self, field) for field in fields} | {"pid": os.getpid()} | clocks

    def metrics(self) -> str:
        lines = [f"peer_is_leader {int(self.role == 'leader')}", f"peer_term {self.term}"]
        lines += [f'peer_received_bytes{{from="{name}"}} {count}' for name, count in self.received.items()]
        return "\n".join(lines) + "\n"

    async def serve_peer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while line := await reader.readline():
                words = line.decode(errors="replace").split()
                if len(words) < 3 or words[0] != "ping":
                    self.bad_lines += 1
                    continue
                self.received[words[1]] = self.received.get(words[1], 0) + len(line)
                self.lines.setdefault(words[1], []).append(words[2])
                del self.lines[words[1]][:-5000]
                writer.write(f"pong {self.name} {words[2]}\n".encode())
                await writer.drain()
        writer.close()

    async def ping(self, name: str, address: str) -> None:
        host, _, port = address.rpartition(":")
        number = 0
        while True:
            try:
                reader, writer = await asyncio.open_connection(host, int(port))
            except OSError:
                await asyncio.sleep(0.05)
                continue
            answers = asyncio.create_task(self.count_answers(name, reader))
            try:
                while not answers.done():
                    number += 1
                    writer.write(f"ping {self.name} {number}\n".encode())
                    await asyncio.wait_for(writer.drain(), 1)
                    await asyncio.sleep(PING_EVERY_S)
                    if self.reconnect:
                        break
            except (OSError, TimeoutError):
                pass
            answers.cancel()
            writer.close()
            await asyncio.sleep(0.02)

    async def count_answers(self, name: str, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError):
            while await reader.readline():
                self.answered[name] = self.answered.get(name, 0) + 1

    async def serve_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, ValueError):
            while request := await reader.readline():
                length = 0
                while (line := (await reader.readline()).strip().lower()) != b"":
                    if line.startswith(b"content-length:"):
                        length = int(line.partition(b":")[2])
                body = await reader.readexactly(length)
                status, kind, answer = self.answer(*request.decode().split()[:2], body)
                head = f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {len(answer)}\r\n\r\n"
                writer.write(head.encode() + answer)
                await writer.drain()
        writer.close()

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, str, bytes]:
        if path == "/status":
            return 200, "application/json", json.dumps(self.status()).encode()
        if path == "/metrics":
            return 200, "text/plain", self.metrics().encode()
        if path == "/big":
            return 200, "text/plain", b"1" * (32 << 20)
        if path == "/lines":
            return 200, "application/json", json.dumps(self.lines).encode()
        if method == "POST" and path == "/become":
            asked = json.loads(body)
            self.role, self.term = asked["role"], asked.get("term", self.term + 1)
            self.changed_ns = time.monotonic_ns()
            print(f"role {self.role} term {self.term}", flush=True)
            return 200, "application/json", json.dumps(self.status()).encode()
        if path == "/exit":
            os._exit(3)
        return 404, "text/plain", b"no such path\n"


async def main() -> None:
    parser = argparse.ArgumentParser()
    for option in ("--name", "--client", "--peer", "--data"):
        parser.add_argument(option, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--peers", default="")
    parser.add_argument("--version", default="first")
    parser.add_argument("--start-after", type=float, default=0.0)
    parser.add_argument("--fail", default="")
    parser.add_argument("--reconnect", action="store_true", help="a connection for each ping")
    parser.add_argument("--child", action="store_true", help="leave a child process behind")
    parser.add_argument("--stray", action="store_true", help="start one that leaves session and environment")
    options = parser.parse_args()
    if options.fail:
        raise SystemExit(options.fail)
    await asyncio.sleep(options.start_after)
    if options.child:
        await asyncio.create_subprocess_exec("sleep", "1000")
    if options.stray:
        await asyncio.create_subprocess_exec("/bin/sleep", "1000", start_new_session=True, env={})
    peer = Peer(options.name, Path(options.data), options.version, options.reconnect)
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, over.set)
    servers = [
        await asyncio.start_server(peer.serve_client, options.host, int(options.client)),
        await asyncio.start_server(peer.serve_peer, options.host, int(options.peer)),
    ]
    pairs = [each.split("=", 1) for each in options.peers.split(",") if each]
    pings = [asyncio.create_task(peer.ping(name, address)) for name, address in pairs if name != options.name]
    print(f"ready as {options.name}", flush=True)
    await over.wait()
    print("asked to stop", flush=True)
    for task in pings:
        task.cancel()
    for server in servers:
        server.close()


if __name__ == "__main__":
    asyncio.run(main())
