"""Counters, sets, queues and stacks as sequential objects."""

from __future__ import annotations

from bisect import insort
from collections import Counter as Counted
from collections.abc import Callable
from typing import Any

from refute.checkers.catalog import CheckerError
from refute.checkers.linearizable.model import Call, Model, State, named
from refute.history import Operation, Outcome, hashable


class ObjectModel(Model):
    """A model whose calls are simply an operation's kind, input and output."""

    reading: frozenset[str] = frozenset()

    def call(self, operation: Operation) -> Call | None:
        """The call; None for a read without an answer."""
        kind = self.kinds[operation.kind]
        known = operation.outcome is Outcome.OK
        if not known and kind in self.reading:
            return None
        output = hashable(operation.output) if known else None
        process = operation.process if self.by_process else None
        return Call(kind, hashable(operation.input), output, known, process)

    def reads(self, call: Call) -> bool:
        """Whether the kind is one that only looks."""
        return call.kind in self.reading


def refused(operation: Operation, why: str, hint: str | None = None) -> CheckerError:
    """The error for an operation of which a model can make no call."""
    return CheckerError(f"operation {operation.index}: {operation.kind} {why}", hint=hint)


def _whole_number(value: Any, where: str) -> int:
    """The number, which may be written `1.0`. Raises CheckerError."""
    if isinstance(value, float) and not value.is_integer():
        raise CheckerError(
            f"{where}: a counter needs whole numbers, not {value!r}",
            hint="sums of fractions depend on rounding and order; the checker `counter` allows for that",
        )
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value  # type: ignore[return-value]
    raise CheckerError(f"{where}: a counter needs numbers, not {value!r}")


class Counter(ObjectModel):
    """A number: `add`, `sub` (1 without input), `read`, and `add-and-get`, `get-and-add` with answers."""

    name = "counter"
    kinds = named(
        {
            "add": "add inc incr increment",
            "sub": "sub dec decr decrement",
            "add-and-get": "add-and-get increment-and-get",
            "get-and-add": "get-and-add get-and-increment",
            "read": "read get r",
        }
    )
    reading = frozenset({"read"})
    answering = frozenset({"read", "add-and-get", "get-and-add"})
    """Those whose answers tell what the counter held."""

    def __init__(self, initial: Any = 0) -> None:
        self.initial = 0 if initial is None else _whole_number(initial, "initial")

    def call(self, operation: Operation) -> Call | None:
        """The call, a change with its amount; None for a read without an answer.

        Raises CheckerError for an amount or an answer that is no whole number.
        """
        call = super().call(operation)
        if call is None:
            return None
        where = f"operation {operation.index}"
        if call.known and call.kind in self.answering:
            _whole_number(operation.output, where)
        if call.kind == "read":
            return call
        return call._replace(input=1 if operation.input is None else _whole_number(operation.input, where))

    def init(self) -> State:
        """The initial number."""
        return self.initial

    def step(self, state: State, call: Call) -> tuple[bool, State]:
        """Additions always fit; answers must be the number before or after."""
        assert isinstance(state, int | float)
        if call.kind == "read":
            return state == call.output, state
        after = state + changed_by(call)
        if call.known and call.kind == "add-and-get":
            return after == call.output, after
        if call.known and call.kind == "get-and-add":
            return state == call.output, after
        return True, after


def changed_by(call: Call) -> int:
    """By how much a call changes a counter."""
    if call.kind == "read":
        return 0
    amount: int = call.input
    return -amount if call.kind == "sub" else amount


def members(value: Any) -> tuple[Any, ...]:
    """The elements of an answer that `listed` everything."""
    if value is None:
        return ()
    return tuple(value[1]) if value[0] == "set" else value[1:]


def listed(operation: Operation, call: Call) -> Call:
    """The call, whose answer is a list. Raises CheckerError for anything else, nil for an empty one apart."""
    if call.known and not isinstance(operation.output, list | tuple | set | frozenset | None):
        raise refused(operation, f"must answer with a list of all elements, not {operation.output!r}")
    return call


