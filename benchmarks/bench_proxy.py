"""What the proxy plane costs with no fault on: throughput and latency of 200 connections, direct and proxied.

Client, server and proxy are processes of their own, so that on two cores the proxy takes CPU time from both
ends: the ratio here is lower than on a machine with a core for each. How much of that is ours to save is said
by the least that a proxy can be, a page of C that reads, writes and does nothing else (`pump.c`), measured in
turn with ours; beside it stands the plane where there is no compiler. Each ratio is of measurements that
follow each other, and the median of all rounds. CPU time depends less than throughput on what else the
machine does.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from proxy_ways import Way, Ways, ways_to
from redis_load import answered, redis_port

from refute.nemesis.proxy.relay import moved_by
from refute.system.cpu_time import cpu_ns

CONNECTIONS = 200
SECONDS = 1.0
ROUNDS = 5
TARGET = 0.7  # of direct throughput
RATE = 2000  # requests a second for latency: far from saturation
REQUEST_BYTES = 200
WORK = 40  # what a server does for a request, in rounds of hashing: about as much as parsing a small request

MOST_ADDED_MS = 0.3


class Server(asyncio.Protocol):
    """Answers each request (a line) with as many bytes; with `work`, does something for it first."""

    def __init__(self, work: int) -> None:
        self.work = work
        self.waiting = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        import hashlib

        *lines, self.waiting = (self.waiting + data).split(b"\n")
        for line in lines:
            for _ in range(self.work):
                hashlib.sha256(line).digest()
            self.transport.write(line + b"\n")  # type: ignore[attr-defined]


async def serve(work: int) -> None:
    server = await asyncio.get_running_loop().create_server(
        lambda: Server(work), "127.0.0.1", 0, backlog=1000
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


class Client(asyncio.Protocol):
    def __init__(self, size: int, closed_loop: bool) -> None:
        self.request = b"x" * (size - 1) + b"\n"
        self.closed_loop = closed_loop
        self.answered, self.received = 0, 0
        self.sent_at = 0.0
        self.times: list[float] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def ask(self) -> None:
        self.received, self.sent_at = 0, time.perf_counter()
        self.transport.write(self.request)  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        self.received += len(data)
        if self.received == len(self.request):
            self.answered += 1
            self.times.append(time.perf_counter() - self.sent_at)
            if self.closed_loop:
                self.ask()


async def load(port: int, size: int, rate: float) -> tuple[float, float]:
    """(requests a second, median latency in ms) of all connections; with a rate, in an open loop."""
    loop = asyncio.get_running_loop()
    clients = [
        (await loop.create_connection(lambda: Client(size, not rate), "127.0.0.1", port))[1]
        for _ in range(CONNECTIONS)
    ]
    for client in clients:
        client.ask()
    await asyncio.sleep(0.3)
    for client in clients:
        client.answered, client.times = 0, []
    began = time.perf_counter()
    if rate:
        turn = 0
        while (now := time.perf_counter()) - began < SECONDS:
            due = int((now - began) * rate)
            while turn < due:
                clients[turn % CONNECTIONS].ask()
                turn += 1
            await asyncio.sleep(0.0005)
    else:
        await asyncio.sleep(SECONDS)
    took = time.perf_counter() - began
    times = [each for client in clients for each in client.times]
    for client in clients:
        client.transport.abort()  # type: ignore[attr-defined]
    return sum(client.answered for client in clients) / took, statistics.median(times) * 1000


def throughput(title: str, ways: Ways, unit: str, measure: Callable[[Way], float]) -> None:
    """Prints one row; `measure` gives what passes in a second, in `unit`."""
    rounds = [[measure(way) for way in ways.all()] for _ in range(ROUNDS)]
    direct, plane = (statistics.median(each[column] for each in rounds) for column in (0, 1))
    ours, python, least = (statistics.median(each[way] / each[0] for each in rounds) for way in (1, 2, 3))
    met = "met" if ours >= TARGET else "not met"
    print(
        f"{title:34} {direct:8.1f} {plane:8.1f} {unit:5} {ours:5.0%} {met:8} {python:6.0%} {least:6.0%}",
        flush=True,
    )


def echoes(size: int, scale: float) -> Callable[[Way], float]:
    """Measures requests of so many bytes a second, times `scale`."""
    return lambda way: asyncio.run(load(way.port, size, 0))[0] * scale


def latency(title: str, ways: Ways) -> None:
    rounds = [
        [asyncio.run(load(way.port, REQUEST_BYTES, RATE))[1] for way in ways.all()] for _ in range(ROUNDS)
    ]
    direct, plane = (statistics.median(each[column] for each in rounds) for column in (0, 1))
    ours, python, least = (statistics.median(each[way] - each[0] for each in rounds) for way in (1, 2, 3))
    met = "met" if ours < MOST_ADDED_MS else "not met"
    print(
        f"{title:34} {direct:8.3f} {plane:8.3f} {'ms':5} {ours:+5.2f} {met:8} {python:+6.2f} {least:+6.2f}",
        flush=True,
    )


def cpu_time(ways: Ways, server: int) -> None:
    """Prints the CPU time for a request of each process, and what follows from it on two cores."""
    print(f"CPU time of an echo of {REQUEST_BYTES} B, us (median of {ROUNDS}):")
    titles = ("direct", "plane", "in Python", "least")
    rounds = [[_cpu_us(way, server) for way in ways.all()] for _ in range(ROUNDS)]
    for title, spent in zip(titles, zip(*rounds, strict=True), strict=True):
        client, served, proxy = (statistics.median(each) for each in zip(*spent, strict=True))
        left = statistics.median((each[0] + each[1]) / sum(each) for each in spent)
        print(f"  {title:10} client {client:5.1f}  server {served:5.1f}", end="")
        met = "met" if left >= TARGET else "not met"
        print(
            f"  proxy {proxy:5.1f}  leaves {left:.0%} of two idle cores to the two ends: {met}"
            if proxy
            else ""
        )


def _cpu_us(way: Way, server: int) -> tuple[float, float, float]:
    # Of client, server and proxy, for one request.
    pids = [os.getpid(), server, *([] if way.proxy is None else [way.proxy])]
    before = [cpu_ns([pid]) or 0 for pid in pids]
    began = time.perf_counter()
    requests = asyncio.run(load(way.port, REQUEST_BYTES, 0))[0] * (time.perf_counter() - began)
    spent = [
        ((cpu_ns([pid]) or 0) - earlier) / requests / 1000 for pid, earlier in zip(pids, before, strict=True)
    ]
    return spent[0], spent[1], sum(spent[2:])


def head(what: str, unit: str) -> None:
    print(f"{what:34} {'direct':>8} {'plane':>8} {'':5} {unit:>5} {'':8} {'Python':>6} {'least':>6}")


def main() -> None:
    if sys.argv[1:2] == ["serve"]:
        asyncio.run(serve(int(sys.argv[2])))
        return
    servers = [
        subprocess.Popen([sys.executable, __file__, "serve", str(work)], stdout=subprocess.PIPE, text=True)
        for work in (0, WORK)
    ]
    try:
        ports = [int(server.stdout.readline()) for server in servers]  # type: ignore[union-attr]
        with redis_port() as redis, ways_to([*ports, *([] if redis is None else [redis])]) as found:
            echo, works = found[:2]
            print(f"{CONNECTIONS} connections, {os.cpu_count()} cores, median of {ROUNDS}; {moved_by()}")
            head(f"throughput (target: {TARGET:.0%})", "ratio")
            throughput(f"a server that works, {REQUEST_BYTES} B", works, "k/s", echoes(REQUEST_BYTES, 0.001))
            throughput("a server that works, 16 kB", works, "MB/s", echoes(16384, 0.016384 * 2))
            throughput(f"an echo, {REQUEST_BYTES} B", echo, "k/s", echoes(REQUEST_BYTES, 0.001))
            throughput("an echo, 64 kB", echo, "MB/s", echoes(65536, 0.065536 * 2))
            if redis is None:
                print("Redis is not installed: its row is left out")
            else:
                throughput("Redis, SET", found[2], "k/s", lambda way: answered(way.port, CONNECTIONS) / 1000)
            cpu_time(echo, servers[0].pid)
            head(f"median latency at {RATE}/s (+{MOST_ADDED_MS} ms)", "added")
            latency("an echo", echo)
            latency("a server that works", works)
    finally:
        for server in servers:
            server.kill()
            server.wait()
            server.stdout.close()  # type: ignore[union-attr]


if __name__ == "__main__":
    main()
