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


def transactions(path: Path) -> None:
    """List-append as Jepsen writes it, a few operations a transaction."""
    rng = random.Random(1)
    lists: dict[int, list[int]] = {}
    with path.open("w") as file:
        for number in range(SIZE):
            asked, told = [], []
            for _ in range(rng.randint(1, 4)):
                key = rng.randrange(20)
                if rng.random() < 0.5:
                    asked.append(f"[:r {key} nil]")
                    told.append(f"[:r {key} [{' '.join(map(str, lists.get(key, [])[-8:]))}]]")
                else:
                    lists.setdefault(key, []).append(number)
                    asked.append(f"[:append {key} {number}]")
                    told.append(asked[-1])
            for place, (kind, value) in enumerate((("invoke", asked), ("ok", told))):
                time_ns, index = 1000 * number + 500 * place, 2 * number + place
                file.write(f"{{:index {index}, :time {time_ns}, :type :{kind}, :process {number % 20}, ")
                file.write(f":f :txn, :value [{' '.join(value)}]}}\n")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        own = directory / "history.jsonl"
        print(f"{'recorded':24} {record(own):12,.0f} operations/s")
        history = load(own)
        write_jsonl(history, directory / "again.jsonl")
        write_edn(history, directory / "history.edn")
        transactions(directory / "transactions.edn")
        compressed = [directory / "history.jsonl.gz", directory / "history.edn.gz"]
        for path in compressed:
            path.write_bytes(gzip.compress(path.with_suffix("").read_bytes(), 1))
        # the floor: what the standard library needs only to parse the same lines
        lines = own.read_bytes().splitlines()
        started = time.process_time()
        for line in lines:
            json.loads(line)
        print(f"{'json.loads alone':24} {SIZE / (time.process_time() - started):12,.0f} operations/s")
        edn = [directory / "history.edn", directory / "transactions.edn"]
        for file in (own, directory / "again.jsonl", *edn, *compressed):
            best = 0.0
            for _ in range(3):
                started = time.process_time()
                size = len(load(file))
                best = max(best, size / (time.process_time() - started))
            print(f"{file.name:24} {best:12,.0f} operations/s")


if __name__ == "__main__":
    main()