class Set(ObjectModel):
    """A set: `add`, `remove`, `contains`, `read` (all elements).

    `add` and `remove` may answer true or false: whether they changed the set. Without a `read` of
    all elements each element is independent of the others.
    """

    name = "set"
    kinds = named(
        {
            "add": "add insert",
            "remove": "remove delete del",
            "contains": "contains member",
            "read": "read get r read-all",
        }
    )
    reading = frozenset({"contains", "read"})

    def call(self, operation: Operation) -> Call | None:
        """The call; None for a look without an answer. CheckerError for an answer that tells nothing."""
        call = super().call(operation)
        if call is None:
            return None
        if call.kind == "contains" and type(operation.output) is not bool:
            hint = "give the answer as the operation's output"
            raise refused(operation, f"must answer true or false, not {operation.output!r}", hint)
        return listed(operation, call) if call.kind == "read" else call

    def init(self) -> State:
        """Nothing."""
        return frozenset()

    def split(self, calls: list[Call]) -> Callable[[Call], Any] | None:
        """By element, unless some call saw all of them."""
        return None if any(call.kind == "read" for call in calls) else lambda call: call.input

    def step(self, state: State, call: Call) -> tuple[bool, State]:
        """What a call says about the set must be true."""
        assert isinstance(state, frozenset)
        if call.kind == "read":
            shown = members(call.output)
            return len(shown) == len(state) and state == frozenset(shown), state
        there = call.input in state
        if call.kind == "contains":
            return call.output == ("bool", there), state
        changes = there is (call.kind == "remove")
        after = state - {call.input} if call.kind == "remove" else state | {call.input}
        if call.known and isinstance(call.output, tuple) and call.output[:1] == ("bool",):
            return call.output == ("bool", changes), after
        return True, after


class Multiset(Set):
    """A bag: as a set, with elements counted. `contains` answers whether there is one at least."""

    name = "multiset"

    def step(self, state: State, call: Call) -> tuple[bool, State]:
        """What a call says about the bag must be true."""
        assert isinstance(state, frozenset)
        counts: dict[Any, int] = dict(state)
        if call.kind == "read":
            return state == frozenset(Counted(members(call.output)).items()), state
        there = counts.get(call.input, 0)
        if call.kind == "contains":
            return call.output == ("bool", there > 0), state
        changes = call.kind == "add" or there > 0
        counts[call.input] = there + 1 if call.kind == "add" else there - 1
        after = frozenset((value, count) for value, count in counts.items() if count > 0)
        if call.known and isinstance(call.output, tuple) and call.output[:1] == ("bool",):
            return call.output == ("bool", changes), after
        return True, after


class Queue(ObjectModel):
    """A first-in-first-out queue; a `dequeue` that answers nil found it empty.

    A dequeue of which nobody saw the answer may have taken the head, or nothing, or never arrived.
    """

    name = "queue"
    kinds = named(
        {
            "put": "enqueue enq send offer",
            "take": "dequeue deq receive poll",
        }
    )

    def init(self) -> State:
        """Empty."""
        return ()

    def reads(self, call: Call) -> bool:
        """A take that found nothing."""
        return call.kind == "take" and call.known and call.output is None

    def step(self, state: State, call: Call) -> tuple[bool, State]:
        """A put adds its value; a take must have got the one whose turn it was."""
        assert isinstance(state, tuple)
        if call.kind == "put":
            return True, self.put(state, call.input)
        if not state:
            return not call.known or call.output is None, state
        head, rest = self.take(state)
        return not call.known or call.output == head, rest

    def group(self, call: Call) -> Any:
        """The value: a queue without a value, its put and its take, is still one."""
        if call.kind == "put":
            return (call.input,)
        return (call.output,) if call.known and call.output is not None else None

    def put(self, state: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
        """The contents after a put."""
        return (*state, value)

    def take(self, state: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        """The value whose turn it is, and the contents without it."""
        return state[0], state[1:]


class Stack(Queue):
    """A last-in-first-out stack; a `pop` that answers nil found it empty."""

    name = "stack"
    kinds = named(
        {
            "put": "push put",
            "take": "pop take",
        }
    )

    def take(self, state: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
        """The last value that was put."""
        return state[-1], state[:-1]


class PriorityQueue(Queue):
    """A queue whose `delete-min` takes the smallest value; nil where it is empty."""

    name = "priority-queue"
    kinds = named(
        {
            "put": "insert enqueue put add",
            "take": "delete-min extract-min dequeue poll take",
        }
    )

    def put(self, state: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
        """The contents in order."""
        items = list(state)
        try:
            insort(items, value)
        except TypeError:
            raise CheckerError(
                "the values of a priority queue have no order among each other",
                hint="give numbers only, or texts only",
            ) from None
        return tuple(items)
