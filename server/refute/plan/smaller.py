"""Smaller forms of a scenario: one change at a time, each a scenario that can be run by itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from refute.plan.scenario import Check, Scenario, substitute


@dataclass(frozen=True, slots=True)
class Smaller:
    """A scenario with one thing less, and what that is, in words."""

    scenario: Scenario
    what: str


def only_failing(scenario: Scenario, arm: str, parameters: dict[str, Any], check: Check) -> Scenario:
    """The scenario with the arm that failed alone, its parameters filled in, judged by one checker.

    Raises ValueError where the arm is none of the scenario's.
    """
    written = scenario.model_dump(mode="json", by_alias=True)
    own = next((one.steps for one in scenario.arms_ if one.steps and _belongs(one.arm, arm)), ())
    written["steps"] = [substitute(step, parameters) for step in (*scenario.steps, *own)]
    written["nemesis"] = [substitute(fault, parameters) for fault in scenario.nemesis]
    written["workload"] = substitute(written["workload"], parameters)
    written |= {"sweep": {}, "arms": [], "check": [check.model_dump(mode="json")]}
    return Scenario.model_validate(written)


def _belongs(name: str, arm: str) -> bool:
    return "".join(filter(str.isalnum, arm)).startswith("".join(filter(str.isalnum, name)))


def smaller_scenarios(scenario: Scenario) -> Iterator[Smaller]:
    """Every scenario with one thing less, the largest cuts first; forms that cannot be read are left out.

    Less is: runs of steps (halves, quarters, single ones), faults, repetitions, operations of a step,
    clients, keys and duration of the load. Seeds, the system and the checker stay.
    """
    written = scenario.model_dump(mode="json", by_alias=True)
    for change, what in (*_fewer_steps(written), *_fewer_faults(written), *_less_load(written)):
        fresh = {**written, **change}
        labels = {step.get("label") for step in fresh["steps"]}
        control = fresh["control"]
        kept = [label for label in control["omit"] if label in labels]
        fresh["control"] = {**control, "omit": kept}
        try:
            yield Smaller(Scenario.model_validate(fresh), what)
        except (ValidationError, ValueError):
            continue


Change = tuple[dict[str, Any], str]


def _fewer_steps(written: dict[str, Any]) -> Iterator[Change]:
    steps = written["steps"]
    size = len(steps) // 2
    while size:
        for low in range(0, len(steps), size):
            gone = steps[low : low + size]
            yield {"steps": [*steps[:low], *steps[low + size :]]}, f"without {', '.join(map(_verb, gone))}"
        size //= 2
    for place, step in enumerate(steps):
        verb = next(iter(step), "")
        body = step[verb] if verb else None
        if isinstance(body, dict) and isinstance(body.get("count"), int) and body["count"] > 1:
            once = {**step, verb: {**body, "count": 1}}
            fewer = [*steps[:place], once, *steps[place + 1 :]]
            yield {"steps": fewer}, f"{verb} once for {body['count']} times"


def _verb(step: dict[str, Any]) -> str:
    verb = next(iter(step), "a step")
    target = step.get(verb)
    return f"{verb} {target}" if isinstance(target, str) else verb


def _fewer_faults(written: dict[str, Any]) -> Iterator[Change]:
    faults = written["nemesis"]
    for place, fault in enumerate(faults):
        if len(faults) > 1 or written["steps"] or written["workload"]:
            yield {"nemesis": [*faults[:place], *faults[place + 1 :]]}, f"without the fault {_verb(fault)}"
        if isinstance(fault.get("repeat"), int) and fault["repeat"] > 1:
            once = [*faults[:place], {**fault, "repeat": 1}, *faults[place + 1 :]]
            yield {"nemesis": once}, f"{_verb(fault)} once for {fault['repeat']} times"


def _less_load(written: dict[str, Any]) -> Iterator[Change]:
    load, budgets = written["workload"], written["budget"]
    if load is None:
        return
    if written["steps"]:
        yield {"workload": None}, "without the load"
    for name in ("clients", "keys"):
        if load[name] > 1:
            half = load[name] // 2
            yield {"workload": {**load, name: half}}, f"{half} {name} for {load[name]}"
    if load["duration"] > 2:
        half = load["duration"] / 2
        shorter = {
            name: {**budget, "duration": half} if budget.get("duration") else budget
            for name, budget in budgets.items()
        }
        yield (
            {"workload": {**load, "duration": half}, "budget": shorter},
            f"{half:g} s for {load['duration']:g} s",
        )
