"""A sequential object that a person wrote, as a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from refute.checkers.catalog import CheckerError
from refute.checkers.linearizable.model import Call, Model, State
from refute.history import Operation, Outcome, hashable


def _never(_: Operation) -> bool:
    return False


class PersonalModel(Model):
    """A model that a person wrote: a class with `init` and `step`.

    `init` is the first state, or a function that returns it. `step(state, operation)` returns
    `(allowed, next state)`; for an operation whose outcome is INFO the output is None, and it must
    allow what any answer would allow. States may be anything that can be compared. The class may
    set `by_key = True` where keys are independent, `name`, and define `reads(operation)` for
    operations that change nothing.
    """

    by_process = True

    def __init__(self, given: Any) -> None:
        self.given = given() if isinstance(given, type) else given
        if not hasattr(self.given, "init") or not callable(getattr(self.given, "step", None)):
            raise CheckerError(
                f"{given!r} is not a model",
                hint="a model is a class with `init` and `step(state, operation)`",
            )
        self.name = str(getattr(self.given, "name", type(self.given).__name__))
        self.by_key = bool(getattr(self.given, "by_key", False))
        self.kinds = _Anything()
        self._operations: dict[Call, Operation] = {}
        self._reads: Callable[[Operation], bool] = getattr(self.given, "reads", _never)

    def init(self) -> State:
        """The first state."""
        first: State = self.given.init() if callable(self.given.init) else self.given.init
        return first

    def call(self, operation: Operation) -> Call | None:
        """The call; the operation is kept for `step`."""
        known = operation.outcome is Outcome.OK
        key = None if self.by_key else hashable(operation.key)
        extra = hashable(dict(operation.extra))
        output = hashable(operation.output) if known else None
        call = Call(operation.kind, (key, hashable(operation.input), extra), output, known, operation.process)
        unanswered = replace(operation, outcome=Outcome.INFO, output=None, completed_ns=None)
        self._operations.setdefault(call, operation if known else unanswered)
        # A proof may leave open whether an operation of the record had an answer yet.
        self._operations.setdefault(_without_answer(call), unanswered)
        return None if not known and self._reads(operation) else call

    def _operation(self, call: Call) -> Operation:
        return self._operations[call if call.known else _without_answer(call)]

    def reads(self, call: Call) -> bool:
        """What the model says of the operation."""
        return bool(self._reads(self._operation(call)))

    def step(self, state: State, call: Call) -> tuple[bool, State]:
        """What the model says. Raises CheckerError where it says something else than a pair."""
        answer = self.given.step(state, self._operation(call))
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise CheckerError(f"step of model {self.name} must return (allowed, state), not {answer!r}")
        return bool(answer[0]), answer[1]


def _without_answer(call: Call) -> Call:
    return call._replace(output=None, known=False)


class _Anything(dict[str, str]):
    """Every kind of operation, under its own name."""

    def __contains__(self, kind: object) -> bool:
        return True

    def __missing__(self, kind: str) -> str:
        return kind
