"""How long linearizability takes to check, loading apart: processor time, the least of some runs."""

from __future__ import annotations

import random
import re
import resource
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from refute.checkers import Budget, run_check
from refute.history import History, Operation, Outcome
from refute.history.columns import OperationTable, columns_of
from refute.history.formats import load

RECORDED = Path(__file__).resolve().parents[2] / "shared" / "histories" / "porcupine" / "etcd"


def closed_loop(
    size: int,
    clients: int,
    make: Callable[[random.Random, int], tuple[str, Any]],
    run: Callable[[Any, str, Any], tuple[Any, Any]],
    *,
    unknown: float = 0.0,
    initial: Any = None,
    seed: int = 1,
) -> History:
    """A truly linearizable history: every client has an operation in flight nearly all the time."""
    rng = random.Random(seed)
    free = [(rng.random() * 1000, client) for client in range(clients)]
    drafts = []
    for number in range(size):
        start, slot = min(free)
        free.remove((start, slot))
        end = start + rng.randint(200, 2000)
        lost = rng.random() < unknown
        effect = rng.uniform(start, end + 3000) if lost else rng.uniform(start, end)
        if lost and rng.random() < 0.4:
            effect = float("inf")
        drafts.append((int(start), int(end), effect, lost, slot, *make(rng, number)))
        free.append((end + rng.randint(1, 200), slot))
    outputs: list[Any] = [None] * size
    state = initial
    for number in sorted(range(size), key=lambda n: drafts[n][2]):
        if drafts[number][2] != float("inf"):
            state, outputs[number] = run(state, drafts[number][5], drafts[number][6])
    operations = [
        Operation(
            index,
            slot,
            kind,
            "x",
            value,
            None if lost else outputs[index],
            Outcome.INFO if lost else Outcome.OK,
            start,
            None if lost else end,
        )
        for index, (start, end, _, lost, slot, kind, value) in enumerate(drafts)
    ]
    return History(OperationTable(columns_of(operations)))


def register(state: Any, kind: str, value: Any) -> tuple[Any, Any]:
    if kind == "write":
        return value, None
    if kind == "cas":
        return (value[1], None) if state == value[0] else (state, False)
    return state, state


def unique(rng: random.Random, number: int) -> tuple[str, Any]:
    return ("write", number + 1) if rng.random() < 0.5 else ("read", None)


def repeated(rng: random.Random, _: int) -> tuple[str, Any]:
    kind = rng.choice(("read", "read", "write", "cas"))
    value = {"read": None, "write": rng.randrange(5), "cas": [rng.randrange(5), rng.randrange(5)]}[kind]
    return kind, value


def queue(state: Any, kind: str, value: Any) -> tuple[Any, Any]:
    if kind == "enqueue":
        state.append(value)
        return state, None
    return state, state.popleft() if state else None


def puts_and_takes(rng: random.Random, number: int) -> tuple[str, Any]:
    return ("enqueue", number) if rng.random() < 0.55 else ("dequeue", None)


def recorded() -> None:
    """The 50 etcd histories of Porcupine, where they are at hand."""
    logs = sorted(RECORDED.glob("*.log")) if RECORDED.is_dir() else []
    if not logs:
        print("the 50 etcd histories are not on this machine")
        return
    histories = [load(log) for log in logs]
    best, slowest = float("inf"), float("inf")
    for _ in range(5):
        times = []
        for history in histories:
            started = time.process_time()
            run_check("linearizable", history, {"model": "cas-register"})
            times.append(time.process_time() - started)
        best, slowest = min(best, sum(times)), min(slowest, max(times))
    print(f"{len(logs)} etcd histories: {best:.3f} s together, {slowest:.3f} s the slowest")


def forget_peak() -> None:
    """From now on the peak counts: what making a history took is not the checker's. Linux only."""
    if Path("/proc/self/clear_refs").exists():
        Path("/proc/self/clear_refs").write_text("5")


def peak_mb() -> int:
    """The most memory that was held, the history and the interpreter with it, in MB."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\s+(\d+) kB", status.read_text())[1]) // 1024  # type: ignore[index]
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1024 * 1024)  # macOS counts bytes


def measure(
    name: str, history: History, *, checker: str = "linearizable", rounds: int = 3, **options: Any
) -> None:
    times = []
    forget_peak()
    for _ in range(rounds):
        started = time.process_time()
        result = run_check(checker, history, options, budget=Budget(120.0, None))
        times.append(time.process_time() - started)
    peak = peak_mb()
    print(
        f"{name:58} {min(times):8.3f} s  {result.valid!s:8} {result.algorithm:10} "
        f"peak {peak} MB {result.reason}"
    )


def main() -> None:
    million = "--million" in sys.argv
    recorded()
    measure("unique register, 100,000 operations, 5 clients", closed_loop(100_000, 5, unique, register))
    measure(
        "unique register, 100,000 operations, 30 clients, 2 % unknown",
        closed_loop(100_000, 30, unique, register, unknown=0.02),
    )
    measure("search, 100,000 operations, 5 clients", closed_loop(100_000, 5, repeated, register))
    measure("search, 100,000 operations, 10 clients", closed_loop(100_000, 10, repeated, register))
    measure(
        "queue, 100,000 operations, 5 clients",
        closed_loop(100_000, 5, puts_and_takes, queue, initial=deque()),
        model="queue",
    )
    measure(
        "queue, 100,000 operations, 5 clients, 1 % unknown",
        closed_loop(100_000, 5, puts_and_takes, queue, initial=deque(), unknown=0.01),
        model="queue",
    )
    if million:
        measure(
            "unique register, 1,000,000 operations, 30 clients, 2 % unknown",
            closed_loop(1_000_000, 30, unique, register, unknown=0.02),
        )


if __name__ == "__main__":
    main()
