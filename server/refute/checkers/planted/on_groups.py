"""Operators on groups and tenants: one starves, one sees another's data; and on service levels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

from refute.checkers.boundary import markers_of
from refute.checkers.fairness import jain
from refute.checkers.kinds import NEVER, effect_end
from refute.checkers.planted.ground import Ground, shuffled
from refute.checkers.planted.operator import Operator, Planting, always
from refute.checkers.windows import fault_intervals, window
from refute.history import Operation, Outcome

PLACES = 8
"""How many places an operator looks at, as few copies are made of all that is offered."""


def _by_group(ground: Ground) -> dict[str, list[Operation]]:
    inside = window(ground.history, str(ground.options.get("during", "all")))
    found: dict[str, list[Operation]] = defaultdict(list)
    for operation in ground.history.operations:
        if "group" in operation.extra and inside(operation):
            found[str(operation.extra["group"])].append(operation)
    return found


def starved_groups(ground: Ground, rng: Random) -> Iterator[Planting]:
    """Almost everything that one group asks for fails."""
    groups = _by_group(ground)
    weights = ground.options.get("weights") or {}
    for group in shuffled(groups, rng):
        done = [o for o in groups[group] if o.outcome is Outcome.OK]
        for kept in (1, 0):
            refused = {o.index: replace(o, outcome=Outcome.FAIL, output=None) for o in done[kept:]}
            served = {name: float(sum(o.outcome is Outcome.OK for o in ops)) for name, ops in groups.items()}
            served[group] = float(min(kept, len(done)))
            if refused and _unfair(served, weights, ground):
                yield Planting(
                    ground.copy(refused),
                    tuple(refused.values())[:10],
                    f"group {group} is starved: {kept} of its {len(done)} successes are left",
                )
                break


def _unfair(served: dict[str, float], weights: dict[str, float], ground: Ground) -> bool:
    """Whether a bound is broken, straight from the definitions."""
    if ground.options.get("measure", "operations") != "operations" or len(served) < 2:
        return False
    weight = {group: float(weights.get(group, 1)) for group in served}
    each = [served[group] / weight[group] for group in served]
    total, due = sum(served.values()), sum(weight.values())
    ratio, index = ground.options.get("max_min_ratio"), ground.options.get("min_jain")
    tolerance = ground.options.get("share_tolerance")
    found = jain(each)
    if not total:
        return False
    return (
        (ratio is not None and max(each) > ratio * min(each))
        or (index is not None and found is not None and found < index)
        or (
            tolerance is not None
            and any(served[g] / total < weight[g] / due * (1 - tolerance) for g in served)
        )
    )


def stalled_groups(ground: Ground, rng: Random) -> Iterator[Planting]:
    """For longer than is allowed no request of a group is answered."""
    allowed = ground.options.get("max_starvation_ms")
    if allowed is None:
        return
    for operations in shuffled(_by_group(ground).values(), rng):
        for first in shuffled((o for o in operations if o.outcome is Outcome.OK), rng)[:2]:
            start, end = first.invoked_ns, first.invoked_ns + int(allowed * 1.5e6) + 2
            late = {
                o.index: replace(o, completed_ns=end)
                for o in operations
                if o.outcome is Outcome.OK and start <= effect_end(o) < end
            }
            words = f"a group gets no answer for {1.5 * allowed:g} ms"
            yield Planting(ground.copy(late), tuple(late.values())[:10], words)


def forbidden_deeds(ground: Ground, rng: Random) -> Iterator[Planting]:
    """What must be denied succeeds."""
    denied = [o for o in ground.history.operations if o.extra.get("expect") == "deny"]
    for operation in shuffled((o for o in denied if o.outcome is Outcome.FAIL), rng)[:PLACES]:
        done = replace(operation, outcome=Outcome.OK, output="planted: what nobody may see", error=None)
        words = f"a {operation.kind} that must be denied succeeds"
        yield Planting(ground.with_changed(done), (done,), words)


def refused_rights(ground: Ground, rng: Random) -> Iterator[Planting]:
    """What is allowed is denied."""
    allowed = [o for o in ground.history.operations if o.extra.get("expect") == "allow"]
    words = next(iter(ground.options.get("denials", ("403",))), "")
    for operation in shuffled((o for o in allowed if o.outcome is Outcome.OK), rng)[:PLACES]:
        refused = replace(operation, outcome=Outcome.FAIL, output=None, error=words)
        sentence = f"a {operation.kind} that is allowed is denied"
        yield Planting(ground.with_changed(refused), (refused,), sentence)


def leaked_markers(ground: Ground, rng: Random) -> Iterator[Planting]:
    """What one tenant wrote turns up in an answer to another, or in an error text."""
    used = [o for o in ground.history.operations if "tenant" in o.extra or "expect" in o.extra]
    markers = markers_of(used, int(ground.options.get("marker_length", 8)))
    if not markers:
        return
    asked = [o for o in used if "tenant" in o.extra and o.extra.get("expect") is None]
    asked = asked or [o for o in used if "tenant" in o.extra and o.extra.get("expect") == "deny"]
    for operation in shuffled(asked, rng)[:PLACES]:
        foreign = [m for m, (owner, _) in markers.items() if owner != str(operation.extra["tenant"])]
        if not foreign:
            continue
        marker = rng.choice(foreign)
        if rng.random() < 0.5 and operation.outcome is Outcome.OK:
            seen = operation.output
            mixed = replace(operation, output=[*(seen if isinstance(seen, list) else [seen]), f"<{marker}>"])
        else:
            mixed = replace(operation, outcome=Outcome.FAIL, error=f"500 cannot merge {marker}", output=None)
        words = f"{marker!r} turns up in what tenant {operation.extra['tenant']} gets"
        yield Planting(ground.with_changed(mixed), (mixed,), words)


def _measured(ground: Ground) -> list[Operation]:
    wanted = set(ground.options.get("operation_kinds", ()))
    inside = window(ground.history, str(ground.options.get("during", "main")))
    return [o for o in ground.history.operations if (not wanted or o.kind in wanted) and inside(o)]


def _stretch(ground: Ground, rng: Random, share: float, change: Callable[[Operation], Operation]) -> Any:
    """The measured operations of one stretch of time, changed."""
    measured = _measured(ground)
    length = min(len(measured), int(share * len(measured)) + 1)
    start = rng.randrange(len(measured) - length + 1)
    return {o.index: change(o) for o in measured[start : start + length]}


def slow_windows(ground: Ground, rng: Random) -> Iterator[Planting]:
    """For a while everything is slow, for more operations than the percentile lets pass."""
    limits = ground.options.get("percentiles") or {}
    measured = _measured(ground)
    for name, limit in limits.items() if len(measured) >= 100 else ():
        rest = 1 - float(str(name).lstrip("p")) / 100
        share = rest + 5 * (rest * (1 - rest) / len(measured)) ** 0.5 + 5 / len(measured)
        if share > 1:
            continue
        slower = int(limit * 2e6) + 1_000_000

        def slow(operation: Operation, extra_ns: int = slower) -> Operation:
            end = operation.completed_ns
            return replace(operation, completed_ns=None if end is None else end + extra_ns)

        for _ in range(PLACES):
            changed = _stretch(ground, rng, share, slow)
            words = f"{len(changed)} operations in a row take {slower / 1e6:g} ms longer"
            yield Planting(ground.copy(changed), tuple(changed.values())[:10], words)


def error_bursts(ground: Ground, rng: Random) -> Iterator[Planting]:
    """For a while everything fails, more than is allowed of the whole."""
    limit = ground.options.get("max_error_rate")
    measured = _measured(ground)
    if limit is None or len(measured) < 100:
        return
    share = limit + 5 * (limit * (1 - limit) / len(measured)) ** 0.5 + 5 / len(measured)
    for _ in range(PLACES if share < 1 else 0):
        changed = _stretch(ground, rng, share, lambda o: replace(o, outcome=Outcome.FAIL, error="planted"))
        words = f"{len(changed)} operations in a row fail"
        yield Planting(ground.copy(changed), tuple(changed.values())[:10], words)


def trickles(ground: Ground, rng: Random) -> Iterator[Planting]:
    """So little succeeds that the throughput is a third of what was promised."""
    wanted = ground.options.get("min_throughput_per_s")
    measured = _measured(ground)
    if not wanted or len(measured) < 100:
        return
    start = min(o.invoked_ns for o in measured)
    end = max(o.completed_ns or o.invoked_ns for o in measured)
    kept = int(wanted * (end - start) / 1e9 / 3)
    done = [o for o in measured if o.outcome is Outcome.OK]
    for _ in range(PLACES if kept < len(done) else 0):
        chosen = rng.sample(done, len(done) - kept)
        changed = {o.index: replace(o, outcome=Outcome.FAIL, error="planted") for o in chosen}
        words = f"{len(changed)} of {len(done)} successes turn into failures"
        yield Planting(ground.copy(changed), tuple(changed.values())[:10], words)


def slow_recoveries(ground: Ground, rng: Random) -> Iterator[Planting]:
    """After a heal everything goes on failing for longer than is allowed."""
    allowed = ground.options.get("max_recovery_ms")
    wanted = set(ground.options.get("operation_kinds", ()))
    if allowed is None:
        return
    kinds = [o for o in ground.history.operations if not wanted or o.kind in wanted]
    for heal in shuffled((end for _, end in fault_intervals(ground.history) if end < NEVER), rng):
        until = heal + int(allowed * 1.5e6) + 1
        changed = {
            o.index: replace(o, outcome=Outcome.FAIL, error="planted")
            for o in kinds
            if heal <= o.invoked_ns <= until
        }
        if changed and kinds[-1].invoked_ns > until:
            words = f"everything fails for {1.5 * allowed:g} ms after the heal"
            yield Planting(ground.copy(changed), tuple(changed.values())[:10], words)


OPERATORS = (
    Operator(
        "starved-group",
        "starve a group",
        "a bound on shares that failing all of one group's requests breaks",
        {
            "fairness": lambda o: any(
                o.get(name) is not None for name in ("max_min_ratio", "min_jain", "share_tolerance")
            )
        },
        starved_groups,
    ),
    Operator(
        "stalled-group",
        "leave a group without an answer",
        "a bound on starvation and a group with an answer",
        {"fairness": lambda o: o.get("max_starvation_ms") is not None},
        stalled_groups,
    ),
    Operator(
        "forbidden-deed",
        "let through what must be denied",
        "a negative control that was denied",
        {"boundary": always},
        forbidden_deeds,
    ),
    Operator(
        "refused-right",
        "deny what is allowed",
        "a positive control that succeeded",
        {"boundary": always},
        refused_rights,
    ),
    Operator(
        "leaked-marker",
        "mix tenants' outputs",
        "a text that only one tenant wrote, and an answer to another",
        {"boundary": always},
        leaked_markers,
    ),
    Operator(
        "slow-window",
        "slow a window",
        "a percentile with a limit, and enough operations for its tail",
        {"slo": lambda o: bool(o.get("percentiles"))},
        slow_windows,
    ),
    Operator(
        "error-burst",
        "fail a window",
        "a limit for errors and a hundred operations",
        {"slo": lambda o: o.get("max_error_rate") is not None},
        error_bursts,
    ),
    Operator(
        "trickle",
        "throttle the whole run",
        "a throughput that is reached",
        {"slo": lambda o: o.get("min_throughput_per_s") is not None},
        trickles,
    ),
    Operator(
        "slow-recovery",
        "let a fault last after its heal",
        "a heal, and operations after the time that recovery may take",
        {"slo": lambda o: o.get("max_recovery_ms") is not None},
        slow_recoveries,
    ),
)
