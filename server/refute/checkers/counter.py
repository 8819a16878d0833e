"""Counter: each read lies between the least and the most that the adds could have made of it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Hashable
from itertools import accumulate

from refute.checkers.judgement import Judgement
from refute.checkers.kinds import effect_end, ended, is_number
from refute.checkers.observation import observations
from refute.checkers.result import Budget, Result
from refute.history import History, Operation, Outcome, hashable

ADDING = frozenset({"add", "increment", "incr"})
READING = frozenset({"read", "get", "read-all"})


class _Sums:
    """Sums of amounts up to a time, by bisection."""

    def __init__(self, pairs: list[tuple[int, float]]) -> None:
        pairs.sort(key=lambda pair: pair[0])
        self._times = [time for time, _ in pairs]
        self._sums = [0.0, *accumulate(amount for _, amount in pairs)]

    def before(self, time_ns: int) -> float:
        """The sum of everything strictly before a time."""
        return self._sums[bisect_left(self._times, time_ns)]

    def until(self, time_ns: int) -> float:
        """The sum of everything up to and including a time."""
        return self._sums[bisect_right(self._times, time_ns)]


def check(history: History, *, budget: Budget, initial: float = 0) -> Result:
    """Whether every read of a counter is within bounds, as Jepsen's counter checker has them.

    At least: `initial`, the increments acknowledged before the read began, and the decrements that
    may have begun before it ended. At most: the increments that may have begun before it ended, and
    the decrements acknowledged before it began. An add of unknown outcome may have happened at any
    time after it was asked for, or never. Attempts with one `extra.idempotency_key` count once.
    Anomalies: `too-low`, `too-high`. O(n log n). The bounds are necessary, not sufficient: the
    linearizable counter is stricter.
    """
    judgement = Judgement("counter", "bounds of each read by bisection over prefix sums")
    adds: dict[Hashable, list[Operation]] = defaultdict(list)
    reads: list[tuple[Operation, Hashable, float]] = []
    used: list[Operation] = []
    for operation in history.operations:
        if operation.kind in ADDING:
            used.append(operation)
            adds[hashable(operation.key)].append(operation)
        elif operation.kind in READING and operation.outcome is Outcome.OK:
            used.append(operation)
            for seen in observations(operation):
                if seen.value is None or is_number(seen.value):
                    value = initial if seen.value is None else seen.value
                    reads.append((operation, hashable(seen.key), value))
                else:
                    judgement.cannot("a read returned no number")
    if history.clock == "wall":
        judgement.cannot("wall clocks do not say which adds came before a read")
        return judgement.result(used, nothing="no order in time", keys=len(adds))
    bounds = {}
    for key, operations in adds.items():
        if not all(o.input is None or is_number(o.input) for o in operations):
            judgement.cannot("the amount of an add is no number")
            continue
        bounds[key] = _bounds(operations)
    for read, key, value in reads:
        if key not in bounds:
            if key not in adds and value != initial:
                judgement.judged += 1
                name = "too-high" if value > initial else "too-low"
                judgement.found(name, f"nobody added, and a read returned {value:g}", (read,))
            continue
        judgement.judged += 1
        up_sure, up_maybe, down_sure, down_maybe = bounds[key]
        end = ended(read)
        least = initial + up_sure.before(read.invoked_ns) + down_maybe.until(end)
        most = initial + up_maybe.until(end) + down_sure.before(read.invoked_ns)
        slack = _rounding(value, least, most)
        if value < least - slack:
            sure = [o for o in adds[key] if effect_end(o) < read.invoked_ns]
            maybe = [o for o in adds[key] if (o.input or 1) < 0 and o.outcome is not Outcome.FAIL]
            proof = {o.index: o for o in (*sure, *maybe, read)}
            sentence = f"a read returned {value:g}; what was acknowledged before makes it at least {least:g}"
            judgement.found("too-low", sentence, proof.values(), key=key)
        elif value > most + slack:
            sentence = f"a read returned {value:g}; all that was asked for before makes it at most {most:g}"
            asked = [o for o in adds[key] if o.invoked_ns <= end and o.outcome is not Outcome.FAIL]
            judgement.found("too-high", sentence, (*asked, read), key=key)
    return judgement.result(used, nothing="no counter was read", keys=len(adds))


def _rounding(*values: float) -> float:
    """How far sums of fractions may be off; whole numbers are exact."""
    if all(isinstance(value, int) for value in values):
        return 0
    return 1e-9 * max(1.0, *map(abs, values))


def _bounds(operations: list[Operation]) -> tuple[_Sums, _Sums, _Sums, _Sums]:
    """Increments that surely and that possibly happened, decrements likewise, by time."""
    requests: dict[Hashable, list[Operation]] = defaultdict(list)
    for operation in operations:
        if operation.outcome is not Outcome.FAIL:
            name = operation.extra.get("idempotency_key", ("operation", operation.index))
            requests[hashable(name)].append(operation)
    up_sure: list[tuple[int, float]] = []
    up_maybe: list[tuple[int, float]] = []
    down_sure: list[tuple[int, float]] = []
    down_maybe: list[tuple[int, float]] = []
    for attempts in requests.values():
        amount = 1 if attempts[0].input is None else attempts[0].input
        sure = min(map(effect_end, attempts))
        maybe = min(attempt.invoked_ns for attempt in attempts)
        (up_sure if amount > 0 else down_sure).append((sure, amount))
        (up_maybe if amount > 0 else down_maybe).append((maybe, amount))
    return _Sums(up_sure), _Sums(up_maybe), _Sums(down_sure), _Sums(down_maybe)
