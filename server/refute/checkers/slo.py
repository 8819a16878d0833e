"""Service levels: percentiles, errors, throughput and recovery over a part of the run, with confidence.

Efron, "Bootstrap Methods: Another Look at the Jackknife" (1979). Latencies count from the intended
start where it is known, so that a stalled client does not hide what waited behind it (coordinated
omission: Tene, "How NOT to Measure Latency", 2013).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from refute.checkers.catalog import CheckerError
from refute.checkers.judgement import Judgement
from refute.checkers.kinds import NEVER, is_number
from refute.checkers.result import Budget, Result
from refute.checkers.windows import fault_intervals, window
from refute.history import History, Operation, Outcome

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_IN_A_ROW = 20
"""How many successes in a row are a recovery."""

Interval = tuple[float, float, float]
"""The measured value and the bounds of its confidence interval."""


def check(
    history: History,
    *,
    budget: Budget,
    percentiles: Mapping[float | str, float] | None = None,
    max_error_rate: float | None = None,
    min_throughput_per_s: float | None = None,
    max_recovery_ms: float | None = None,
    during: str = "main",
    operation_kinds: Iterable[str] = (),
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    min_operations: int = 100,
) -> Result:
    """Whether the service kept its levels, judged at the bounds of bootstrap confidence intervals.

    - `percentiles`: greatest latency in ms for each percentile, `{p99: 50}`. Latency runs from
      `extra.scheduled_ns` where operations have it, else from invocation. An operation of unknown
      outcome counts as slower than any limit: its answer never came.
    - `max_error_rate`: of failed and unknown operations among all
    - `min_throughput_per_s`: successful operations a second, resampled by seconds
    - `max_recovery_ms`: from the heal of each fault, when no other is on, to the first of twenty
      successes in a row that each meet the percentile limits; the next fault ends the wait

    `during` is `all`, `main`, `baseline`, `fault` or `healthy`. A level is broken where the whole
    interval is on the wrong side, kept where the whole of it is on the right side; in between, and
    with fewer than `min_operations`, the answer is unknown. Deterministic for a `seed`. O(n log n).
    Raises CheckerError where no level is given.
    """
    limits = {float(str(p).lstrip("p")): float(limit) for p, limit in (percentiles or {}).items()}
    if not limits and max_error_rate is None and min_throughput_per_s is None and max_recovery_ms is None:
        hint = "give percentiles, max_error_rate, min_throughput_per_s or max_recovery_ms"
        raise CheckerError("slo needs a level", hint=hint)
    for percentile in limits:
        if not 0 < percentile < 100:
            raise CheckerError(f"a percentile lies between 0 and 100, not at {percentile}")
    import numpy as np

    judgement = Judgement("slo", f"bootstrap with {resamples} resamples, confidence {confidence:g}")
    wanted = frozenset(operation_kinds)
    inside = window(history, during)
    used = [o for o in history.operations if (not wanted or o.kind in wanted) and inside(o)]
    if history.clock == "index":
        judgement.cannot("times are line numbers, so that nothing can be measured")
        return judgement.result(used, nothing="no times")
    if len(used) < min_operations:
        judgement.cannot(f"{len(used)} operations are fewer than {min_operations}")
        return judgement.result(used, nothing="too few operations to measure")
    judgement.judged = len(used)
    scheduled = sum("scheduled_ns" in o.extra for o in used)
    if scheduled < len(used):
        judgement.assumptions.append(
            f"{len(used) - scheduled} operations have no extra.scheduled_ns: what waited for a stalled "
            "client is not in their latency"
        )
    rng = np.random.default_rng(seed)
    tail = (1 - confidence) / 2
    levels: dict[str, Any] = {}
    latencies = np.sort(np.array([_latency_ms(o) for o in used]))
    for percentile, limit in limits.items():
        interval = _percentile(latencies, percentile, tail, resamples, rng)
        levels[f"p{percentile:g}_ms"] = interval
        slow = [o for o in used if _latency_ms(o) > limit]
        _hold(judgement, f"p{percentile:g} latency in ms", interval, limit, slow, upper=True)
    if max_error_rate is not None:
        bad = [o for o in used if o.outcome is not Outcome.OK]
        interval = _rate(len(bad), len(used), tail, resamples, rng)
        levels["error_rate"] = interval
        _hold(judgement, "error rate", interval, max_error_rate, bad, upper=True)
    if min_throughput_per_s is not None:
        interval = _throughput(used, tail, resamples, rng)
        levels["throughput_per_s"] = interval
        _hold(judgement, "throughput a second", interval, min_throughput_per_s, used[:10], upper=False)
    if max_recovery_ms is not None:
        levels["recovery_ms"] = _judge_recovery(judgement, history, wanted, limits, max_recovery_ms)
    return judgement.result(used, nothing="nothing was measured", details={"levels": levels})


def _latency_ms(operation: Operation) -> float:
    if operation.outcome is Outcome.INFO or operation.completed_ns is None:
        return float("inf")
    start = operation.extra.get("scheduled_ns", operation.invoked_ns)
    begun = start if is_number(start) else operation.invoked_ns
    return float(operation.completed_ns - begun) / 1e6


def _percentile(
    latencies: Floats, percentile: float, tail: float, resamples: int, rng: np.random.Generator
) -> Interval:
    """The percentile with its interval.

    The k-th smallest of n draws with replacement is the value at the rank of the k-th smallest of n
    uniform numbers, which is Beta(k, n - k + 1): one draw stands for a whole resample.
    """
    import numpy as np

    size = len(latencies)
    rank = min(size, max(1, int(np.ceil(percentile / 100 * size))))
    places = np.minimum((rng.beta(rank, size - rank + 1, resamples) * size).astype(int), size - 1)
    low, high = np.quantile(places, [tail, 1 - tail], method="nearest")
    return float(latencies[rank - 1]), float(latencies[int(low)]), float(latencies[int(high)])


def _rate(bad: int, size: int, tail: float, resamples: int, rng: np.random.Generator) -> Interval:
    """The share with its interval; where nothing (or everything) was bad, the exact one-sided bound.

    A bootstrap of a sample without errors knows no errors, and would be sure of a rate of zero.
    """
    import numpy as np

    rate = bad / size
    if bad in (0, size):
        bound = float(tail ** (1 / size))
        return (0.0, 0.0, 1 - bound) if bad == 0 else (1.0, bound, 1.0)
    drawn = rng.binomial(size, rate, resamples) / size
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return rate, float(low), float(high)


def _throughput(used: list[Operation], tail: float, resamples: int, rng: np.random.Generator) -> Interval:
    """Successes a second, with seconds (tenths of the window, if that is short) resampled as wholes."""
    import numpy as np

    start = min(o.invoked_ns for o in used)
    end = max(o.completed_ns or o.invoked_ns for o in used)
    bucket = min(1_000_000_000, max(1, (end - start) // 10))
    count = max(1, (end - start) // bucket)
    buckets = np.zeros(count, dtype=np.int64)
    for operation in used:
        if operation.outcome is Outcome.OK and operation.completed_ns is not None:
            buckets[min(count - 1, (operation.completed_ns - start) // bucket)] += 1
    sums = buckets[rng.integers(0, count, (resamples, count))].sum(axis=1)
    low, high = np.quantile(sums, [tail, 1 - tail])
    # Divided once, at the end: a rate of just the limit must not come out below it.
    value, least, most = (float(total) * 1e9 / (count * bucket) for total in (buckets.sum(), low, high))
    return value, least, most


def _hold(
    judgement: Judgement,
    name: str,
    interval: Interval,
    limit: float,
    proof: list[Operation],
    *,
    upper: bool,
) -> None:
    value, low, high = interval
    wrong = low > limit if upper else high < limit
    right = high <= limit if upper else low >= limit
    words = f"{name} is {value:.4g} (between {low:.4g} and {high:.4g}), {limit:g} is the limit"
    if wrong:
        judgement.found("level-broken", words, proof[:10], interval=interval)
    elif not right:
        judgement.cannot(f"{words}: too close to call")


def _judge_recovery(
    judgement: Judgement,
    history: History,
    wanted: frozenset[str],
    limits: Mapping[float, float],
    max_recovery_ms: float,
) -> list[float | None]:
    faults = fault_intervals(history)
    # What is healed while another fault is on has nothing to recover into yet.
    heals = sorted({end for _, end in faults if not any(start <= end < stop for start, stop in faults)})
    heals = [heal for heal in heals if heal < NEVER]
    if not heals:
        judgement.cannot("no fault was healed, so that there is no recovery to measure")
        return []
    worst = max(limits.values(), default=float("inf"))
    good: Callable[[Operation], bool] = lambda o: o.outcome is Outcome.OK and _latency_ms(o) <= worst  # noqa: E731
    operations = [o for o in history.operations if not wanted or o.kind in wanted]
    times: list[float | None] = []
    for heal in heals:
        again = min((start for start, _ in faults if start > heal), default=NEVER)
        after = [o for o in operations if heal <= o.invoked_ns < again]
        run = _first_run(after, good)
        took = ((run[0].completed_ns or run[0].invoked_ns) - heal) / 1e6 if run else None
        times.append(took if len(run) == _IN_A_ROW else None)
        if len(run) == _IN_A_ROW and took is not None:
            if took > max_recovery_ms:
                words = f"the service recovered {took:.0f} ms after the heal, {max_recovery_ms:g} are allowed"
                judgement.found("level-broken", words, run[:1], recovery_ms=took)
        elif after and (took if took is not None else (after[-1].invoked_ns - heal) / 1e6) > max_recovery_ms:
            words = f"{_IN_A_ROW} successes in a row never came within {max_recovery_ms:g} ms after the heal"
            judgement.found("level-broken", words, after[:10])
        else:
            judgement.cannot(
                "the run ended or the next fault began too soon after a heal to see the recovery"
            )
    return times


def _first_run(operations: list[Operation], good: Callable[[Operation], bool]) -> list[Operation]:
    """The first successes in a row, _IN_A_ROW of them, or as many as the end cut short."""
    run: list[Operation] = []
    for operation in operations:
        run = [*run, operation] if good(operation) else []
        if len(run) == _IN_A_ROW:
            break
    return run
