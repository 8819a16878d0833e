"""Plants violations in copies of a history and counts how many of them a checker notices."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from refute.checkers.catalog import entry_for, run_check
from refute.checkers.planted.cutting import cut
from refute.checkers.planted.ground import Ground
from refute.checkers.planted.operator import Operator, Planting
from refute.checkers.planted.operators import OPERATORS
from refute.checkers.planted.report import Missed, OperatorReport, PlantedReport
from refute.checkers.result import Budget, Result
from refute.history import History

COPY_TIME_S = 5.0
"""How long a checker may look at one copy."""

Check = Callable[[str, History, Mapping[str, Any]], Result]


def operators_for(checker: str, options: Mapping[str, Any] | None = None) -> tuple[Operator, ...]:
    """The operators whose violations a checker with these options must notice."""
    return tuple(operator for operator in OPERATORS if operator.must_break(checker, options or {}))


def plant(
    history: History,
    checker: str,
    options: Mapping[str, Any] | None = None,
    *,
    seed: int,
    per_operator: int = 5,
    time_limit_s: float | None = 10.0,
    check: Check | None = None,
) -> PlantedReport:
    """Tries the checker on copies of this history, each with one violation planted in it.

    Every operator that declares the checker gets up to `per_operator` turns, in rounds, so that each
    has had one before any has two; a turn whose answer is anything but False is a miss. The history
    itself should have passed: where it did not, everything would be noticed and nothing proved.
    Copies are cut down to the object that was tampered with where the property is judged object by
    object, and shortened where they are long (see `cutting`).
    `check` is by default `run_check`, with COPY_TIME_S for one copy, or a quarter of the time if that is
    less: a search that takes longer to notice is not counted as noticing. Stops after
    `time_limit_s` and says so. Raises CheckerError for an unknown checker.
    """
    entry_for(checker)
    options = options or {}
    check = check or _within(None if time_limit_s is None else time_limit_s / 4)
    chosen = operators_for(checker, options)
    rng = Random(seed)
    base = _base(history, checker, options, rng, check)
    ground = Ground(base, checker, options)
    places = {operator.name: operator.places(ground, Random(rng.random())) for operator in chosen}
    tried = dict.fromkeys(places, 0)
    noticed = dict.fromkeys(places, 0)
    missed: list[Missed] = []
    began = time.monotonic()
    unfinished = False
    for _ in range(per_operator):
        for operator in chosen:
            if time_limit_s is not None and time.monotonic() - began > time_limit_s:
                unfinished = True
                break
            planting = _next(places, operator)
            if planting is None:
                continue
            result = check(checker, planting.history, options)
            tried[operator.name] += 1
            if result.valid is False:
                noticed[operator.name] += 1
            else:
                missed.append(
                    Missed(operator.name, planting.sentence, planting.changed, result.valid, result.reason)
                )
        if unfinished or not places:
            break
    reports = tuple(
        OperatorReport(o.name, tried[o.name], noticed[o.name], "" if tried[o.name] else f"needs {o.needs}")
        for o in chosen
    )
    nothing = not any(tried.values())
    reason = ""
    if nothing:
        places_needed = "; ".join(f"{report.operator}: {report.no_place}" for report in reports)
        reason = f"no violation could be planted in this history: {places_needed or 'there is no operator'}"
    return PlantedReport(checker, seed, reports, tuple(missed), nothing, reason, unfinished)


def _within(seconds: float | None) -> Check:
    """`run_check` with so much time for each copy."""
    limit = COPY_TIME_S if seconds is None else max(0.5, min(seconds, COPY_TIME_S))
    budget = replace(Budget(), time_limit_s=limit)
    return lambda checker, history, options: run_check(checker, history, options, budget=budget)


def _base(history: History, checker: str, options: Mapping[str, Any], rng: Random, check: Check) -> History:
    """The history shortened, if it is long and still passes then."""
    shorter = cut(history, checker, options, rng)
    if shorter is history or check(checker, shorter, options).valid is True:
        return shorter
    return history


def _next(places: dict[str, Iterator[Planting]], operator: Operator) -> Planting | None:
    iterator = places.get(operator.name)
    planting = next(iterator, None) if iterator is not None else None
    if planting is None:
        places.pop(operator.name, None)
    return planting
