"""Unique ids: no id is given out twice."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from refute.checkers.judgement import Judgement
from refute.checkers.result import Budget, Result
from refute.history import History, Operation, Outcome, hashable

KINDS = ("generate", "generate-id", "next-id", "allocate")


def check(
    history: History, *, budget: Budget, generate_kinds: Iterable[str] = KINDS, increasing: bool = False
) -> Result:
    """Whether every successful request for an id was answered with another one.

    The id is the output of the operation. With `increasing`, an id that was asked for after another
    had been given out must also be greater. O(n log n). Anomalies: `duplicate-id`, `decreasing-id`,
    `missing-id` (a success without an id).
    """
    wanted = frozenset(generate_kinds)
    judgement = Judgement("unique-ids", "ids counted")
    used = [o for o in history.operations if o.kind in wanted]
    first: dict[Hashable, Operation] = {}
    given: list[Operation] = []
    for operation in used:
        if operation.outcome is not Outcome.OK:
            continue
        judgement.judged += 1
        name = hashable(operation.output)
        if operation.output is None:
            judgement.found("missing-id", "a request for an id succeeded without one", (operation,))
        elif name in first:
            owners = f"{first[name].process} and {operation.process}"
            sentence = f"the id {operation.output!r} was given to {owners}"
            judgement.found("duplicate-id", sentence, (first[name], operation))
        else:
            first[name] = operation
            given.append(operation)
    if judgement.judged == 1:
        judgement.cannot("one id alone has nothing to be equal to")
    if increasing:
        _judge_order(judgement, history, given)
    return judgement.result(used, nothing="no request for an id succeeded")


def _judge_order(judgement: Judgement, history: History, given: list[Operation]) -> None:
    if history.clock == "wall":
        judgement.cannot("wall clocks do not say which id was asked for later")
        return
    kinds_of_id = {type(operation.output) for operation in given}
    if len(kinds_of_id) > 1 or not kinds_of_id <= {int, float, str}:
        judgement.cannot("ids of several types, or of types without an order")
        return
    by_end = sorted((o for o in given if o.completed_ns is not None), key=lambda o: o.completed_ns or 0)
    place = 0
    greatest: Any = None
    for operation in given:
        while place < len(by_end) and (by_end[place].completed_ns or 0) < operation.invoked_ns:
            if greatest is None or by_end[place].output > greatest.output:
                greatest = by_end[place]
            place += 1
        if greatest is not None and operation.output < greatest.output:
            sentence = f"{operation.output!r} was given out after {greatest.output!r}, which is greater"
            judgement.found("decreasing-id", sentence, (greatest, operation))
