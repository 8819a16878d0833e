"""Says what a forbidden pattern of a queue means."""

from __future__ import annotations

from refute.checkers.linearizable.explain import gap, shown, what
from refute.checkers.linearizable.fifo import Forbidden
from refute.checkers.result import Anomaly
from refute.history import History, Operation


def fifo_anomaly(history: History, found: Forbidden, failed: list[Operation]) -> Anomaly:
    """The anomaly of a pattern; `failed` are puts of the value that were reported as failed."""
    involved = [history.operations[timed.row] for timed in found.calls]
    operations = tuple(sorted(involved, key=lambda operation: operation.index))
    if found.pattern == "unput":
        (take,) = involved
        if failed:
            sentence = f"{what(take)}, which only a put that was reported as failed had put"
            return Anomaly("aborted read", sentence, (failed[0], take), {"pattern": "G1a"})
        return Anomaly("garbage read", f"{what(take)}, which nobody had put", operations)
    if found.pattern == "twice":
        return Anomaly(
            "duplicate", f"{shown(involved[0].output)} was taken twice, and was put once", operations
        )
    if found.pattern == "early":
        put, take = involved
        when = gap(history, take.completed_ns, put.invoked_ns)
        return Anomaly("future read", f"{what(take)} {when} anybody began to put it", operations)
    if found.pattern == "empty":
        sentence = f"{what(involved[-1])} although there was always a value inside while it ran"
        return Anomaly("false empty", sentence, operations)
    put, later = involved[:2]
    order = f"{shown(put.input)} was put before {shown(later.input)}"
    if len(involved) == 4 and involved[3].output == put.input:
        sentence = f"{order}, yet {shown(later.input)} was taken before it"
        return Anomaly("reordered", sentence, operations)
    sentence = f"{order}, yet {shown(later.input)} was taken and {shown(put.input)} never was"
    if len(involved) > 3:
        sentence += ", and too few takes are unknown to account for all such values"
    return Anomaly("lost or reordered", sentence, operations)
