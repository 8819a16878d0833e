"""The smallest histories that the guide shows are caught by the checkers that it names, row by row."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from refute.checkers import CATALOG, run_check

from .scribe import Scribe

DOCS = Path(__file__).parents[2] / "docs"
Case = tuple[Callable[[], Scribe], Mapping[str, Any]]


def writes(*values: Any) -> Scribe:
    """Process 0 writes these one after the other, at 0, 10, 20, ..."""
    scribe = Scribe()
    for place, value in enumerate(values):
        scribe(0, "write", 10 * place, 10 * place + 5, key="x", value=value)
    return scribe


def x_then_y(reader_sees_y: Any, then_x: Any) -> Scribe:
    """A writes (or reads) x, then writes y; B reads y, and then x at the same node."""
    scribe = Scribe()("A", "write", 10, 11, key="y", value=1, node="n1")
    scribe("B", "read", 20, 21, key="y", out=reader_sees_y, node="n1")
    return scribe("B", "read", 30, 31, key="x", out=then_x, node="n1")


def latencies() -> Scribe:
    scribe, ms = Scribe(), 1_000_000
    for number in range(1000):
        took = 100 * ms if number % 20 == 0 else ms
        scribe(1, "get", number * 200 * ms, number * 200 * ms + took, out=1, scheduled_ns=number * 200 * ms)
    return scribe


def shares() -> Scribe:
    scribe = Scribe()
    for group, count in (("A", 20), ("B", 9)):
        for number in range(20):
            outcome = "ok" if number < count else "fail"
            scribe(group, "get", 10 * number, 10 * number + 5, outcome=outcome, group=group)
    return scribe


def leak() -> Scribe:
    scribe = Scribe()("a", "put", 0, 1, key="k", value="the-secret-of-A", tenant="A", expect="allow")
    scribe("b", "get", 2, 3, key="k", outcome="fail", tenant="B", expect="deny")
    scribe("b", "get", 4, 5, key="j", outcome="fail", tenant="B")
    scribe._rows[-1]["error"] = "no such key; did you mean the-secret-of-A?"
    return scribe


def transactions(*lines: list[Any]) -> Scribe:
    scribe = Scribe()
    for place, steps in enumerate(lines):
        asked = [[name, key, None if name == "r" else value] for name, key, value in steps]
        scribe(place, "txn", place, 100 + place, value=asked, out=steps)
    return scribe


CHECKERS: dict[str, Case] = {
    "linearizable": (lambda: writes(1, 2)(1, "read", 30, 31, key="x", out=1), {}),
    "sequential": (
        lambda: writes(1, 2)(1, "read", 30, 31, key="x", out=2)(1, "read", 40, 41, key="x", out=1),
        {},
    ),
    "read-your-writes": (
        lambda: Scribe()("B", "write", 0, 1, key="x", value=1)("A", "write", 2, 3, key="x", value=2)(
            "A", "read", 4, 5, key="x", out=1
        ),
        {},
    ),
    "monotonic-reads": (
        lambda: writes(1, 2)("A", "read", 30, 31, key="x", out=2)("A", "read", 40, 41, key="x", out=1),
        {},
    ),
    "monotonic-writes": (lambda: x_then_y(1, None)("A", "write", 0, 1, key="x", value=1, node="n1"), {}),
    "writes-follow-reads": (
        lambda: x_then_y(1, None)("C", "write", 0, 1, key="x", value=1)(
            "A", "read", 5, 6, key="x", out=1, node="n1"
        ),
        {},
    ),
    "bounded-staleness": (lambda: writes(1, 2)(1, "read", 30, 31, key="x", out=1), {"max_versions": 0}),
    "no-lost-acknowledged-write": (
        lambda: Scribe()(0, "add", 0, 1, value=7)(1, "read", 9, 10, out=[], node="n2", final=True),
        {},
    ),
    "exactly-once": (
        lambda: Scribe()(0, "add", 0, 1, value=3, outcome="info", idempotency_key="a")(
            1, "add", 2, 3, value=3, idempotency_key="a"
        )(2, "read", 9, 10, out=6, node="n1", final=True),
        {},
    ),
    "no-phantom": (
        lambda: Scribe()(0, "write", 0, 1, key="x", value=1, outcome="fail")(1, "read", 2, 3, key="x", out=1),
        {},
    ),
    "unique-ids": (lambda: Scribe()(0, "generate", 0, 1, out=17)(1, "generate", 0, 1, out=17), {}),
    "bank-total": (
        lambda: Scribe()(0, "read", 0, 1, out={"a": 5, "b": 5})(0, "transfer", 2, 3, value={})(
            0, "read", 4, 5, out={"a": 2, "b": 5}
        ),
        {},
    ),
    "long-fork": (
        lambda: transactions(
            [["w", "x", 1]], [["w", "y", 1]], [["r", "x", 1], ["r", "y", None]], [["r", "x", None], ["r", "y", 1]]
        ),
        {},
    ),
    "replica-reconciliation": (
        lambda: writes(1, 2)(1, "read", 30, 31, key="x", out=1, node="n1", final=True)(
            1, "read", 40, 41, key="x", out=2, node="n2", final=True
        ),
        {},
    ),
    "mutual-exclusion": (
        lambda: Scribe()("A", "acquire", 0, 1, key="l")("B", "acquire", 2, 3, key="l")("A", "release", 4, 5, key="l"),
        {},
    ),
    "counter": (lambda: Scribe()(0, "add", 0, 1, value=2)(1, "read", 2, 3, out=1), {}),
    "set-full": (
        lambda: Scribe()(0, "add", 0, 1, value=7)(1, "read", 2, 3, out=[7])(1, "read", 4, 5, out=[]),
        {},
    ),
    "g-set": (
        lambda: Scribe()(0, "add", 0, 1, value=7, node="n1")("A", "read", 2, 3, out=[7], node="n1")(
            "A", "read", 4, 5, out=[], node="n1"
        ),
        {},
    ),
    "prefix": (lambda: Scribe()(0, "read", 0, 1, out=[1, 2])(1, "read", 2, 3, out=[1, 3]), {}),
    "fifo-per-partition": (
        lambda: Scribe()(0, "send", 0, 1, key="p", value="a")(0, "send", 2, 3, key="p", value="b")(
            1, "receive", 4, 5, key="p", out="b"
        )(1, "receive", 6, 7, key="p", out="a"),
        {},
    ),
    "kafka-log": (
        lambda: Scribe()(0, "send", 0, 1, key="p", value="z", out=0)(0, "send", 2, 3, key="p", value="a", out=1)(
            0, "send", 4, 5, key="p", value="b", out=2
        )(1, "poll", 6, 7, out={"p": [[0, "z"], [2, "b"]]}),
        {},
    ),
    "change-feed": (
        lambda: Scribe()(2, "changes", 0, 1, out=[{"seq": n, "key": "x", "value": n} for n in (1, 2, 4)]),
        {},
    ),
    "fairness": (shares, {"max_min_ratio": 2}),
    "boundary": (leak, {}),
    "slo": (latencies, {"percentiles": {"p99": 50}, "during": "all"}),
    "list-append": (
        lambda: transactions(
            [["r", "x", []], ["append", "x", 1]], [["r", "x", []], ["append", "x", 2]]
        ),
        {},
    ),
    "rw-register": (lambda: transactions([["r", "x", None], ["w", "x", 1]], [["r", "x", None], ["w", "x", 2]]), {}),
    "read-committed": (lambda: transactions([["w", "x", 1], ["w", "x", 2]], [["r", "x", 1]]), {}),
    "read-atomic": (lambda: transactions([["w", "x", 1], ["w", "y", 1]], [["r", "y", None], ["r", "x", 1]]), {}),
    "causal": (
        lambda: transactions([["w", "x", 1]], [["r", "x", 1], ["w", "y", 1]], [["r", "y", 1], ["r", "x", None]]),
        {},
    ),
    "serializable-exact": (
        lambda: transactions([["r", "x", None], ["w", "y", 1]], [["r", "y", None], ["w", "x", 1]]),
        {},
    ),
    "snapshot-isolation-exact": (
        lambda: transactions([["r", "x", None], ["w", "x", 1]], [["r", "x", None], ["w", "x", 2]]),
        {},
    ),
}  # fmt: skip


def lease() -> Scribe:
    scribe = Scribe()("A", "acquire", 0, 1, key="l", out=33)("B", "acquire", 2, 3, key="l", out=34)
    scribe("B", "write", 4, 5, key="l", value=1, token=34)
    return scribe("A", "write", 6, 7, key="l", value=2, token=33)


class Door:
    """Nobody may enter twice."""

    init = False

    def step(self, state: bool, operation: Any) -> tuple[bool, bool]:
        return not state, True


OBJECTS: dict[str, Callable[[], Scribe]] = {
    "register": CHECKERS["linearizable"][0],
    "cas-register": CHECKERS["linearizable"][0],
    "kv": lambda: Scribe()(0, "put", 0, 1, key="k", value=1)(0, "delete", 2, 3, key="k")(1, "get", 4, 5, key="k", out=1),
    "counter": lambda: Scribe()(0, "add", 0, 1, value=1)(1, "read", 2, 3, out=0),
    "set": lambda: Scribe()(0, "add", 0, 1, value=7)(1, "contains", 2, 3, value=7, out=False),
    "multiset": lambda: Scribe()(0, "add", 0, 1, value=7)(1, "contains", 2, 3, value=7, out=False),
    "queue": lambda: Scribe()(0, "enqueue", 0, 1, value=1)(0, "enqueue", 2, 3, value=2)(1, "dequeue", 4, 5, out=2)(
        1, "dequeue", 6, 7, out=1
    ),
    "stack": lambda: Scribe()(0, "push", 0, 1, value=1)(0, "push", 2, 3, value=2)(1, "pop", 4, 5, out=1),
    "priority-queue": lambda: Scribe()(0, "insert", 0, 1, value=1)(0, "insert", 2, 3, value=2)(
        1, "delete-min", 4, 5, out=2
    ),
    "log": lambda: Scribe()(0, "append", 0, 1, value="a", out=0)(0, "append", 2, 3, value="b", out=0),
    "lock": lambda: Scribe()("A", "acquire", 0, 1)("B", "acquire", 2, 3),
    "lease": lease,
    "transactions": lambda: Scribe()(
        0, "txn", 0, 1, value=[["w", "x", 1], ["w", "y", 1]], out=[["w", "x", 1], ["w", "y", 1]]
    )(1, "txn", 2, 3, value=[["r", "x", None], ["r", "y", None]], out=[["r", "x", 1], ["r", "y", None]]),
}  # fmt: skip


@pytest.mark.parametrize("name", CATALOG)
def test_a_checker_catches_its_smallest_history(name: str) -> None:
    make, options = CHECKERS[name]
    result = run_check(name, make().history(), options)
    assert result.valid is False, result.reason
    assert result.anomalies[0].sentence


@pytest.mark.parametrize("model", OBJECTS)
def test_a_model_catches_its_smallest_history(model: str) -> None:
    result = run_check("linearizable", OBJECTS[model]().history(), {"model": model})
    assert result.valid is False, result.reason


def test_a_model_of_ones_own_catches_what_it_forbids() -> None:
    twice = Scribe()(0, "enter", 0, 1)(1, "enter", 2, 3)
    assert run_check("linearizable", twice.history(), {"model": Door}).valid is False


@pytest.mark.parametrize("name", sorted(set(CHECKERS) - {"fairness", "slo"}))
def test_it_is_small(name: str) -> None:
    assert len(CHECKERS[name][0]().history()) <= 5


def test_every_row_of_the_guide_has_a_history_here() -> None:
    rows = [
        line.split("|") for line in (DOCS / "checkers.md").read_text().splitlines() if line.startswith("|")
    ]
    named = {name for row in rows for name in re.findall(r"`([a-z-]+)`", row[2])}
    assert named <= set(CHECKERS) == set(CATALOG)
    tables = (DOCS / "checkers-linearizable.md").read_text().split("## What an answer rests on")[0]
    models = {
        name
        for line in tables.splitlines()
        if line.startswith("| `")
        for name in re.findall(r"`([a-z-]+)`", line.split("|")[1])
    }
    assert models == set(OBJECTS)
