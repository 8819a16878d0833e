"""How many HTTP operations a second generated load sends, and how punctually: threads beside asyncio."""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import resource
import tempfile
import threading
import time
from multiprocessing.connection import Connection
from pathlib import Path

from refute.history import HistoryWriter
from refute.plan.scenario import Workload
from refute.plan.system_spec import Client
from refute.workload import Recorder, Router, run_load

CLIENTS = 8
ANSWER = b'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 11\r\n\r\n{"value":5}'
STORE = Client.model_validate(
    {
        "http": {
            "operations": {
                "read": {"path": "/kv/{key}", "output": "value"},
                "write": {"method": "PUT", "path": "/kv/{key}", "body": {"value": "{value}"}},
            }
        }
    }
)


def serve(ready: Connection) -> None:
    """A server that answers everything the same way, as fast as a Python process can."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                at = head.find(b"content-length: ")
                if at >= 0:
                    await reader.readexactly(int(head[at + 16 : head.index(b"\r", at)]))
                writer.write(ANSWER)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def run() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        ready.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def percentiles(late_ns: list[int]) -> str:
    late = sorted(late_ns)
    at = {share: late[int(len(late) * share)] / 1e6 for share in (0.5, 0.99, 0.999)}
    return ", ".join(f"{value:.2f} ms ({share:.1%})" for share, value in at.items())


def threads(port: int, path: Path, rate: str | None, seconds: float) -> tuple[float, list[int], float]:
    """Operations a second, lateness of each, CPU microseconds an operation."""
    workload = Workload.model_validate({"generator": "register", "clients": CLIENTS, "keys": 5, "rate": rate})
    endpoints = {"n1": {"client": ("127.0.0.1", port)}}
    with HistoryWriter(path) as log:
        used = cpu_s()
        summary = run_load(
            workload,
            STORE,
            endpoints,
            Router(["n1"]),
            Recorder(log),
            seed=1,
            stop=threading.Event(),
            duration_s=seconds,
        )
        used = cpu_s() - used
    assert {outcome.value for _, outcome in summary.counts} == {"ok"}
    return summary.operations / seconds, summary.lateness_ns, used / summary.operations * 1e6


def tasks(port: int, rate: float, seconds: float) -> list[int]:
    """Lateness of the same schedule in asyncio, with nothing parsed or recorded: the reference."""
    late: list[int] = []

    async def client(number: int, start: float) -> None:
        rng = random.Random(number)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        due = start
        while True:
            due += rng.uniform(0, 2 * CLIENTS / rate)
            if due > start + seconds:
                break
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            late.append(time.monotonic_ns() - round(due * 1e9))
            writer.write(b"GET /kv/k HTTP/1.1\r\nhost: x\r\n\r\n")
            await reader.readexactly(len(ANSWER))
        writer.close()

    async def run() -> None:
        start = time.monotonic()
        await asyncio.gather(*(client(number, start) for number in range(CLIENTS)))

    asyncio.run(run())
    return late


def main() -> None:
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs,), daemon=True)
    server.start()
    port = ours.recv()
    try:
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory)
            best, _, cost = max(threads(port, root / f"fast{number}", None, 2.0) for number in range(3))
            print(f"{CLIENTS} clients, as fast as they can: {best:,.0f} operations/s, {cost:.0f} µs CPU each")
            for rate in (200, 500, 1000):
                achieved, late, cost = threads(port, root / f"rate{rate}", f"{rate}/s", 3.0)
                print(f"{rate}/s: {achieved:,.0f}/s achieved, {cost:.0f} µs CPU each")
                print(f"  threads late by {percentiles(late)}")
                print(f"  asyncio late by {percentiles(tasks(port, float(rate), 3.0))} (bare requests)")
    finally:
        server.terminate()
        server.join()


if __name__ == "__main__":
    main()
