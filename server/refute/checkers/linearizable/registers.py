"""Registers and maps as sequential objects: read, write, compare-and-set, append, delete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from refute.checkers.catalog import CheckerError
from refute.checkers.linearizable.model import Call, Model, State
from refute.history import Operation, Outcome, hashable


class _Symbol:
    """A state that is equal to no value of a history."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


UNKNOWN: Final = _Symbol("unknown")
"""The state of a register of which nobody knows how it began: the first read settles it."""

OTHER: Final = _Symbol("other")
"""Any value that no call of a window looks at."""

_EMPTY = ("", ("seq",))

KINDS: Mapping[str, str] = {
    **dict.fromkeys(("read", "r", "get"), "read"),
    **dict.fromkeys(("write", "w", "put", "set"), "write"),
    **dict.fromkeys(("cas", "compare-and-set", "compare_and_set"), "cas"),
    **dict.fromkeys(("delete", "del", "remove"), "delete"),
    "append": "append",
}


class Register(Model):
    """One value: read, write, compare-and-set, append, delete.

    `initial` is what an unwritten register holds; UNKNOWN allows any. A compare-and-set has
    `[expected, new]` as its input. One that is `ok` with output False saw that the register held
    something else; one that is `fail` may as well never have arrived, and says nothing. `append`
    extends a string or a list. A deleted register holds None.
    """

    name = "register"
    kinds = KINDS

    def __init__(self, initial: Any = None) -> None:
        self.initial: State = initial if initial is UNKNOWN else hashable(initial)

    def init(self) -> State:
        """The initial value; if unknown, a pair that gathers what it was seen not to be."""
        return (UNKNOWN, frozenset[State]()) if self.initial is UNKNOWN else self.initial

    def call(self, operation: Operation) -> Call | None:
        """The call; None for a read without an answer and for what the model does not know."""
        kind = self.kinds.get(operation.kind)
        known = operation.outcome is Outcome.OK
        if kind is None or (kind == "read" and not known):
            return None
        if kind == "read":
            return Call("read", None, hashable(operation.output), known)
        if kind == "delete":
            return Call("write", None, None, known)
        if kind == "cas":
            missed = known and operation.output is False
            return Call("cas", _pair(operation), not missed, known)
        return Call(kind, hashable(operation.input), None, known)

    def reads(self, call: Call) -> bool:
        """Reads, and compare-and-sets that change nothing or are known to have missed."""
        if call.kind == "cas":
            return call.input[0] == call.input[1] or (call.known and not call.output)
        return call.kind == "read"

    def step(self, state: State, call: Call) -> tuple[bool, State]:
        """A read must see the state; a compare-and-set must find what it expects."""
        kind, value, output, known, _ = call
        if kind == "write":
            return True, value
        if isinstance(state, tuple) and state[:1] == (UNKNOWN,):
            return self._first_look(state[1], call)
        if kind == "read":
            return state == output or (self._empties and state is None and output in _EMPTY), state
        if kind == "cas":
            old, new = value
            return (state != old, state) if known and not output else (state == old, new)
        return True, _appended(state, value)

    def _first_look(self, excluded: frozenset[State], call: Call) -> tuple[bool, State]:
        if call.kind == "read":
            return call.output not in excluded, call.output
        if call.kind == "cas":
            old, new = call.input
            if call.known and not call.output:
                return True, (UNKNOWN, excluded | {old})
            return old not in excluded, new
        raise CheckerError("an append to an unknown initial value cannot be checked", hint="give `initial`")

    _empties = False

    def window_states(self, calls: list[Call]) -> list[State] | None:
        """Every value that some call looks for, and one that stands for all others."""
        if any(call.kind == "append" for call in calls):
            return None
        sought: dict[State, None] = {OTHER: None}
        for call in calls:
            if call.kind == "read":
                sought[call.output] = None
            elif call.kind == "cas":
                sought[call.input[0]] = None
        return list(sought)


class KeyValue(Register):
    """A map's entry: as a register, and where a history appends, a missing entry may read as empty."""

    name = "kv"
    _empties = True


def _pair(operation: Operation) -> tuple[Any, Any]:
    pair = operation.input
    if isinstance(pair, Mapping) and {"old", "new"} <= set(pair):
        return hashable(pair["old"]), hashable(pair["new"])
    if isinstance(pair, (list, tuple)) and len(pair) == 2:
        return hashable(pair[0]), hashable(pair[1])
    raise CheckerError(
        f"operation {operation.index}: a compare-and-set needs [expected, new], not {pair!r}",
        hint="give the pair as the operation's input",
    )


def _appended(state: State, value: Any) -> State:
    if isinstance(value, str):
        return (state if isinstance(state, str) else "") + value
    more = value[1:] if isinstance(value, tuple) and value[:1] == ("seq",) else (value,)
    return (state if isinstance(state, tuple) else ("seq",)) + more
