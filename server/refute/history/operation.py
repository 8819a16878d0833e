"""What a client asked for and what it learned: one operation of a history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Outcome(StrEnum):
    """What the client knows about the effect of an operation.

    `OK`: it happened. `FAIL`: it did not and never will. `INFO`: nobody knows; it may take
    effect at any time after its invocation, also long after the client gave up, or never.
    """

    OK = "ok"
    FAIL = "fail"
    INFO = "info"


class Phase(StrEnum):
    """The part of a run in which an operation was invoked.

    `BASELINE` precedes every fault, `MAIN` is the workload or the steps, `FINAL` holds the reads
    that are made after heal and quiescence and that durability is judged by.
    """

    BASELINE = "baseline"
    MAIN = "main"
    FINAL = "final"


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation, from invocation to completion.

    `key` is None for a single object. `input` is what was asked (`5` for a write, `[1, 2]` for
    compare-and-set from 1 to 2, a list of micro-operations `["r", key, null]` or
    `["append", key, value]` for a transaction); `output` is what came back (the value of a read,
    the micro-operations with their reads filled in). `process` is one logical thread of control:
    it never has two operations in flight. Times are nanoseconds of one monotonic clock;
    `completed_ns` is None where no completion was recorded. For `INFO` a completion time says only
    when the client gave up. `epoch` counts the changes of the set of active faults at invocation.
    `extra` has the further fields that a checker may need (`tenant`, `surface`, `group`,
    `idempotency_key`, `token`, `offset`, ...).
    """

    index: int
    process: int | str
    kind: str
    key: Any
    input: Any
    output: Any
    outcome: Outcome
    invoked_ns: int
    completed_ns: int | None
    error: str | None = None
    node: str | None = None
    epoch: int = 0
    phase: Phase = Phase.MAIN
    extra: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
