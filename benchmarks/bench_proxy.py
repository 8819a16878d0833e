"""What the proxy plane costs with no fault on: throughput and latency of 200 connections, direct and proxied.

Client, server and proxy are processes of their own, so that on two cores the proxy takes CPU time from both
ends: the ratio here is lower than on a machine with a core for each. How much of that is ours to save is said
by the least that a proxy can be, a page of C that reads, writes and does nothing else (`pump.c`), measured in
turn with ours; it needs a C compiler. CPU time depends less than throughput on what else the machine does.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Ways:
    """The ports by which one server is reached: its own, the plane's, and that of the least proxy."""

    direct: int
    proxied: int
    least: int

    def all(self) -> tuple[int, int, int]:
        return self.direct, self.proxied, self.least


def ratio(title: str, ways: Ways, size: int, unit: float, name: str) -> None:
    rounds = [[asyncio.run(load(each, size, 0))[0] * unit for each in ways.all()] for _ in range(ROUNDS)]
    direct, proxied, least = (max(each) for each in zip(*rounds, strict=True))
    print(
        f"{title:44} {direct:10.1f} {proxied:10.1f} {name:6} {proxied / direct:6.0%}   {least / direct:6.0%}"
    )


def cpu_time(ways: Ways, server: int, host: int, pump: int) -> None:
    """Prints the CPU time for a request of each process, and what follows from it on two cores."""
    spent: dict[str, dict[str, float]] = {}
    for title, port, proxy in zip(("direct", "proxied", "C"), ways.all(), (None, host, pump), strict=True):
        pids = {"client": os.getpid(), "server": server} | ({} if proxy is None else {"proxy": proxy})
        before = {name: cpu_ns([pid]) or 0 for name, pid in pids.items()}
        began = time.perf_counter()
        answered = asyncio.run(load(port, REQUEST_BYTES, 0))[0] * (time.perf_counter() - began)
        spent[title] = {
            name: ((cpu_ns([pid]) or 0) - before[name]) / answered / 1000 for name, pid in pids.items()
        }
    print(f"CPU time of an echo of {REQUEST_BYTES} B, us:")
    for title, of in spent.items():
        print(f"  {title:8} " + "  ".join(f"{name} {us:5.1f}" for name, us in of.items()))
    ends = sum(spent["direct"].values())
    for title in ("proxied", "C"):
        print(
            f"  {title:8} leaves {ends / (ends + spent[title]['proxy']):.0%} of the CPU time to the two ends"
        )


def build_pump(folder: Path) -> Path:
    """The least proxy, compiled."""
    program = folder / "pump"
    source = Path(__file__).with_name("pump.c")
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-o", str(program), str(source)], check=True)
    return program


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
        program = build_pump(Path(folder))
        pumps = [subprocess.Popen([program, str(port)], stdout=subprocess.PIPE, text=True) for port in ports]
        least = [int(pump.stdout.readline()) for pump in pumps]  # type: ignore[union-attr]
        echo, works = (Ways(*each) for each in zip(ports, proxied, least, strict=True))
        try:
            print(f"{CONNECTIONS} connections, {os.cpu_count()} cores, best of {ROUNDS}")
            print(f"{_THROUGHPUT:44} {'direct':>10} {'proxied':>10} {'':6} {'ratio':>6}   {'in C':>6}")
            ratio(f"a server that works, {REQUEST_BYTES} B", works, REQUEST_BYTES, 0.001, "k/s")
            ratio("a server that works, 16 kB", works, 16384, 0.016384 * 2, "MB/s")
            ratio(f"an echo without any work, {REQUEST_BYTES} B", echo, REQUEST_BYTES, 0.001, "k/s")
            ratio("an echo without any work, 64 kB", echo, 65536, 0.065536 * 2, "MB/s")
            cpu_time(echo, servers[0].pid, host.pid, pumps[0].pid)
            print(f"{_LATENCY:44} {'direct':>10} {'proxied':>10} {'':6} {'added':>6}   {'in C':>6}")
            for title, ways in (("echo", echo), ("a server that works", works)):
                rounds = [
                    [asyncio.run(load(each, REQUEST_BYTES, RATE))[1] for each in ways.all()]
                    for _ in range(ROUNDS)
                ]
                direct, through, pumped = (min(each) for each in zip(*rounds, strict=True))
                print(
                    f"{title:44} {direct:10.3f} {through:10.3f} {'ms':6} {through - direct:6.3f}"
                    f"   {pumped - direct:6.3f}"
                )
        finally:
            with Control(Path(control)) as asked:
                asked.ask("exit")
            host.wait(5)
            host.stdout.close()
            for process in (*servers, *pumps):
                process.kill()
                process.wait()
                process.stdout.close()  # type: ignore[union-attr]


if __name__ == "__main__":
    main()
