"""What a sequential object is: a first state, and the states that an operation leads to."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

from refute.history import Operation

State = Hashable


class Call(NamedTuple):
    """One operation as a model sees it: values made hashable, `output` meaningless unless `known`.

    `process` is set only for models to which it matters (who holds a lock).
    """

    kind: str
    input: Any
    output: Any
    known: bool
    process: Any = None


class Model:
    """A sequential object.

    `step(state, call)` gives `(allowed, next state)`. It must be a pure function, and for a call
    that is not `known` (nobody saw the answer) it must allow what any answer would allow. `reads`
    tells the calls that never change any state: they can be left out where their answer is not
    known, and be placed as soon as they fit. `kinds` maps the kinds of operation to the model's
    own names for them. `by_key` objects are independent for each key, so that each can be checked
    alone (Herlihy and Wing, 1990: linearizability is local).
    """

    name = "model"
    kinds: Mapping[str, str] = {}
    by_key = True
    by_process = False

    def init(self) -> State:
        """The state in which a history begins."""
        raise NotImplementedError

    def step(self, state: State, call: Call) -> tuple[bool, State]:
        """Whether the call is allowed in that state, and the state after it."""
        raise NotImplementedError

    def reads(self, call: Call) -> bool:
        """Whether the call leaves every state as it is."""
        del call
        return False

    def call(self, operation: Operation) -> Call | None:
        """The call for an operation, or None where the model has no use for it."""
        raise NotImplementedError

    def window_states(self, calls: list[Call]) -> list[State] | None:
        """States that stand for all in which these calls could begin; None where that is not known."""
        del calls
        return None

    def narrowed(self, calls: list[Call]) -> Model | None:
        """A model that allows the same orders of just these calls, and shows a search dead ends sooner.

        None where there is nothing to gain. What it refuses may rest on the last of the calls.
        """
        del calls
        return None

    def split(self, calls: list[Call]) -> Callable[[Call], Any] | None:
        """What tells apart parts of the object that are independent of each other; None for none."""
        del calls
        return None

    def group(self, call: Call) -> Any:
        """What calls can be left out together without harm to the others: those of one value, say.

        None where a call must stay. Leaving out a call that `reads` is always without harm.
        """
        del call
        return None


def named(kinds: Mapping[str, str]) -> Mapping[str, str]:
    """From every name that a history may use for a kind to the model's own one."""
    return {name: kind for kind, names in kinds.items() for name in names.split()}
