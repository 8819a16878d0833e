"""The slow obvious check for fast ones: every order, every subset of the unknown operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from refute.history import Operation, Outcome

Step = Callable[[Any, Operation], Sequence[Any]]
"""The states after an operation; none if it is not allowed. An unknown operation has any answer."""


def in_real_time(one: Operation, two: Operation) -> bool:
    """Whether one was certainly over before the other began."""
    known = one.outcome is Outcome.OK and one.completed_ns is not None
    return known and one.completed_ns < two.invoked_ns


def in_its_process(one: Operation, two: Operation) -> bool:
    """Whether one process certainly did one before the other."""
    return one.outcome is Outcome.OK and one.process == two.process and one.index < two.index


def linearizable(
    operations: Sequence[Operation],
    initial: Sequence[Any],
    step: Step,
    precedes: Callable[[Operation, Operation], bool] = in_real_time,
) -> bool:
    """Whether some order of the ok operations and any of the unknown ones is allowed."""
    sure = [op for op in operations if op.outcome is Outcome.OK]
    maybe = [op for op in operations if op.outcome is Outcome.INFO]

    def place(left: list[Operation], optional: list[Operation], state: Any) -> bool:
        if not left:
            return True
        for op in left + optional:
            if any(precedes(other, op) for other in left if other is not op):
                continue
            for after in step(state, op):
                rest = [other for other in left if other is not op]
                spare = [other for other in optional if other is not op]
                if place(rest, spare, after):
                    return True
        return False

    return any(place(sure, maybe, state) for state in initial)


def register(state: Any, op: Operation) -> Sequence[Any]:
    """A register, written as plainly as possible."""
    ok = op.outcome is Outcome.OK
    if op.kind == "write":
        return [op.input]
    if op.kind == "read":
        return [state] if not ok or op.output == state else []
    if op.kind == "cas":
        old, new = op.input
        if ok and op.output is False:
            return [state] if state != old else []
        if state == old:
            return [new]
        return [] if ok else [state]
    if op.kind == "append":
        return [(state or "") + op.input]
    if op.kind == "delete":
        return [None]
    raise AssertionError(op.kind)


def registers(state: Any, op: Operation) -> Sequence[Any]:
    """Several registers; the state is a frozen set of their values by key."""
    values = dict(state)
    return [frozenset({**values, op.key: after}.items()) for after in register(values.get(op.key), op)]
