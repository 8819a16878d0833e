"""What of the violations planted in simulated histories is noticed, and what that takes, checker by checker.

Usage: python benchmarks/bench_planted.py [OPERATIONS [SEEDS]]   (default 20000 and 1)

Times are the processor's, of the slowest history. `whole history` is the answer on the histories themselves,
which are correct.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from refute.checkers import Budget, run_check
from refute.checkers.planted import plant
from refute.checkers.planted import simulated_objects as objects
from refute.checkers.planted import simulated_services as services
from refute.checkers.planted.simulated import Shape
from refute.checkers.planted.simulated_transactions import transactions
from refute.history import History

CASES: list[tuple[str, Mapping[str, Any], Callable[..., History]]] = [
    ("linearizable", {"model": "register"}, objects.registers),
    ("linearizable", {"model": "cas-register"}, partial(objects.registers, compare=0.1)),
    ("linearizable", {"model": "kv"}, objects.registers),
    ("linearizable", {"model": "queue"}, objects.queues),
    ("linearizable", {"model": "counter"}, partial(objects.counters, retries=0)),
    ("linearizable", {"model": "priority-queue"}, partial(objects.queues, order="least")),
    ("linearizable", {"model": "stack"}, partial(objects.queues, order="lifo")),
    ("linearizable", {"model": "set"}, objects.elements),
    ("linearizable", {"model": "multiset"}, objects.elements),
    ("linearizable", {"model": "log"}, partial(objects.elements, kind="append")),
    ("linearizable", {"model": "lock"}, partial(services.locks, writes=False)),
    ("linearizable", {"model": "lease"}, partial(services.locks, expires=True)),
    ("linearizable", {"model": "transactions"}, partial(transactions, write="w")),
    ("sequential", {}, objects.registers),
    ("list-append", {}, transactions),
    ("rw-register", {}, partial(transactions, write="w")),
    ("serializable-exact", {"order": "real-time"}, partial(transactions, write="w")),
    ("snapshot-isolation-exact", {}, partial(transactions, write="w")),
    ("read-committed", {}, partial(transactions, write="w")),
    ("read-atomic", {}, partial(transactions, write="w")),
    ("causal", {}, partial(transactions, write="w")),
    ("no-lost-acknowledged-write", {}, objects.registers),
    ("exactly-once", {}, objects.counters),
    ("read-your-writes", {}, objects.replicas),
    ("monotonic-reads", {}, objects.replicas),
    ("writes-follow-reads", {}, objects.replicas),
    ("bounded-staleness", {"max_versions": 10}, objects.replicas),
    ("monotonic-writes", {}, objects.replicas),
    ("no-phantom", {}, objects.registers),
    ("replica-reconciliation", {}, objects.registers),
    ("counter", {}, objects.counters),
    ("set-full", {}, objects.elements),
    ("g-set", {}, objects.elements),
    ("prefix", {"real_time": True}, partial(objects.elements, kind="append")),
    ("fifo-per-partition", {}, partial(services.logs, offsets=False)),
    ("unique-ids", {}, services.identifiers),
    ("bank-total", {}, services.banks),
    ("long-fork", {}, services.forks),
    ("mutual-exclusion", {}, services.locks),
    ("kafka-log", {}, services.logs),
    ("change-feed", {}, services.feeds),
    ("boundary", {}, services.tenants),
    ("fairness", {"max_min_ratio": 2}, services.groups),
    ("slo", {"percentiles": {"p50": 6}, "during": "all"}, services.groups),
]


def measure(
    checker: str, options: Mapping[str, Any], make: Callable[..., History], size: int, seeds: int
) -> str:
    """A line of the table."""
    checks, calibrations, answers = [], [], []
    noticed = tried = 0
    unfinished = False
    for seed in range(1, seeds + 1):
        history = make(seed, shape=Shape(operations=size, clients=8))
        began = time.process_time()
        answers.append(str(run_check(checker, history, options, budget=Budget(10.0, 1_000_000_000)).valid))
        checks.append(time.process_time() - began)
        began = time.process_time()
        report = plant(history, checker, options, seed=seed)
        calibrations.append(time.process_time() - began)
        noticed, tried = noticed + report.noticed, tried + report.tried
        unfinished = unfinished or report.unfinished
    name = f"{checker} {options.get('model', '')}".strip()
    share = f"{100 * noticed / tried:.0f} %" if tried else "-"
    return (
        f"| {name} | {', '.join(dict.fromkeys(answers))} | {max(checks):.2f} s | {max(calibrations):.1f} s "
        f"| {noticed} of {tried} | {share}{', time was up' if unfinished else ''} |"
    )


def main() -> None:
    """Prints a table in Markdown, a line a checker."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    print("| checker | whole history | check | calibration | noticed | share |\n|---|---|---|---|---|---|")
    for checker, options, make in CASES:
        print(measure(checker, options, make, size, seeds), flush=True)


if __name__ == "__main__":
    main()
