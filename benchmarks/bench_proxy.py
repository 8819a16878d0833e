"""What the proxy plane costs with no fault on: throughput and latency of 200 connections, direct and proxied.

Client, server and proxy are processes of their own, so that on two cores the proxy takes CPU time from both
ends: the ratio here is lower than on a machine with a core for each. CPU time of each, for one request, says
how much of that is ours to save: a proxy has to read and write twice for a request, and what the kernel takes
for that alone is printed beside it.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from refute.nemesis.proxy.control import Control
from refute.system.process_table import cpu_ns, identify

CONNECTIONS = 200
SECONDS = 2.0
ROUNDS = 3
RATE = 2000  # requests a second for latency: far from saturation
REQUEST_BYTES = 200
WORK = 40  # what a server does for a request, in rounds of hashing: about as much as parsing a small request

_THROUGHPUT = "throughput, closed loop (target: 70 %)"
_LATENCY = f"median latency at {RATE}/s (target: +0.3 ms)"


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


def ratio(title: str, port: int, proxied: int, size: int, unit: float, name: str) -> None:
    pairs = [[asyncio.run(load(each, size, 0))[0] * unit for each in (port, proxied)] for _ in range(ROUNDS)]
    direct, through = (max(pair[side] for pair in pairs) for side in (0, 1))
    print(f"{title:44} {direct:10.1f} {through:10.1f} {name:6} {through / direct:6.0%}")


def kernel_us() -> float:
    """CPU time of reading and writing a request and its answer once each, with no program around it."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        near = socket.create_connection(listening.getsockname())
        far, _ = listening.accept()
    buffer, message, rounds = bytearray(65536), b"x" * REQUEST_BYTES, 20000
    with near, far:
        for side in (near, far):
            side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            side.setblocking(False)
        began = time.process_time()
        for _ in range(rounds):
            near.send(message)
            far.recv_into(buffer)
        return 2 * (time.process_time() - began) / rounds * 1e6


def cpu_time(port: int, proxied: int, server: int, host: int) -> None:
    """Prints the CPU time for a request of each process, and what follows from it on this machine."""
    pids = {"client": os.getpid(), "server": server, "proxy": host}
    spent: dict[str, dict[str, float]] = {}
    for title, each in (("direct", port), ("proxied", proxied)):
        before = {name: cpu_ns([pid]) or 0 for name, pid in pids.items()}
        began = time.perf_counter()
        answered = asyncio.run(load(each, REQUEST_BYTES, 0))[0] * (time.perf_counter() - began)
        spent[title] = {
            name: ((cpu_ns([pid]) or 0) - before[name]) / answered / 1000 for name, pid in pids.items()
        }
    ends = max(spent["direct"]["client"], spent["direct"]["server"])
    floor = kernel_us()
    cores = 2  # the best that these three can do on two cores, were they perfectly spread
    best = ends / max(ends, (spent["direct"]["client"] + spent["direct"]["server"] + floor) / cores)
    print(f"CPU time of an echo of {REQUEST_BYTES} B, us:")
    for title, of in spent.items():
        print(f"  {title:8} " + "  ".join(f"{name} {us:5.1f}" for name, us in of.items()))
    print(f"  the kernel alone, for what any proxy has to read and write: {floor:.1f}")
    print(f"  so no proxy in user space reaches more than {best:.0%} of direct on two cores")


def main() -> None:
    if sys.argv[1:2] == ["serve"]:
        asyncio.run(serve(int(sys.argv[2])))
        return
    servers = [
        subprocess.Popen([sys.executable, __file__, "serve", str(work)], stdout=subprocess.PIPE, text=True)
        for work in (0, WORK)
    ]
    ports = [int(server.stdout.readline()) for server in servers]  # type: ignore[union-attr]
    with tempfile.TemporaryDirectory(prefix="refute-") as folder:
        me = identify(os.getpid())
        assert me is not None
        listeners = [
            {"host": "127.0.0.1", "caller": "a", "callee": f"b{p}", "target": ["127.0.0.1", p]} for p in ports
        ]
        host = subprocess.Popen(
            [sys.executable, "-m", "refute.nemesis.proxy.host"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert host.stdin is not None
        assert host.stdout is not None
        control = str(Path(folder) / "control")
        owner = [me.pid, me.started]
        json.dump({"owner": owner, "control": control, "listeners": listeners, "links": []}, host.stdin)
        host.stdin.close()
        proxied = [int(each.rpartition(":")[2]) for each in json.loads(host.stdout.readline())["addresses"]]
        try:
            print(f"{CONNECTIONS} connections, {os.cpu_count()} cores, best of {ROUNDS}")
            print(f"{_THROUGHPUT:44} {'direct':>10} {'proxied':>10} {'':6} {'ratio':>6}")
            ratio(
                f"a server that works, {REQUEST_BYTES} B", ports[1], proxied[1], REQUEST_BYTES, 0.001, "k/s"
            )
            ratio("a server that works, 16 kB", ports[1], proxied[1], 16384, 0.016384 * 2, "MB/s")
            ratio(
                f"an echo without any work, {REQUEST_BYTES} B",
                ports[0],
                proxied[0],
                REQUEST_BYTES,
                0.001,
                "k/s",
            )
            ratio("an echo without any work, 64 kB", ports[0], proxied[0], 65536, 0.065536 * 2, "MB/s")
            cpu_time(ports[0], proxied[0], servers[0].pid, host.pid)
            medians = []
            for port, through in zip(ports, proxied, strict=True):
                pairs = [
                    [asyncio.run(load(each, REQUEST_BYTES, RATE))[1] for each in (port, through)]
                    for _ in range(ROUNDS)
                ]
                medians.append([min(pair[side] for pair in pairs) for side in (0, 1)])
            print(f"{_LATENCY:44} {'direct':>10} {'proxied':>10} {'':6} {'added':>6}")
            for title, (direct, through) in zip(("echo", "a server that works"), medians, strict=True):
                print(f"{title:44} {direct:10.3f} {through:10.3f} {'ms':6} {through - direct:6.3f}")
        finally:
            with Control(Path(control)) as asked:
                asked.ask("exit")
            host.wait(5)
            host.stdout.close()
            for server in servers:
                server.kill()
                server.wait()
                server.stdout.close()  # type: ignore[union-attr]


if __name__ == "__main__":
    main()
