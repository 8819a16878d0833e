"""A stand-in for toxiproxy on loopback: the part of its HTTP API that refute uses, and proxies that really hurt.

Answers, statuses and the shape of bodies are those of toxiproxy 2.5. Run as a program with a port:
`toxiproxy_stub.py 18474`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
import sys
from typing import Any


class Proxy:
    def __init__(self, name: str, listen: str, upstream: str) -> None:
        self.name, self.listen, self.upstream, self.enabled = name, listen, upstream, True
        self.toxics: list[dict[str, Any]] = []
        self.server: asyncio.Server | None = None
        self.writers: set[asyncio.StreamWriter] = set()

    def shown(self) -> dict[str, Any]:
        fields = ("name", "listen", "upstream", "enabled", "toxics")
        return {field: getattr(self, field) for field in fields}

    async def start(self) -> None:
        host, _, port = self.listen.rpartition(":")
        self.server = await asyncio.start_server(self.serve, host, int(port))
        self.listen = f"{host}:{self.server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        assert self.server is not None
        self.server.close()
        for writer in list(self.writers):
            writer.transport.abort()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, _, port = self.upstream.rpartition(":")
        try:
            there = await asyncio.open_connection(host, int(port))
        except OSError:
            writer.close()
            return
        self.writers |= {writer, there[1]}
        await asyncio.gather(
            self.pipe("upstream", reader, there[1], writer),
            self.pipe("downstream", there[0], writer, there[1]),
        )
        self.writers -= {writer, there[1]}

    async def pipe(
        self, stream: str, reader: asyncio.StreamReader, to: asyncio.StreamWriter, back: asyncio.StreamWriter
    ) -> None:
        queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        sender = asyncio.create_task(self.send(queue, to))
        now = asyncio.get_running_loop().time
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                due = now()
                for toxic in [each for each in self.toxics if each["stream"] == stream]:
                    attributes = toxic["attributes"]
                    if toxic["type"] == "timeout":
                        data = b""
                    elif toxic["type"] == "reset_peer":
                        for each in (to, back):
                            reset(each)
                    elif toxic["type"] == "latency":
                        due += attributes["latency"] / 1000
                    elif toxic["type"] == "bandwidth":
                        await asyncio.sleep(len(data) / (attributes["rate"] * 1000))
                if data:
                    queue.put_nowait((due, data))
        queue.put_nowait((0.0, b""))
        await sender

    async def send(self, queue: asyncio.Queue[tuple[float, bytes]], to: asyncio.StreamWriter) -> None:
        now = asyncio.get_running_loop().time
        with contextlib.suppress(OSError):
            while True:
                due, data = await queue.get()
                if not data:
                    break
                await asyncio.sleep(max(0.0, due - now()))
                to.write(data)
                await to.drain()
        to.close()


def reset(writer: asyncio.StreamWriter) -> None:
    sock = writer.get_extra_info("socket")
    with contextlib.suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


class Api:
    def __init__(self) -> None:
        self.proxies: dict[str, Proxy] = {}

    async def obey(self, method: str, path: list[str], body: Any) -> tuple[int, Any]:
        if path == ["version"]:
            return 200, "stub"
        if path == ["proxies"] and method == "GET":
            return 200, {name: proxy.shown() for name, proxy in self.proxies.items()}
        if path == ["proxies"]:
            if body["name"] in self.proxies:
                return 409, error("proxy already exists", 409)
            proxy = Proxy(body["name"], body["listen"], body["upstream"])
            await proxy.start()
            self.proxies[proxy.name] = proxy
            return 201, proxy.shown()
        proxy_or_none = self.proxies.get(path[1])
        if proxy_or_none is None:
            return 404, error("proxy not found", 404)
        return await self.of_proxy(proxy_or_none, method, path[2:], body)

    async def of_proxy(self, proxy: Proxy, method: str, rest: list[str], body: Any) -> tuple[int, Any]:
        if not rest and method == "DELETE":
            await proxy.stop()
            del self.proxies[proxy.name]
            return 204, None
        if not rest:
            if body["enabled"] != proxy.enabled:
                proxy.enabled = body["enabled"]
                await (proxy.start() if proxy.enabled else proxy.stop())
            return 200, proxy.shown()
        if method == "POST":
            if any(toxic["name"] == body["name"] for toxic in proxy.toxics):
                return 409, error("toxic already exists", 409)
            proxy.toxics.append(body)
            return 200, body
        found = [toxic for toxic in proxy.toxics if toxic["name"] == rest[1]]
        if not found:
            return 404, error("toxic not found", 404)
        proxy.toxics.remove(found[0])
        if found[0]["type"] == "timeout":  # taking it off ends the connections that it held
            for writer in list(proxy.writers):
                writer.transport.abort()
        return 204, None

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        method, path, _ = (await reader.readline()).decode().split()
        length = 0
        while (line := (await reader.readline()).strip().lower()) != b"":
            if line.startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
        read = await reader.readexactly(length)
        status, answer = await self.obey(
            method, path.strip("/").split("/"), json.loads(read) if read else None
        )
        payload = (
            b"" if answer is None else (answer if isinstance(answer, str) else json.dumps(answer)).encode()
        )
        writer.write(
            f"HTTP/1.1 {status} X\r\nContent-Length: {len(payload)}\r\nConnection: close\r\n\r\n".encode()
            + payload
        )
        await writer.drain()
        writer.close()


def error(title: str, status: int) -> dict[str, Any]:
    return {"error": title, "status": status}


async def main() -> None:
    server = await asyncio.start_server(Api().serve, "127.0.0.1", int(sys.argv[1]))
    print("ready", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
