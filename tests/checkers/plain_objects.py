"""Sequential objects written as plainly as possible, to try the models against."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from refute.history import Operation, Outcome


def run(kind_of_object: str, state: Any, kind: str, value: Any) -> tuple[Any, Any]:
    """The state and the answer after an operation."""
    if kind_of_object == "counter":
        if kind == "read":
            return state, state
        after = state + (1 if value is None else value) * (-1 if kind == "sub" else 1)
        return after, {"add-and-get": after, "get-and-add": state}.get(kind)
    if kind_of_object in ("set", "multiset"):
        if kind == "read":
            return state, sorted(state)
        if kind == "contains":
            return state, value in state
        if kind == "add":
            if kind_of_object == "set" and value in state:
                return state, False
            return tuple(sorted((*state, value))), True
        if value not in state:
            return state, False
        rest = list(state)
        rest.remove(value)
        return tuple(rest), True
    if kind_of_object in ("queue", "stack", "priority-queue"):
        if kind in ("enqueue", "push", "insert"):
            return (*state, value), None
        if not state:
            return state, None
        head = {"queue": state[0], "stack": state[-1], "priority-queue": min(state)}[kind_of_object]
        place = len(state) - 1 if kind_of_object == "stack" else state.index(head)
        return state[:place] + state[place + 1 :], head
    if kind_of_object == "log":
        if kind == "append":
            return (*state, value), len(state)
        if kind == "read":
            return state, state[value] if value < len(state) else None
        return state, list(state)
    if kind_of_object == "transactions":
        values = dict(state)
        answers = []
        for name, key, item in value:
            if name == "w":
                values[key] = item
            elif name == "append":
                values[key] = (*values.get(key, ()), item)
            seen = values.get(key) if name == "r" else item
            answers.append([name, key, list(seen) if isinstance(seen, tuple) else seen])
        return tuple(sorted(values.items())), answers
    raise AssertionError(kind_of_object)


def lock_step(state: Any, op: Operation) -> Sequence[Any]:
    """Who holds the lock; a refused acquire saw it held."""
    ok = op.outcome is Outcome.OK
    if op.kind == "acquire":
        if ok and op.output is False:
            return [state] if state is not None else []
        if state is None:
            return [op.process]
        return [] if ok else [state]
    if state == op.process:
        return [None]
    return [] if ok else [state]


def step(kind_of_object: str) -> Any:
    """The states after an operation, as the brute force wants them."""
    if kind_of_object == "lock":
        return lock_step

    def after(state: Any, op: Operation) -> Sequence[Any]:
        result, answer = run(kind_of_object, state, op.kind, op.input)
        if op.outcome is not Outcome.OK:
            return [result]
        silent = op.output is None and op.kind in ("add", "sub", "remove", "append")
        given = sorted(op.output) if op.kind == "read" and "set" in kind_of_object else op.output
        return [result] if silent or answer == given else []

    return after


FIRST: dict[str, Any] = {"counter": 0, "lock": None}
EMPTY: tuple[Any, ...] = ()
