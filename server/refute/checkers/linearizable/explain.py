"""Turns a register's history that cannot be ordered into a few operations and a sentence."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from refute.checkers.linearizable.counter_bounds import OutOfBounds
from refute.checkers.linearizable.model import Model
from refute.checkers.linearizable.search import NEVER, Finding, Timed, search, until
from refute.checkers.linearizable.sources import Sources, Unexplained, looks, observed, produced
from refute.checkers.minimal import SHRINK, minimise
from refute.checkers.result import Anomaly
from refute.checkers.spending import BudgetSpentError, Meter
from refute.history import History, Operation, Outcome

_MOST_SHRUNK = 8_000
"""Calls; of more, one search alone takes the time that there is."""


def shown(value: Any) -> str:
    """A value as a person would write it."""
    if value is None:
        return "nil"
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def gap(history: History, before: int | None, after: int) -> str:
    """How long before: '12 ms before' where there is a clock, 'before' where there is none."""
    if history.clock != "monotonic" or before is None:
        return "before"
    length = after - before
    for unit, size in (("s", 10**9), ("ms", 10**6), ("µs", 10**3)):
        if length >= size:
            return f"{length / size:.3g} {unit} before"
    return f"{length} ns before"


def what(operation: Operation) -> str:
    """The operation in words: 'read of x returned 3', 'write of 3 to x'."""
    of = "" if operation.key is None else f" of {shown(operation.key)}"
    to = "" if operation.key is None else f" to {shown(operation.key)}"
    kind = operation.kind
    if operation.outcome is Outcome.OK and operation.input is None:
        return f"{kind}{of} returned {shown(operation.output)}"
    return f"{kind} {shown(operation.input)}{to}"


def unexplained_anomaly(history: History, found: Unexplained, failed: Sequence[Operation]) -> Anomaly:
    """The anomaly of an answer that no write explains; `failed` are writes of that value that failed."""
    operations = [history.operations[timed.row] for timed in found.calls]
    last = operations[-1]
    saw = what(last) if last.input is None else f"{what(last)} succeeded"
    if found.pattern == "garbage":
        if failed:
            return Anomaly(
                "aborted read",
                f"{saw}, which only a write that was reported as failed had written: "
                "an aborted read, or an error that was wrongly called a failure",
                (failed[0], last),
                {"pattern": "G1a"},
            )
        return Anomaly("garbage read", f"{saw}, which nobody had written", (last,))
    if found.pattern == "future":
        return Anomaly(
            "future read",
            f"{saw} {gap(history, last.completed_ns, operations[0].invoked_ns)} anybody began to write it",
            tuple(sorted(operations, key=lambda op: op.index)),
        )
    cover = operations[-2]
    first = "" if len(operations) == 3 else ", the initial value,"
    return Anomaly(
        "stale read" if last.input is None else "lost update",
        f"{saw}{first} although {_written(cover)} was acknowledged "
        f"{gap(history, cover.completed_ns, last.invoked_ns)} it began",
        tuple(sorted(operations, key=lambda op: op.index)),
    )


def _written(operation: Operation) -> str:
    if isinstance(operation.input, (list, tuple)) and operation.kind not in ("write", "put", "w", "set"):
        return shown(operation.input[-1])
    return shown(operation.input)


def smallest(model: Model, calls: Sequence[Timed], proof: Sequence[Timed], initial: Any) -> list[Timed]:
    """The fewest calls of a register that still cannot be ordered, found from `proof` outwards.

    Every subset that is tried keeps the possible sources of the observations in it, so that it
    proves the whole. Where `proof` with its sources turns out not to be enough, all calls are tried.
    """
    sources = Sources(calls, initial)

    def closed(some: Sequence[Timed]) -> list[Timed]:
        kept = {timed.row: timed for timed in some}
        todo = list(some)
        while todo:
            timed = todo.pop()
            if looks(timed):
                for source in sources.of(timed):
                    if source.row not in kept:
                        kept[source.row] = source
                        todo.append(source)
        return sorted(kept.values(), key=lambda timed: timed.row)

    return _shrink(model, (proof, calls), closed)


def _shrink(
    model: Model,
    attempts: Sequence[Sequence[Timed]],
    closed: Callable[[Sequence[Timed]], list[Timed]],
) -> list[Timed]:
    meter = Meter(SHRINK)

    def fails(some: Sequence[Timed]) -> bool:
        try:
            return not search(model, closed(some), meter).valid
        except BudgetSpentError:
            return False

    for attempt in attempts:
        whole = closed(attempt)
        if len(whole) <= _MOST_SHRUNK and fails(whole):
            best = closed(minimise(whole, fails, meter.left))
            return closed(minimise(best, fails, meter.left)) if len(best) < len(whole) else best
    return list(attempts[0])


def smallest_of(model: Model, calls: Sequence[Timed]) -> list[Timed]:
    """Few calls of any object that still cannot be ordered: without those that can be left out soundly."""
    loose: dict[Any, list[Timed]] = {}
    fixed: list[Timed] = []
    for timed in calls:
        group = ("read", timed.row) if model.reads(timed.call) else model.group(timed.call)
        fixed.append(timed) if group is None else loose.setdefault(group, []).append(timed)

    def closed(groups: Sequence[list[Timed]]) -> list[Timed]:
        return sorted([*fixed, *(timed for group in groups for timed in group)], key=lambda timed: timed.row)

    meter = Meter(SHRINK)

    def fails(groups: Sequence[list[Timed]]) -> bool:
        try:
            return not search(model, closed(groups), meter).valid
        except BudgetSpentError:
            return False

    groups = list(loose.values())
    if not groups or len(calls) > _MOST_SHRUNK or not fails(groups):
        return list(calls)
    return closed(minimise(groups, fails, meter.left))


def cut(calls: Sequence[Timed], model: Model, finding: Finding) -> tuple[list[Timed], list[Timed]]:
    """Calls up to the return that nothing got past, and of those the ones of the window that proves it.

    Calls that were still pending then have not happened for certain: unknown from here on.
    """
    required = finding.required
    stuck = required[min(finding.stuck, len(required) - 1)]
    before = until(calls, model, stuck)
    since = required[finding.window].end if required else 0
    window = [timed for timed in before if timed.end >= since and timed.end != NEVER]
    return before, window or before


def object_anomaly(history: History, few: Sequence[Timed], stuck: Timed) -> Anomaly:
    """The anomaly of an object that is no register: `stuck` is the answer that cannot be placed."""
    operations = tuple(history.operations[timed.row] for timed in sorted(few, key=lambda timed: timed.row))
    last = what(history.operations[stuck.row])
    return Anomaly(
        "not linearizable",
        f"{last}, and no order of these {len(operations)} operations that keeps real time allows it",
        operations,
    )


def bounds_anomaly(history: History, found: OutOfBounds) -> Anomaly:
    """The anomaly of a counter's answer that its changes do not allow."""
    rows = sorted({found.call.row, *(change.row for change in found.changes)})
    last = what(history.operations[found.call.row])
    held = f"{found.least}" if found.least == found.most else f"between {found.least} and {found.most}"
    sentence = f"{last}, although what had been added makes it {held} at that time"
    return Anomaly("not linearizable", sentence, tuple(history.operations[row] for row in rows))


