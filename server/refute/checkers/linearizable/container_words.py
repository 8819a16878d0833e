"""Says what is wrong with the values that went through a queue, a stack or a priority queue."""

from __future__ import annotations

from refute.checkers.linearizable.explain import gap, shown, what
from refute.checkers.linearizable.passages import Forbidden, Paired
from refute.checkers.result import Anomaly
from refute.history import History, Operation, recorded


def container_anomaly(history: History, found: Forbidden, failed: list[Operation]) -> Anomaly:
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


def crowded_anomaly(history: History, model: str, proof: Paired) -> Anomaly:
    """The anomaly of a few values of a stack or a priority queue that no order allows together.

    The values of a priority queue go from the smallest to the greatest.
    """
    calls = [call for pair in proof.values for call in pair if call is not None]
    calls += [*proof.empties, *proof.lost]
    operations = tuple(sorted((history.operations[call.row] for call in calls), key=lambda one: one.index))
    if len(proof.empties) == 1 and not proof.lost:
        empty = what(history.operations[proof.empties[0].row])
        sentence = f"{empty} although there was always a value inside while it ran"
        return Anomaly("false empty", sentence, operations)
    missing = any(take is None for _, take in proof.values)
    name = "lost or reordered" if missing else "reordered"
    if len(proof.values) == 2 and not proof.lost:
        return Anomaly(name, _pair_sentence(model, proof), operations)
    sentence = f"no order of these {len(operations)} operations explains their answers and keeps real time"
    if proof.lost:
        sentence += "; too few takes are unknown to account for all values that are missing"
    return Anomaly(name, sentence, operations)


def _pair_sentence(model: str, proof: Paired) -> str:
    """Of two values one was taken while the other, which had to go first, was surely inside."""
    small, great = (shown(recorded(put.call.input)) for put, _ in proof.values)
    if model == "priority-queue":
        return f"{great} was taken although {small}, which is smaller, was inside"
    by_start = sorted(proof.values, key=lambda pair: pair[0].start)
    below, above = (shown(recorded(put.call.input)) for put, _ in by_start)
    return f"{above} was put after {below} and was still there when {below} was taken"
