"""Says what is wrong with a set that is read whole."""

from __future__ import annotations

from collections.abc import Sequence

from refute.checkers.linearizable.containers import members
from refute.checkers.linearizable.explain import shown, what
from refute.checkers.linearizable.search import Timed
from refute.checkers.linearizable.whole_reads import Grown
from refute.checkers.result import Anomaly
from refute.history import History, Operation, Outcome, hashable

_MOST_ADDS = 60  # more are read by nobody


def grown_anomaly(history: History, found: Grown, calls: Sequence[Timed]) -> Anomaly:
    """The anomaly, with the adds of all that its reads show, where those are few."""
    involved = [history.operations[call.row] for call in found.calls]
    if found.pattern == "garbage":
        read = involved[-1]
        value = shown(_plain(read, found))
        failed = _failed_add(history, read, found)
        if failed is not None:
            words = f"{_named(read)} shows {value}, which only an add that was reported as failed had added"
            return Anomaly("aborted read", words, (failed, read), {"pattern": "G1a"})
        return Anomaly("garbage read", f"{_named(read)} shows {value}, which nobody had added", (read,))
    adds = {call.call.input: call.row for call in calls if call.call.kind == "add"}
    rows = {call.row for call in found.calls}
    needed = {
        adds[value]
        for call in found.calls
        for value in (members(call.call.output) if call.call.kind == "read" else [call.call.input])
        if value in adds
    }
    left_out = len(needed - rows) if len(needed | rows) > _MOST_ADDS else 0
    rows |= set() if left_out else needed
    operations = tuple(history.operations[row] for row in sorted(rows))
    if found.pattern == "repeated":
        sentence = f"{_named(involved[-1])} shows {shown(involved[0].input)} twice, which was added once"
        name = "duplicate"
    else:
        ring = ", then ".join(map(_named, involved))
        sentence = f"{ring}: each must come before the next, and the last before the first"
        name = "not linearizable"
    if left_out:
        sentence += f" ({left_out} adds of what the reads show as well are left out here)"
    return Anomaly(name, sentence, operations)


def _named(operation: Operation) -> str:
    """The operation, without the whole of what it read."""
    if isinstance(operation.output, (list, tuple)):
        return f"{operation.kind} of {len(operation.output)} values by process {operation.process}"
    return what(operation)


def _plain(read: Operation, found: Grown) -> object:
    """The value as the history has it."""
    listed = read.output if isinstance(read.output, (list, tuple)) else [read.input]
    return next((value for value in listed if hashable(value) == found.value), found.value)


def _failed_add(history: History, read: Operation, found: Grown) -> Operation | None:
    """A failed add of that value to the same set."""
    for operation in history.operations:
        failed = operation.outcome is Outcome.FAIL and operation.key == read.key
        if failed and hashable(operation.input) == found.value and operation.kind != read.kind:
            return operation
    return None
