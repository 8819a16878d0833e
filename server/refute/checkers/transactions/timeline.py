"""The transactions of a history by number, their outcomes, and their order in sessions and in real time."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from refute.checkers.transactions.graph import PROCESS, Column, DependencyBuilder
from refute.history import Operation, Outcome

OK, INFO, FAIL = range(3)
CODES = {Outcome.OK: OK, Outcome.INFO: INFO, Outcome.FAIL: FAIL}


@dataclass(slots=True)
class Timeline:
    """Transactions are numbered in the order in which they are added, which is that of invocation.

    `session_source[i]` comes before `session_target[i]` in one process.
    """

    operations: list[Operation] = field(default_factory=list)
    outcome: bytearray = field(default_factory=bytearray)
    session_source: array[int] = field(default_factory=lambda: array("i"))
    session_target: array[int] = field(default_factory=lambda: array("i"))
    overlapping: int = 0
    _last: dict[Any, int] = field(default_factory=dict)
    _ended_ns: dict[Any, int] = field(default_factory=dict)

    def add(self, operation: Operation, code: int) -> int:
        """Adds a transaction and gives its number.

        Session order leads from a committed transaction to the next that may have happened. An
        unknown one may take effect after what follows it, so nothing leads out of it.
        """
        number = len(self.operations)
        self.operations.append(operation)
        self.outcome.append(code)
        if code == FAIL:
            return number
        process = operation.process
        if self._ended_ns.get(process, -1) > operation.invoked_ns:
            self.overlapping += 1
        elif process in self._last:
            self.session_source.append(self._last[process])
            self.session_target.append(number)
        if code == OK:
            self._last[process] = number
            if operation.completed_ns is not None:
                self._ended_ns[process] = operation.completed_ns
        return number

    def outcomes(self) -> Column:
        """The outcomes as a column."""
        return np.frombuffer(self.outcome, np.uint8) if self.outcome else np.empty(0, np.uint8)

    def order(self, builder: DependencyBuilder, happened: Column, *, real_time: bool) -> None:
        """Adds session order and, where asked for, real-time order to a graph."""
        builder.add(np.array(self.session_source, np.int32), np.array(self.session_target, np.int32), PROCESS)
        count = len(self.operations)
        if not real_time or not count:
            return
        invoked = np.fromiter((op.invoked_ns for op in self.operations), np.int64, count)
        completed = np.fromiter(
            (-1 if op.completed_ns is None else op.completed_ns for op in self.operations), np.int64, count
        )
        completed[self.outcomes() != OK] = -1
        builder.real_time(invoked, completed, happened)

    def chains(self) -> list[int]:
        """By transaction the number of its chain: committed ones of a process, each ordered before the next.

        A process whose transactions overlap makes several chains; an unknown one is a chain alone.
        """
        chain = list(range(len(self.operations)))
        for source, target in zip(self.session_source, self.session_target, strict=True):
            if self.outcome[target] == OK:
                chain[target] = chain[source]
        return chain

    def counts(self) -> dict[str, int]:
        """How many transactions there are, by outcome."""
        return {
            "operations": len(self.operations),
            "ok": self.outcome.count(OK),
            "info": self.outcome.count(INFO),
            "fail": self.outcome.count(FAIL),
        }

    def remarks(self) -> list[str]:
        """What must be said about the processes."""
        if not self.overlapping:
            return []
        return [
            f"{self.overlapping} transactions began before the one before them in their process had ended: "
            "no session order is taken from those"
        ]


def shape_fault(operation: Operation, code: int, write: str, answer: type | tuple[type, ...]) -> str | None:
    """Why the micro-operations of a transaction cannot be read, or None.

    `write` is the function that writes (`append` or `w`); `answer` what a read may return, None apart.
    """
    asked = operation.input
    given = operation.output if code == OK and operation.output is not None else asked
    if not isinstance(given, (list, tuple)) or not isinstance(asked, (list, tuple, type(None))):
        return "the micro-operations are not a list"
    if asked is not None and len(asked) != len(given):
        return f"{len(asked)} micro-operations were asked for and {len(given)} answered"
    unanswered = code == OK and operation.output is None
    for place, micro in enumerate(given):
        if not isinstance(micro, (list, tuple)) or len(micro) != 3:
            return f"micro-operation {place} is not [function, key, value]"
        function, key, value = micro
        if function != write and function != "r":
            return f"micro-operation {place} is {function!r}, neither {write} nor r"
        if asked is not None and asked is not given:
            wanted = asked[place]
            if not isinstance(wanted, (list, tuple)) or len(wanted) != 3:
                return f"micro-operation {place} is not [function, key, value]"
            if wanted[0] != function or wanted[1] != key or (function == write and wanted[2] != value):
                return f"micro-operation {place} was answered with another one"
        if function == "r" and code == OK:
            if unanswered:
                return f"micro-operation {place} is a read without an answer"
            if value is not None and not isinstance(value, answer):
                return f"micro-operation {place} read {str(value)[:40]}, which is of the wrong shape"
    return None
