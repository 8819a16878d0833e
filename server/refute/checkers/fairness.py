"""Fairness: how service was shared between groups, by the formulas that a claim names.

Jain, Chiu, Hawe, "A Quantitative Measure of Fairness and Discrimination" (1984).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from refute.checkers.catalog import CheckerError
from refute.checkers.judgement import Judgement
from refute.checkers.kinds import is_number
from refute.checkers.result import Budget, Result
from refute.checkers.windows import window
from refute.history import History, Operation, Outcome


def check(
    history: History,
    *,
    budget: Budget,
    groups: Iterable[str] = (),
    weights: Mapping[str, float] | None = None,
    max_min_ratio: float | None = None,
    min_jain: float | None = None,
    share_tolerance: float | None = None,
    max_starvation_ms: float | None = None,
    measure: str = "operations",
    during: str = "all",
    min_operations: int = 10,
) -> Result:
    """Whether service was shared between the groups (`extra.group`) as the bounds say.

    The service of a group is its number of successful operations, or (`measure: cost`) the sum of
    their `extra.cost`; `weights` say how much each deserves (equal, if not given). The formulas, of
    which at least one bound must be given:

    - `max_min_ratio`: greatest service per weight divided by the least
    - `min_jain`: Jain's index, (sum x)^2 / (n sum x^2) of service per weight; 1 is perfectly fair
    - `share_tolerance`: no group's share is below its weight's share by more than this part of it
    - `max_starvation_ms`: the longest time for which a group had a request open and none was answered

    `during` is `all`, `fault` (operations invoked while a fault was on) or `main`. A group that never
    asked, and a history with one group or few requests, prove nothing: unknown. Anomalies: `unfair-ratio`,
    `unfair-index`, `unfair-share`, `starvation`. O(n log n). Raises CheckerError without a bound.
    """
    bounds = (max_min_ratio, min_jain, share_tolerance, max_starvation_ms)
    if all(bound is None for bound in bounds):
        hint = "give max_min_ratio, min_jain, share_tolerance or max_starvation_ms"
        raise CheckerError("fairness needs a bound", hint=hint)
    if measure not in ("operations", "cost"):
        raise CheckerError(f"measure must be operations or cost, not {measure!r}")
    judgement = Judgement("fairness", "service by group")
    by_group: dict[str, list[Operation]] = defaultdict(list)
    inside = window(history, during)
    for operation in history.operations:
        if "group" not in operation.extra:
            judgement.ignored["operations without extra.group"] += 1
        elif inside(operation):
            by_group[str(operation.extra["group"])].append(operation)
    used = [o for operations in by_group.values() for o in operations]
    wanted = sorted({*by_group, *groups, *(weights or {})})
    quiet = [group for group in wanted if len(by_group.get(group, ())) < min_operations]
    if quiet:
        judgement.cannot(f"group {quiet[0]} asked fewer than {min_operations} times")
    if len(wanted) < 2:
        judgement.cannot("there are not two groups to compare")
    if quiet or len(wanted) < 2:
        return judgement.result(used, nothing="nothing to compare", keys=len(by_group))
    weight = {group: float((weights or {}).get(group, 1)) for group in wanted}
    if any(value <= 0 for value in weight.values()):
        raise CheckerError("weights must be above zero")
    served = {group: [o for o in by_group[group] if o.outcome is Outcome.OK] for group in wanted}
    service = {group: _service(judgement, served[group], measure) for group in wanted}
    judgement.judged = len(used)
    per_weight = {group: service[group] / weight[group] for group in wanted}
    details = {"service": service, "jain": jain(list(per_weight.values())), "ratio": _ratio(per_weight)}
    _judge_shares(judgement, by_group, service, weight, (max_min_ratio, min_jain, share_tolerance))
    if max_starvation_ms is not None:
        longest = {}
        for group in wanted:
            longest[group] = _starvation(judgement, group, by_group[group], max_starvation_ms)
        details["starvation_ms"] = longest
    nothing = "no request was answered"
    if not any(service.values()):
        judgement.judged = 0
    return judgement.result(used, nothing=nothing, keys=len(by_group), details=details)


def jain(values: list[float]) -> float | None:
    """Jain's index of the values, 1/n (one has all) to 1 (all have the same); None where all are zero.

    >>> jain([1.0, 1.0])
    1.0
    """
    squares = sum(value * value for value in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else None


def _ratio(per_weight: Mapping[str, float]) -> float | None:
    least = min(per_weight.values())
    return max(per_weight.values()) / least if least else None


def _service(judgement: Judgement, served: list[Operation], measure: str) -> float:
    if measure == "operations":
        return float(len(served))
    costs = [operation.extra.get("cost") for operation in served]
    if not all(map(is_number, costs)):
        judgement.cannot("an operation has no extra.cost")
    return float(sum(cost for cost in costs if is_number(cost)))  # type: ignore[misc]


def _judge_shares(
    judgement: Judgement,
    by_group: Mapping[str, list[Operation]],
    service: Mapping[str, float],
    weight: Mapping[str, float],
    bounds: tuple[float | None, float | None, float | None],
) -> None:
    max_min_ratio, min_jain, share_tolerance = bounds
    per_weight = {group: service[group] / weight[group] for group in service}
    poorest = min(per_weight, key=lambda group: per_weight[group])
    richest = max(per_weight, key=lambda group: per_weight[group])
    proof = (*by_group[poorest][:5], *by_group[richest][:5])
    total = sum(service.values())
    if not total:
        return
    ratio, index = _ratio(per_weight), jain(list(per_weight.values()))
    if max_min_ratio is not None and (ratio is None or ratio > max_min_ratio):
        got = "nothing" if ratio is None else f"{ratio:.2f} times less"
        sentence = f"group {poorest} got {got} than {richest}; at most {max_min_ratio} times is fair"
        judgement.found("unfair-ratio", sentence, proof, service=dict(service))
    if min_jain is not None and index is not None and index < min_jain:
        sentence = f"Jain's index is {index:.3f}, below {min_jain}"
        judgement.found("unfair-index", sentence, proof, service=dict(service))
    if share_tolerance is not None:
        for group in service:
            due = weight[group] / sum(weight.values())
            if service[group] / total < due * (1 - share_tolerance):
                got = f"{service[group] / total:.1%} of the service"
                sentence = f"group {group} got {got}; {due:.1%} are its due"
                judgement.found("unfair-share", sentence, tuple(by_group[group][:10]), service=dict(service))


def _starvation(
    judgement: Judgement, group: str, operations: list[Operation], max_starvation_ms: float
) -> float:
    """The longest time in which the group had a request open and got no answer, in ms."""
    events = [(o.invoked_ns, 1, o) for o in operations]
    last = max(max(o.invoked_ns, o.completed_ns or 0) for o in operations)
    events += [(last if o.completed_ns is None else o.completed_ns, -1, o) for o in operations]
    events.sort(key=lambda event: (event[0], -event[1]))
    waiting, since = 0, 0
    longest, start = 0, 0
    for time_ns, step, operation in events:
        if waiting and time_ns - since > longest:
            longest, start = time_ns - since, since
        if not waiting or (step < 0 and operation.outcome is Outcome.OK):
            since = time_ns
        waiting += step
    if longest / 1e6 > max_starvation_ms:
        end = start + longest
        waited = [o for o in operations if o.invoked_ns <= end and (o.completed_ns or last) >= start]
        sentence = (
            f"group {group} waited {longest / 1e6:.0f} ms for an answer, {max_starvation_ms:g} are allowed"
        )
        judgement.found("starvation", sentence, waited[:10], waited_ms=longest / 1e6)
    return longest / 1e6
