"""Locks, leases with fencing tokens, and small transactions over several keys as sequential objects."""

from __future__ import annotations

from typing import Any

from refute.checkers.catalog import CheckerError
from refute.checkers.linearizable.containers import ObjectModel
from refute.checkers.linearizable.model import Call, Model, State, named
from refute.history import Operation, Outcome, hashable


class Lock(ObjectModel):
    """A lock: `acquire` and `release`; only the process that holds it may release it.

    An acquire that answers false found it held. An acquire of which nobody saw the answer may hold
    the lock for good, at any later time.
    """

    name = "lock"
    by_process = True
    kinds = named(
        {
            "acquire": "acquire lock",
            "release": "release unlock",
        }
    )

    def init(self) -> State:
        """Nobody holds it."""
        return None

    def reads(self, call: Call) -> bool:
        """An acquire that was refused."""
        return call.kind == "acquire" and call.known and call.output == ("bool", False)

    def step(self, state: State, call: Call) -> tuple[bool, State]:
        """The state is who holds it."""
        holder = ("held", call.process)
        if self.reads(call):
            return state is not None, state
        if call.kind == "acquire":
            return state is None, holder
        return state == holder, None


class Lease(ObjectModel):
    """A lease with fencing tokens: `acquire` answers a token, `write` is made under one.

    A lease may run out at any time, so it may be acquired while another holds it; but every token
    is greater than all before it, and the resource accepts a write only if it has not accepted one
    under a greater token. The token of a write is `extra.token`, or its input where that is a number.
    """

    name = "lease"
    kinds = named(
        {
            "acquire": "acquire grant renew",
            "use": "write use put",
            "release": "release expire",
        }
    )

    def init(self) -> State:
        """The greatest token granted, and the greatest used."""
        return (None, None)

    def call(self, operation: Operation) -> Call | None:
        """The call with its token; None where nobody knows it."""
        kind = self.kinds[operation.kind]
        known = operation.outcome is Outcome.OK
        if kind == "release" or (kind == "acquire" and not known):
            return None  # a token that nobody saw bars no other: the next one is greater anyway
        token = operation.output if kind == "acquire" else operation.extra.get("token", operation.input)
        if type(token) is not int:
            raise CheckerError(
                f"operation {operation.index}: a lease needs a token that is a number, not {token!r}",
                hint="give it as the output of acquire, and as extra.token of a write",
            )
        return Call(kind, token, hashable(operation.output) if known else None, known)

    def reads(self, call: Call) -> bool:
        """A write that was refused."""
        return call.kind == "use" and call.known and call.output == ("bool", False)

    def step(self, state: State, call: Call) -> tuple[bool, State]:
        """Tokens grow, and what was refused was refused for a reason."""
        assert isinstance(state, tuple)
        granted, used = state
        token = call.input
        if call.kind == "acquire":
            return granted is None or token > granted, (token, used)
        stale = used is not None and token < used
        if self.reads(call):
            return stale, state
        return not stale and granted is not None and token <= granted, (granted, token)


class Transactions(Model):
    """Registers that are read and written several at a time, each transaction in one step.

    `input` lists `["r", key, null]`, `["w", key, value]`, `["append", key, value]`; `output` is the
    same with the reads filled in. All keys are one object, so where values repeat this is for small
    histories.
    """

    name = "transactions"
    by_key = False
    kinds = named({"txn": "txn transaction"})

    def init(self) -> State:
        """No key has a value."""
        return frozenset()

    def call(self, operation: Operation) -> Call | None:
        """The call; None for one without an answer that only reads."""
        known = operation.outcome is Outcome.OK
        micros = operation.output if known and operation.output is not None else operation.input
        if not isinstance(micros, (list, tuple)) or not all(map(_is_micro, micros)):
            raise CheckerError(
                f"operation {operation.index}: a transaction is a list of [r|w|append, key, value]",
                hint="see the page on histories",
            )
        if known and not _answers(micros, operation.input, told=operation.output is not None):
            raise CheckerError(
                f"operation {operation.index}: the output of a transaction that succeeded is its whole "
                "input with the reads filled in",
                hint="what it read or wrote is not told otherwise; see the page on histories",
            )
        call = Call("txn", tuple((m[0], hashable(m[1]), hashable(m[2])) for m in micros), None, known)
        return None if not known and self.reads(call) else call

    def reads(self, call: Call) -> bool:
        """Whether it only reads."""
        return all(micro[0] == "r" for micro in call.input)

    def step(self, state: State, call: Call) -> tuple[bool, State]:
        """One micro-operation after the other; a read must see what stands there."""
        assert isinstance(state, frozenset)
        values: dict[Any, Any] = dict(state)
        for name, key, value in call.input:
            if name == "r":
                seen = values.get(key)
                if call.known and seen != value and not (seen is None and value == ("seq",)):
                    return False, state
            elif name == "w":
                values[key] = value
            else:
                values[key] = (*values.get(key, ("seq",)), value)
        return True, frozenset((key, value) for key, value in values.items() if value is not None)


def _answers(given: Any, asked: Any, *, told: bool) -> bool:
    """Whether what a transaction answered says what it read and wrote: one that is not told only wrote."""
    if not told:
        return all(micro[0] != "r" for micro in given)
    if asked is None:
        return True
    if not isinstance(asked, (list, tuple)) or len(asked) != len(given) or not all(map(_is_micro, asked)):
        return False
    return all(
        (name, hashable(key)) == (wanted, hashable(of))
        and (name == "r" or hashable(value) == hashable(written))
        for (name, key, value), (wanted, of, written) in zip(given, asked, strict=True)
    )


def _is_micro(micro: Any) -> bool:
    return isinstance(micro, (list, tuple)) and len(micro) == 3 and micro[0] in ("r", "w", "append")