def unordered_anomaly(history: History, few: Sequence[Timed]) -> Anomaly:
    """The anomaly of a few operations that name what they saw, and have no order in real time."""
    operations = tuple(history.operations[timed.row] for timed in sorted(few, key=lambda timed: timed.row))
    count = f"these {len(few)} operations" if len(few) > 1 else "this operation"
    sentence = f"no order of {count} explains what was read and keeps real time"
    return Anomaly("not linearizable", sentence, operations)


def order_anomaly(history: History, few: Sequence[Timed]) -> Anomaly:
    """The anomaly of a few operations of which no order explains the answers."""
    operations = tuple(history.operations[timed.row] for timed in sorted(few, key=lambda timed: timed.row))
    stale = _came_back(history, few) or _went_back(history, few)
    if stale is not None:
        return Anomaly("stale read", stale, operations)
    winners = [timed for timed in few if timed.call.kind == "cas" and observed(timed) is not None]
    expected = [observed(timed) for timed in winners]
    twice = [timed for timed in winners if expected.count(observed(timed)) > 1]
    if len(twice) > 1:
        value = shown(history.operations[twice[0].row].input[0])
        writers = sum(1 for timed in few if produced(timed) == observed(twice[0]))
        return Anomaly(
            "lost update",
            f"{len(twice)} compare-and-sets from {value} succeeded, although {value} was "
            f"{'the initial value' if not writers else f'written {writers} time' + 's' * (writers > 1)} only",
            operations,
        )
    return Anomaly(
        "not linearizable",
        f"no order of these {len(operations)} operations explains their answers and keeps real time"
        if len(operations) > 1
        else f"{what(operations[0])}, which no state allows that the object can have had",
        operations,
    )


def _came_back(history: History, few: Sequence[Timed]) -> str | None:
    """Says so where a value was seen, was overwritten, and was seen again."""
    for later in few:
        value = observed(later)
        if value is None:
            continue
        for cover in few:
            if produced(cover) in (None, value) or cover.end >= later.start:
                continue
            if any(observed(one) == value and one.end < cover.start for one in few):
                over, last = history.operations[cover.row], history.operations[later.row]
                return (
                    f"{what(last)} although {_written(over)}, which replaced it, was acknowledged "
                    f"{gap(history, over.completed_ns, last.invoked_ns)} it began"
                )
    return None


def _went_back(history: History, few: Sequence[Timed]) -> str | None:
    """Says so where one read saw a value and a later read an older one."""
    reads = sorted((timed for timed in few if timed.call.kind == "read"), key=lambda timed: timed.start)
    for position, later in enumerate(reads):
        for earlier in reads[:position]:
            if earlier.end < later.start and observed(earlier) != observed(later):
                first, last = history.operations[earlier.row], history.operations[later.row]
                ended = gap(history, first.completed_ns, last.invoked_ns)
                return (
                    f"{what(last)} although a read that ended {ended} it began had returned "
                    f"{shown(first.output)}, and no order of the writes allows both"
                )
    return None
