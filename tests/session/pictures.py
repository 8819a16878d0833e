"""Histories to draw, small enough to read in a test, and one that is large."""

from __future__ import annotations

import random

from refute.checkers import run_check
from refute.history import FaultEvent, FaultPhase, History, Landing, Operation, Outcome, Signal
from refute.session.picture.conflict import Conflict, conflicts_of

MS = 1_000_000
HOSTILE = "</script><script>window.broken=1</script><img src=x onerror='window.broken=1'>"


def op(
    index: int,
    process: int | str,
    kind: str,
    key: object,
    asked: object,
    answered: object,
    outcome: str,
    start_ms: float,
    end_ms: float | None,
    *,
    node: str | None = None,
) -> Operation:
    end = None if end_ms is None else int(end_ms * MS)
    return Operation(
        *(index, process, kind, key, asked, answered, Outcome(outcome), int(start_ms * MS), end), node=node
    )


def stale_read() -> History:
    """A read of x returns 1 three milliseconds after 2 was acknowledged; beside it a fail and two unknown."""
    return History(
        (
            op(0, 0, "write", "x", 1, None, "ok", 0, 4),
            op(1, 1, "read", "x", None, 1, "ok", 3, 6),
            op(2, 0, "write", "x", 2, None, "ok", 7, 12, node="n1"),
            op(3, 2, "write", "y", 9, None, "info", 8, None),
            op(4, 3, "write", "x", 3, None, "fail", 9, 11),
            op(5, 1, "read", "x", None, 1, "ok", 15, 18, node="n3"),
            op(6, 4, "write", "y", 8, None, "info", 16, 19),
        )
    )


def write_skew() -> History:
    """Two transactions each miss what the other appended: G2-item."""

    def txn(index: int, process: int, micro: list[list[object]], start: int, end: int) -> Operation:
        asked = [[kind, key, None if kind == "r" else value] for kind, key, value in micro]
        return op(index, process, "txn", None, asked, micro, "ok", start, end)

    return History(
        (
            txn(0, 0, [["append", "x", 1], ["r", "y", []]], 0, 10),
            txn(1, 1, [["append", "y", 1], ["r", "x", []]], 2, 9),
            txn(2, 2, [["r", "x", [1]], ["r", "y", [1]]], 14, 19),
        )
    )


def hostile() -> History:
    """Every text of it tries to leave its place in the page."""
    return History(
        (
            op(0, HOSTILE, "write", HOSTILE, HOSTILE, None, "ok", 0, 4, node=HOSTILE),
            op(1, HOSTILE, "read", HOSTILE, None, f"other {HOSTILE}", "ok", 5, 8),
        )
    )


def long_history(count: int = 100_000, processes: int = 30) -> History:
    """Reads and writes of twenty keys, one of the reads stale; one percent is unknown."""
    chance = random.Random(7)
    free = [0.0] * processes
    state: dict[int, int | None] = dict.fromkeys(range(20))
    spans = []
    for number in range(count):
        process = number % processes
        start = free[process] + chance.random()
        free[process] = start + chance.expovariate(1.0)
        spans.append((start, free[process], process))
    operations: list[Operation] = []
    for index, (start, end, process) in enumerate(sorted(spans)):
        key = chance.randrange(20)
        if chance.random() < 0.5:
            unknown = chance.random() < 0.02
            state[key] = index
            asked, answered, kind, outcome = index, None, "write", "info" if unknown else "ok"
        else:
            asked, answered, kind, outcome = None, state[key], "read", "ok"
        operations.append(op(index, process, kind, key, asked, answered, outcome, start, end))
    return History(tuple(operations))


def conflicts(history: History, checker: str, **options: object) -> tuple[Conflict, ...]:
    return conflicts_of([run_check(checker, history, options)])


def events() -> tuple[FaultEvent, ...]:
    """f1 from 5 to 13 ms, f2 from 11 ms on without an end on record."""

    def event(fault: str, phase: FaultPhase, ms: int, kind: str, *targets: str) -> FaultEvent:
        return FaultEvent(fault, phase, ms * MS, "proxy", kind, targets, 1)

    return (
        event("f1", FaultPhase.APPLIED, 5, "partition", "n1->n2", "n1->n3"),
        event("f2", FaultPhase.APPLIED, 11, "delay", "n2->n3"),
        event("f1", FaultPhase.HEALED, 13, "partition", "n1->n2", "n1->n3"),
    )


def landings() -> tuple[Landing, ...]:
    """f1 is proven from both sides; of f2 nothing moved."""
    return (
        Landing(
            *("f1", "proxy", "partition", ("n1->n2", "n1->n3")),
            (
                Signal("injector", "bytes held", "n1->n2", "increases", 0, 244),
                Signal("victim", "bytes per second", "n1", "stops", 1217, 0),
            ),
        ),
        Landing("f2", "proxy", "delay", ("n2->n3",), ()),
    )
