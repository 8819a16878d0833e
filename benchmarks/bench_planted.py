"""How long it takes to check a simulated history and to calibrate the checker on it, checker by checker.

Usage: python benchmarks/bench_planted.py [OPERATIONS]   (default 20000)
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


def main() -> None:
    """Prints a line a checker, and how much of each calibration one check costs."""
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    print(f"{'checker':34} {'check s':>8} {'calibrate s':>12} {'ratio':>6}  noticed")
    for checker, options, make in CASES:
        history = make(1, shape=Shape(operations=size, clients=8))
        began = time.process_time()
        result = run_check(checker, history, options, budget=Budget(10.0, 1_000_000_000))
        check = time.process_time() - began
        began = time.process_time()
        report = plant(history, checker, options, seed=1)
        took = time.process_time() - began
        noticed = f"{report.noticed} of {report.tried}{' and time was up' if report.unfinished else ''}"
        name = f"{checker} {options.get('model', '')}"
        print(
            f"{name:34} {check:8.3f} {took:12.2f} {took / check:6.0f}  {noticed}  {result.valid}", flush=True
        )


if __name__ == "__main__":
    main()
