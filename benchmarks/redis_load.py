"""What Redis answers through a port, asked by its own benchmark."""

from __future__ import annotations

import csv
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

REQUESTS = 30_000
_UP_WITHIN_S = 10.0


@contextmanager
def redis_port() -> Iterator[int | None]:
    """The port of a server of its own that keeps nothing; None where Redis is not installed."""
    if not (shutil.which("redis-server") and shutil.which("redis-benchmark")):
        yield None
        return
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="refute-") as folder:
        words = ["--port", str(port), "--bind", "127.0.0.1", "--dir", folder]
        words += ["--save", "", "--appendonly", "no"]
        with subprocess.Popen(["redis-server", *words], stdout=subprocess.DEVNULL) as server:
            try:
                _wait_for(port)
                yield port
            finally:
                server.kill()


def answered(port: int, connections: int) -> float:
    """SETs a second, of so many connections that each send the next once the last is answered."""
    words = ["-p", str(port), "-c", str(connections), "-P", "1", "-n", str(REQUESTS), "-t", "set", "--csv"]
    said = subprocess.run(["redis-benchmark", *words], capture_output=True, text=True, check=True).stdout
    return next(float(row[1]) for row in csv.reader(said.splitlines()) if row and row[0] == "SET")


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + _UP_WITHIN_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
