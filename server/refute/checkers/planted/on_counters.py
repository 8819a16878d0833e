"""The operator on counters that are read while they are added to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

from refute.checkers.exact_counts import requests
from refute.checkers.kinds import effect_end, ended, is_number
from refute.checkers.planted.ground import Ground, Plot, shuffled
from refute.checkers.planted.operator import Operator, Planting, always, model_in
from refute.history import Operation, Outcome

PLACES = 8
"""How many places an operator looks at, as few copies are made of all that is offered."""


def _counter_bounds(plot: Plot, read: Operation, initial: Any) -> tuple[float, float]:
    adds = [o for o in plot.operations if o.kind in ("add", "increment", "incr")]
    end = ended(read)
    least = most = initial
    for request in requests(adds, by_key=False):
        amount = 1 if request.attempts[0].input is None else request.attempts[0].input
        attempts = [o for o in request.attempts if o.outcome is not Outcome.FAIL]
        sure = any(effect_end(o) < read.invoked_ns for o in attempts)
        maybe = any(o.invoked_ns <= end for o in attempts)
        least += amount if (sure and amount > 0) or (maybe and amount < 0) else 0
        most += amount if (maybe and amount > 0) or (sure and amount < 0) else 0
    return least, most


def counts_out_of_bounds(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A read of a counter is below all that was acknowledged, or above all that was asked for."""
    initial = ground.options.get("initial") or 0
    for plot in shuffled(ground.plots.values(), rng):
        adds = [o for o in plot.operations if o.kind in ("add", "increment", "incr")]
        kinds = {o.kind for o in adds} | ground.known.reading
        others = any(o.kind not in kinds for o in plot.operations)
        if not adds or others or not all(o.input is None or is_number(o.input) for o in adds):
            continue
        for read in shuffled((r for r in plot.reads if is_number(r.output)), rng)[:PLACES]:
            least, most = _counter_bounds(plot, read, initial)
            lost, doubled = (least - 1, "an acknowledged add is lost"), (most + 1, "an add counts twice")
            value, words = rng.choice((lost, doubled))
            wrong = replace(read, output=value)
            yield Planting(
                ground.with_changed(wrong, within=plot),
                (wrong,),
                f"{words}: a read returns {value!r} where {least!r} to {most!r} are possible",
            )


OPERATORS = (
    Operator(
        "count-out-of-bounds",
        "lose or double an add",
        "a read of a counter",
        {"counter": always, "linearizable": model_in("counter")},
        counts_out_of_bounds,
    ),
)
