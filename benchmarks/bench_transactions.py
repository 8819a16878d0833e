"""How long the transaction checkers take on generated histories; loading is not measured.

Usage: python benchmarks/bench_transactions.py [TRANSACTIONS ...]   (default 10000 and 100000)
"""

from __future__ import annotations

import argparse
import gc
import resource
import time
from collections import deque
from random import Random

from refute.checkers import Budget, run_check
from refute.history import History, Operation, Outcome

CLIENTS = 30
APPENDS_PER_KEY = 32


def list_append_history(count: int, *, unknown: float = 0.02, skew: bool = False, seed: int = 7) -> History:
    """A strictly serializable store under 30 clients, 1 to 4 micro-operations over 10 live keys.

    With `skew` every transaction reads a state that may be a few transactions old, so that the
    history has cycles everywhere.
    """
    random = Random(seed)
    lists: dict[int, list[int]] = {}
    live = list(range(10))
    fresh = 10
    operations: list[Operation] = []
    now = 0
    free = [0] * CLIENTS
    past: deque[dict[int, int]] = deque(maxlen=8)
    for index in range(count):
        process = min(range(CLIENTS), key=free.__getitem__) if index % 4 else random.randrange(CLIENTS)
        start = max(free[process], now - random.randrange(1, 400))
        now = max(now, start) + random.randrange(1, 40)
        outcome = Outcome.INFO if random.random() < unknown else Outcome.OK
        sizes = past[0] if skew and past and random.random() < 0.3 else None
        asked, answered = [], []
        for _ in range(random.randrange(1, 5)):
            place = random.randrange(len(live))
            key = live[place]
            items = lists.setdefault(key, [])
            if random.random() < 0.5:
                items.append(len(items) + 1)
                micro = ["append", key, items[-1]]
                asked.append(micro)
                answered.append(micro)
                if len(items) >= APPENDS_PER_KEY:
                    live[place] = fresh
                    fresh += 1
            else:
                seen = items[: sizes.get(key, 0)] if sizes is not None else list(items)
                asked.append(["r", key, None])
                answered.append(["r", key, seen])
        past.append({key: len(lists.get(key, ())) for key in live} if skew else {})
        end = now + random.randrange(1, 40)
        free[process] = end + 1
        ok = outcome is Outcome.OK
        operations.append(
            Operation(index, process, "txn", None, asked, answered if ok else None, outcome, start, end)
        )
    operations.sort(key=lambda operation: operation.invoked_ns)
    return History(operations)


def register_history(count: int, *, keys: int = 2000, seed: int = 7) -> History:
    """A serial store of registers under 30 clients; half of the writes follow a read of the same key."""
    random = Random(seed)
    state: dict[int, int] = {}
    operations: list[Operation] = []
    for index in range(count):
        asked, answered = [], []
        for _ in range(random.randrange(1, 5)):
            key = random.randrange(keys)
            choice = random.random()
            if choice < 0.7:
                asked.append(["r", key, None])
                answered.append(["r", key, state.get(key)])
            if choice > 0.5:
                state[key] = len(asked) + 10 * index
                asked.append(["w", key, state[key]])
                answered.append(["w", key, state[key]])
        start = 100 * (index - index % CLIENTS)
        process = index % CLIENTS
        end = start + 50 + process
        operations.append(
            Operation(index, process, "txn", None, asked, answered, Outcome.OK, start + process, end)
        )
    return History(operations)


def timed(name: str, history: History, checker: str, rounds: int, **options: object) -> float:
    """The least processor time of several runs in seconds, printed with what was found."""
    best = float("inf")
    for _ in range(rounds):
        gc.collect()
        began = time.process_time()
        result = run_check(checker, history, options, budget=Budget(600.0, 4_000_000_000))
        best = min(best, time.process_time() - began)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = result.details.get("anomalies") or result.reason or "no anomaly"
    print(f"{name:40} {len(history):>9,} txns {best:8.2f} s  peak {peak:7,.0f} MB  {result.valid} {found}")
    return best


def main() -> None:
    """Prints a line a case."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("transactions", nargs="*", type=int, default=[10_000, 100_000])
    for count in parser.parse_args().transactions:
        rounds = 3 if count <= 100_000 else 1
        history = list_append_history(count)
        timed("list-append, strict serializable", history, "list-append", rounds, model="strict-serializable")
        del history
        history = list_append_history(count, skew=True)
        timed("list-append, stale reads everywhere", history, "list-append", rounds)
        history = register_history(count)
        timed("rw-register, inferred and replayed", history, "rw-register", rounds)
        for level in ("read-committed", "read-atomic", "causal"):
            timed(f"registers, {level}", history, level, rounds)
    history = register_history(300, keys=40)
    for checker in ("serializable-exact", "snapshot-isolation-exact"):
        timed(checker, history, checker, 3)


if __name__ == "__main__":
    main()
