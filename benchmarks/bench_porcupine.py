"""The same histories to refute and to Porcupine, reading apart; ratios, as machines differ.

Usage: PORCUPINE=/path/to/binary python benchmarks/bench_porcupine.py

The binary is built from benchmarks/porcupine with a Go toolchain (`go mod tidy && go build -o ...`). Without
PORCUPINE there is nothing to compare with, and the program says so and ends.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from bench_linearizable import RECORDED, closed_loop, register, repeated, unique

from refute.checkers import Budget, run_check
from refute.history import History, Outcome
from refute.history.formats import load

LIMIT_S = 60
NEVER = 2**62


def write(history: History, path: Path) -> None:
    """The operations that linearizability is about, in the words of the binary."""
    clients: dict[Any, int] = {}
    with path.open("w") as file:
        for o in history.operations:
            known = o.outcome is Outcome.OK and o.completed_ns is not None
            if o.outcome is Outcome.FAIL or (o.kind in ("read", "get") and not known):
                continue
            asked = o.input if o.kind == "cas" else [] if o.input is None else [o.input]
            row = {
                "Kind": {"get": "read", "put": "write"}.get(o.kind, o.kind),
                "Key": str(o.key),
                "In": [_text(value) for value in asked],
                "Out": None if o.output is None or isinstance(o.output, bool) else _text(o.output),
                "Known": known,
                "Hit": o.output is not False,
                "Start": o.invoked_ns,
                "End": o.completed_ns if known else NEVER,
                "Client": clients.setdefault(o.process, len(clients)),
            }
            file.write(json.dumps(row) + "\n")


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def ours(history: History, options: dict[str, Any], rounds: int = 3) -> tuple[float, Any]:
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        result = run_check("linearizable", history, options, budget=Budget(float(LIMIT_S), None))
        times.append(time.perf_counter() - began)
    return min(times), result.valid


def theirs(binary: str, paths: list[Path], rounds: int = 3) -> list[tuple[float, str]]:
    best: list[tuple[float, str]] = []
    for _ in range(rounds):
        done = subprocess.run(
            [binary, str(LIMIT_S), *map(str, paths)], capture_output=True, text=True, check=True
        )
        found = [(float(line.split()[0]), line.split()[1]) for line in done.stdout.splitlines()]
        best = [min(pair) for pair in zip(best, found, strict=True)] if best else found
    return best


def compare(name: str, binary: str, histories: list[History], options: dict[str, Any], root: Path) -> None:
    paths = [root / f"{number}.jsonl" for number in range(len(histories))]
    for history, path in zip(histories, paths, strict=True):
        write(history, path)
    mine = [ours(history, options) for history in histories]
    other = theirs(binary, paths)
    agree = sum(
        {"Ok": True, "Illegal": False}.get(verdict, "unknown") == valid
        for (_, valid), (_, verdict) in zip(mine, other, strict=True)
    )
    own, their = sum(took for took, _ in mine), sum(took for took, _ in other)
    verdicts = "/".join(sorted({verdict for _, verdict in other}))
    print(
        f"{name:58} refute {own:8.3f} s  Porcupine {their:8.3f} s ({verdicts})  "
        f"{their / own:7.1f} times  same answer {agree} of {len(mine)}",
        flush=True,
    )


def main() -> None:
    binary = os.environ.get("PORCUPINE")
    if not binary:
        print("PORCUPINE names no binary: build one from benchmarks/porcupine")
        return
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        logs = sorted(RECORDED.glob("*.log")) if RECORDED.is_dir() else []
        if logs:
            compare("50 recorded etcd histories", binary, [load(log) for log in logs], {}, root)
            for path in sorted((RECORDED.parent / "kv").glob("*")):
                compare(f"recorded {path.name}", binary, [load(path)], {"model": "kv"}, root)
        for size, clients, unknown in ((10_000, 5, 0.0), (10_000, 10, 0.02), (100_000, 5, 0.0)):
            words = f"{size:,} operations, {clients} clients, {unknown:.0%} unknown"
            for kind, make in (("unique values", unique), ("repeated values and cas", repeated)):
                history = closed_loop(size, clients, make, register, unknown=unknown)
                compare(f"{kind}, {words}", binary, [history], {"model": "cas-register"}, root)


if __name__ == "__main__":
    main()
