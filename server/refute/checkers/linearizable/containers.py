"""Counters, sets, queues, stacks and logs as sequential objects."""

from __future__ import annotations

from bisect import insort
from collections import Counter as Counted
from collections.abc import Callable, Iterator, Mapping
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


def whole_number(value: Any, default: int | None = None) -> int:
    """The number of a counter's call, `default` where there is none. Raises CheckerError."""
    if value is None and default is not None:
        return default
    if isinstance(value, float) and not value.is_integer():
        raise CheckerError(
            f"a counter needs whole numbers, not {value!r}",
            hint="sums of fractions depend on rounding and order; the checker `counter` allows for that",
        )
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value  # type: ignore[return-value]
    raise CheckerError(f"a counter needs numbers, not {value!r}")


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

    def __init__(self, initial: Any = 0) -> None:
        self.initial = 0 if initial is None else whole_number(initial)

    def init(self) -> State:
        """The initial number."""
        return self.initial

    def step(self, state: State, call: Call) -> tuple[bool, State]:
        """Additions always fit; answers must be the number before or after."""
        now = whole_number(state)
        if call.kind == "read":
            return now == call.output, state
        after = now + whole_number(call.input, 1) * (-1 if call.kind == "sub" else 1)
        if call.known and call.kind == "add-and-get":
            return after == call.output, after
        if call.known and call.kind == "get-and-add":
            return now == call.output, after
        return True, after


def members(value: Any) -> tuple[Any, ...]:
    """The elements of an answer that listed a collection."""
    if value is None:
        return ()
    if isinstance(value, tuple) and value[:1] == ("seq",):
        return value[1:]
    if isinstance(value, tuple) and value[:1] == ("set",):
        return tuple(value[1])
    raise CheckerError(f"a read of a collection must return a list, not {value!r}")


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
        """The call; None for a look without an answer. Raises CheckerError for neither true nor false."""
        call = super().call(operation)
        if call is not None and call.kind == "contains" and type(operation.output) is not bool:
            raise CheckerError(
                f"operation {operation.index}: {operation.kind} must answer true or false, "
                f"not {operation.output!r}",
                hint="give the answer as the operation's output",
            )
        return call

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
            listed = members(call.output)
            return len(listed) == len(state) and state == frozenset(listed), state
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
            raise CheckerError(f"a priority queue needs values of one ordered kind, not {value!r}") from None
        return tuple(items)


class Log(ObjectModel):
    """A log: `append` may answer the offset it got, `read` an offset, `read-all` lists everything.

    Offsets count from 0 without gaps. A `read` past the end answers nil.
    """

    name = "log"
    kinds = named(
        {
            "append": "append send write",
            "read": "read",
            "read-all": "read-all scan",
        }
    )
    reading = frozenset({"read", "read-all"})

    def init(self) -> State:
        """Empty."""
        return ()

    def step(self, state: State, call: Call) -> tuple[bool, State]:
        """Offsets and contents must be what the log holds."""
        assert isinstance(state, tuple)
        if call.kind == "append":
            offset = offset_told(call)
            return offset in (None, len(state)), (*state, call.input)
        if call.kind == "read-all" or call.input is None:
            return state == members(call.output), state
        if type(call.input) is not int:
            raise CheckerError(f"a read of a log needs an offset, not {call.input!r}")
        found = state[call.input] if 0 <= call.input < len(state) else None
        return found == call.output, state

    def narrowed(self, calls: list[Call]) -> Model:
        """With what answers say of each offset: a log only grows, so what stands there stays there."""
        told: dict[int, Any] = {}
        agree = True
        for call in calls:
            for offset, value in _told(call):
                agree = told.setdefault(offset, value) == value and agree
        return _ToldLog(told, agree)


class _ToldLog(Log):
    """A log of which it is known what stands at some offsets; nothing is allowed where answers disagree."""

    def __init__(self, told: Mapping[int, Any], agree: bool) -> None:
        self._told, self._agree = told, agree

    def step(self, state: State, call: Call) -> tuple[bool, State]:
        """As for any log, but an offset takes only what was seen there."""
        assert isinstance(state, tuple)
        if call.kind == "append" and self._told.get(len(state), call.input) != call.input:
            return False, state
        allowed, after = super().step(state, call)
        return allowed and self._agree, after


def offset_told(call: Call) -> int | None:
    """The offset that an append was told, if any; a number that can be none would pass for no answer."""
    if call.known and isinstance(call.output, float):
        raise CheckerError(f"an append to a log is told a whole number, not {call.output!r}")
    return call.output if call.known and type(call.output) is int else None


def _told(call: Call) -> Iterator[tuple[int, Any]]:
    """What the answer of a call on a log says of offsets."""
    if not call.known:
        return
    if call.kind == "append":
        if (offset := offset_told(call)) is not None:
            yield offset, call.input
    elif call.kind == "read-all" or call.input is None:
        yield from enumerate(members(call.output))
    elif type(call.input) is int and call.output is not None:
        yield call.input, call.output


__all__ = [
    "Counter", "Log", "Multiset", "ObjectModel", "PriorityQueue", "Queue", "Set", "Stack", "members",
    "offset_told", "whole_number",
]  # fmt: skip
