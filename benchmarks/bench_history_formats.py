"""How many operations a second of processor time each format is read at; the best of several runs."""

from __future__ import annotations

import gzip
import json
import random
import tempfile
import time
from pathlib import Path

from refute.history import HistoryWriter, Outcome
from refute.history.formats import load, write_edn, write_jsonl

SIZE = 200_000


def record(path: Path) -> float:
    rng = random.Random(1)
    started = time.process_time()
    with HistoryWriter(path) as writer:
        for number in range(SIZE):
            write = rng.random() < 0.5
            identity = writer.invoke(
                number % 30, "write" if write else "read", key="x", input=number if write else None, node="n1"
            )
            writer.complete(identity, Outcome.OK, output=None if write else number)
    return SIZE / (time.process_time() - started)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        own = directory / "history.jsonl"
        print(f"{'recorded':24} {record(own):12,.0f} operations/s")
        history = load(own)
        write_jsonl(history, directory / "again.jsonl")
        write_edn(history, directory / "history.edn")
        compressed = directory / "history.jsonl.gz"
        compressed.write_bytes(gzip.compress(own.read_bytes(), 1))
        # the floor: what the standard library needs only to parse the same lines
        lines = own.read_bytes().splitlines()
        started = time.process_time()
        for line in lines:
            json.loads(line)
        print(f"{'json.loads alone':24} {SIZE / (time.process_time() - started):12,.0f} operations/s")
        for file in (own, directory / "again.jsonl", directory / "history.edn", compressed):
            best = 0.0
            for _ in range(3):
                started = time.process_time()
                size = len(load(file))
                best = max(best, size / (time.process_time() - started))
            print(f"{file.name:24} {best:12,.0f} operations/s")


if __name__ == "__main__":
    main()
