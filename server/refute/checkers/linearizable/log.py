"""The log as a sequential object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from refute.checkers.linearizable.containers import ObjectModel, listed, members, refused
from refute.checkers.linearizable.model import Call, Model, State, named
from refute.history import Operation


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

    def call(self, operation: Operation) -> Call | None:
        """The call; None for a read without an answer.

        Raises CheckerError for an offset that is none: an append's would pass for no answer.
        """
        call = super().call(operation)
        if call is None:
            return None
        if call.kind == "append":
            if call.known and _misses_its_number(operation.output):
                raise refused(operation, f"was told an offset that is no whole number: {operation.output!r}")
            return call
        if reads_all(call):
            return listed(operation, call)
        if type(operation.input) is not int:
            raise refused(operation, f"of a log needs an offset, not {operation.input!r}")
        return call

    def init(self) -> State:
        """Empty."""
        return ()

    def step(self, state: State, call: Call) -> tuple[bool, State]:
        """Offsets and contents must be what the log holds."""
        assert isinstance(state, tuple)
        if call.kind == "append":
            return offset_told(call) in (None, len(state)), (*state, call.input)
        if reads_all(call):
            return state == members(call.output), state
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


def reads_all(call: Call) -> bool:
    """Whether the call lists the whole log: a `read` without an offset does, too."""
    return call.kind == "read-all" or (call.kind == "read" and call.input is None)


def offset_told(call: Call) -> int | None:
    """The offset that an append was told, if any."""
    return call.output if call.known and type(call.output) is int else None


def _misses_its_number(output: Any) -> bool:
    """Whether an answer is meant for an offset, and is none: a fraction, `5.0`, a number in a text."""
    return isinstance(output, float) or (isinstance(output, str) and output.strip("+- ").isdecimal())


def _told(call: Call) -> Iterator[tuple[int, Any]]:
    """What the answer of a call on a log says of offsets."""
    if not call.known:
        return
    if call.kind == "append":
        if (offset := offset_told(call)) is not None:
            yield offset, call.input
    elif reads_all(call):
        yield from enumerate(members(call.output))
    elif call.output is not None:
        yield call.input, call.output
