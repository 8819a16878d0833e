"""Service levels against their definitions: exact distributions of every resample, windows by looking."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from math import comb, inf
from typing import Any

from refute.checkers import run_check
from refute.history import FaultEvent, FaultPhase, History, Operation, Outcome, Phase

from .nightly import many
from .scribe import Scribe

MS = 1_000_000
TAIL = 0.025
SLACK = 0.02
"""What a bound drawn 2000 times may be off, in probability: more than five standard deviations."""

Distribution = Mapping[float, float]
"""The probability of each value."""


def latency_ms(o: Operation) -> float:
    if o.outcome is Outcome.INFO or o.completed_ns is None:
        return inf
    return (o.completed_ns - o.extra.get("scheduled_ns", o.invoked_ns)) / 1e6


def binomial(size: int, share: float) -> list[float]:
    return [comb(size, k) * share**k * (1 - share) ** (size - k) for k in range(size + 1)]


def percentiles(values: list[float], percentile: float) -> Distribution:
    """Of n draws the k-th smallest is at most the j-th value where k draws or more are among the first j."""
    size = len(values)
    rank = next(k for k in range(1, size + 1) if k >= percentile * size / 100)
    at_most = [0.0, *(sum(binomial(size, j / size)[rank:]) for j in range(1, size + 1))]
    found: Counter[float] = Counter()
    for j, value in enumerate(sorted(values)):
        found[value] += at_most[j + 1] - at_most[j]
    return found


def error_rates(bad: int, size: int) -> Distribution:
    if bad == 0:  # a rate with which none of so many is bad in one run of forty
        return {0.0: 1 - TAIL, 1 - TAIL ** (1 / size): TAIL}
    if bad == size:
        return {1.0: 1 - TAIL, TAIL ** (1 / size): TAIL}
    return {k / size: chance for k, chance in enumerate(binomial(size, bad / size))}


def throughputs(used: list[Operation]) -> Distribution:
    start = min(o.invoked_ns for o in used)
    end = max(o.completed_ns or o.invoked_ns for o in used)
    bucket = min(1_000 * MS, max(1, (end - start) // 10))
    count = max(1, (end - start) // bucket)
    answered = [o.completed_ns for o in used if o.outcome is Outcome.OK and o.completed_ns is not None]
    each = Counter(min(count - 1, (t - start) // bucket) for t in answered)
    sums: Mapping[int, float] = {0: 1.0}
    for _ in range(count):
        more: Counter[int] = Counter()
        for total, chance in sums.items():
            for place in range(count):
                more[total + each[place]] += chance / count
        sums = more
    return {total * 1e9 / (count * bucket): chance for total, chance in sums.items()}


def verdict(chances: Distribution, limit: float, *, upper: bool, slack: float) -> bool | str:
    """Where nearly all of the distribution is on one side of the limit; slack moves "nearly" either way."""
    right = sum(p for value, p in chances.items() if (value <= limit if upper else value >= limit))
    if 1 - right >= 1 - TAIL - slack:
        return False
    return True if right >= 1 - TAIL + slack else "unknown"


def possible(chances: Distribution, limit: float, *, upper: bool = True) -> set[bool | str]:
    return {verdict(chances, limit, upper=upper, slack=slack) for slack in (-SLACK, 0.0, SLACK)}


def recovery(history: History, allowed_ms: float) -> bool | str:
    """Every heal into a whole system is followed in time by twenty good ones in a row."""
    spans: dict[str, list[float]] = {}
    for event in history.faults:
        spans.setdefault(event.fault, []).append(event.time_ns)
    faults = [(span[0], span[1] if len(span) > 1 else inf) for span in spans.values()]
    answers: list[bool | str] = []
    for _, heal in faults:
        if heal == inf or any(start <= heal < end for start, end in faults):
            continue
        until = min([inf, *(start for start, _ in faults if start > heal)])
        after = [o for o in history.operations if heal <= o.invoked_ns < until]
        good = [o.outcome is Outcome.OK for o in after]
        begun = next((at for at in range(len(after)) if all(good[at : at + 20])), len(after))
        seen = after[begun:]
        first_ms = (seen[0].completed_ns - heal) / 1e6 if seen else None
        last_ms = (after[-1].invoked_ns - heal) / 1e6 if after else 0.0
        if (first_ms if first_ms is not None else last_ms) > allowed_ms:
            answers.append(False)
        else:
            answers.append(True if len(seen) >= 20 else "unknown")
    return False if False in answers else "unknown" if "unknown" in answers or not answers else True


def loads(rng: random.Random) -> History:
    """A service of a mood that changes, with and without intended starts, phases and faults."""
    write = Scribe()
    now = 0
    bad, slow = rng.choice([0, 0, 0.1, 0.5, 1]), rng.choice([5, 5, 20])
    for number in range(rng.choice([3, 10, 30, 60])):
        now += rng.choice([1, 1, 2, 5]) * MS
        if rng.random() < 0.04:
            bad = rng.choice([0, 0, 0.5, 1])
        outcome = rng.choice(["fail", "info"]) if rng.random() < bad else "ok"
        took = rng.choice([1, 2, slow]) * MS
        extra = {"scheduled_ns": now - rng.choice([0, 3]) * MS} if rng.random() < 0.5 else {}
        never = outcome == "info" and rng.random() < 0.5
        write(number, rng.choice("ggp"), now, None if never else now + took, outcome=outcome, **extra)
    events = []
    for name in range(rng.choice([0, 1, 1, 2])):
        start = rng.randrange(max(1, now // 2))
        times = [start, start + rng.randrange(1, max(2, now // 2))][: rng.choice([1, 2, 2, 2])]
        for phase, at in zip((FaultPhase.APPLIED, FaultPhase.HEALED), times, strict=False):
            events.append(FaultEvent(f"f{name}", phase, at, "proxy", "partition", ("n1",), 1))
    return History(write.history().operations, tuple(sorted(events, key=lambda event: event.time_ns)))


def inside(history: History, o: Operation, during: str) -> bool:
    if during in ("all", "main"):
        return during == "all" or o.phase is Phase.MAIN
    spans: dict[str, list[float]] = {}
    for event in history.faults:
        spans.setdefault(event.fault, []).append(event.time_ns)
    on = any(span[0] <= o.invoked_ns <= ([*span, inf][1]) for span in spans.values())
    return on is (during == "fault")


def fuzz(seeds: range) -> Counter[tuple[str, Any]]:
    seen: Counter[tuple[str, Any]] = Counter()
    for seed in seeds:
        rng = random.Random(seed)
        history = loads(rng)
        during = rng.choice(["all", "main", "fault", "healthy"])
        kinds = rng.choice([(), ("g",)])
        wanted = [o for o in history.operations if not kinds or o.kind in kinds]
        used = [o for o in wanted if inside(history, o, during)]
        if not used:
            continue
        percentile, limit = rng.choice([50, 90, 99]), rng.choice([1.5, 2, 4, 6])
        rate, pace = rng.choice([0.05, 0.3, 0.6]), rng.choice([100, 300, 500])
        allowed = rng.choice([1, 10, 40])
        bad = sum(o.outcome is not Outcome.OK for o in used)
        levels: Mapping[str, tuple[Any, set[bool | str]]] = {
            "percentiles": (
                {f"p{percentile}": limit},
                possible(percentiles([latency_ms(o) for o in used], percentile), limit),
            ),
            "max_error_rate": (rate, possible(error_rates(bad, len(used)), rate)),
            "min_throughput_per_s": (pace, possible(throughputs(used), pace, upper=False)),
            "max_recovery_ms": (allowed, {recovery(History(wanted, history.faults), allowed)}),
        }
        for level, (bound, truths) in levels.items():
            options = {level: bound, "during": during, "operation_kinds": kinds, "min_operations": 1}
            result = run_check("slo", history, options)
            assert result.valid in truths, (seed, level, bound, result.reason, result.details)
            seen[level, result.valid] += 1
    return seen


def test_levels_agree_with_their_definitions() -> None:
    seen = fuzz(range(3_000))
    assert len(seen) == 12
    assert min(seen.values()) > 40, seen


def test_a_rate_that_may_be_just_the_limit_is_not_called_below_it() -> None:
    assert sum(fuzz(range(36_510, 36_511)).values()) == 4


@many()
def test_levels_agree_with_their_definitions_at_length(seeds: range) -> None:
    assert min(fuzz(seeds).values()) > 60
