"""What was written to a live system, read as an operation, a condition or a fault; pure functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from refute.plan.fault_catalog import written_in_full
from refute.plan.step import FAULT_VERBS, Await, FaultAction, OperationStep
from refute.plan.step_notation import read_fault, read_step
from refute.run.live_record import LiveInputError

_Read = TypeVar("_Read")


def read_operation(written: Mapping[str, Any], kinds: frozenset[str]) -> OperationStep:
    """A step that sends operations, of the `kinds` that the clients know; of any kind where none is given.

    Raises LiveInputError.
    """
    step = _valid(lambda: read_step(dict(written), kinds))
    if not isinstance(step, OperationStep):
        raise LiveInputError(
            f"{next(iter(written))!r} is no operation",
            hint="faults: inject_fault; healing: heal_faults; await and run: actions of manage_system",
        )
    return step


def read_condition(written: Mapping[str, Any]) -> Await:
    """What is to be waited for. Raises LiveInputError."""
    return _valid(lambda: Await.model_validate(dict(written)))


def read_single_fault(written: Mapping[str, Any], ttl_s: float) -> FaultAction:
    """One fault, which lasts `ttl_s` seconds where no `for` is written. Raises LiveInputError."""
    _refuse_bare_kinds(written)
    action = _valid(lambda: read_fault(dict(written)))
    if action.repeat != 1 or action.every_s is not None:
        raise LiveInputError("one fault at a time: repeat and every belong into a plan's schedule")
    return action if action.for_s is not None else action.model_copy(update={"for_s": ttl_s})


def _refuse_bare_kinds(written: Mapping[str, Any]) -> None:
    for word in written if not written.keys() & FAULT_VERBS.keys() else ():
        if whole := written_in_full(word):
            raise LiveInputError(
                f"{word!r} is no verb but a kind of fault", hint=f"write it in full: {whole}"
            )


def _valid(read: Callable[[], _Read]) -> _Read:
    try:
        return read()
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise LiveInputError(f"{place}: {first['msg']}" if place else first["msg"]) from None
    except (ValueError, TypeError) as error:
        raise LiveInputError(str(error)) from None
