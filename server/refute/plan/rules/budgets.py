"""Rules on budgets: how often a scenario runs, with how many faults, and why where it does not."""

from __future__ import annotations

from collections.abc import Iterator

from refute.plan.families import planned_faults
from refute.plan.rules.rule import Hit, Review, rule
from refute.plan.scenario import Budget, NotProvided


@rule(
    "one-seed",
    "error",
    why="one seed is one schedule: a race that needs another one is not looked for",
    mend="give the hardening budget at least 3 seeds",
)
def one_seed(review: Review) -> Iterator[Hit]:
    """The hardening budget of generated load has one seed, or a directed sequence is run once."""
    for scenario, block in review.scenarios:
        budget = scenario.budget.get("hardening")
        if not isinstance(budget, Budget) or budget.seeds > 1:
            continue
        if scenario.workload or len(scenario.every_arm()) < 2:
            yield block.line_of("budget", "hardening"), block.section, scenario.id, "one seed"
    for trial in review.told:
        if trial.seeds == 1:
            yield trial.line_of("seeds"), trial.section, trial.id, "one seed, or one run"


@rule(
    "one-failover",
    "error",
    why="the second failover meets what the first has left behind: terms, leases, half-written logs",
    mend="repeat the fault, and let the hardening budget ask for at least 3",
)
def one_failover(review: Review) -> Iterator[Hit]:
    """A fault happens once under generated load, or a budget asks for less than one landed fault a seed."""
    for scenario, block in review.scenarios:
        budget = scenario.budget.get("hardening")
        planned = max(planned_faults(scenario))
        if not planned or not isinstance(budget, Budget):
            continue
        if scenario.workload and planned < 2:
            yield block.line_of("nemesis"), block.section, scenario.id, "one fault a run under generated load"
        if budget.faults < max(2, budget.seeds):
            what = f"hardening asks for {budget.faults} landed faults in {budget.seeds} runs"
            yield block.line_of("budget", "hardening"), block.section, scenario.id, what
    for trial in review.told:
        if trial.families and trial.faults == 1:
            what = f"{', '.join(sorted(trial.families))} once"
            yield trial.line_of("nemesis"), trial.section, trial.id, what


@rule(
    "unreachable-budget",
    "error",
    why="a budget that the schedule cannot reach ends in INCONCLUSIVE whatever the system does",
    mend="raise repeat or seeds, or ask for fewer faults",
)
def unreachable_budget(review: Review) -> Iterator[Hit]:
    """A budget asks for more faults than its seeds and schedule give."""
    for scenario, block in review.scenarios:
        planned = sum(planned_faults(scenario))
        for name, budget in scenario.budget.items():
            if planned and isinstance(budget, Budget) and budget.faults > planned * budget.seeds:
                what = f"{name} asks for {budget.faults} faults; {budget.seeds} seeds of {planned} give fewer"
                yield block.line_of("budget", name), block.section, scenario.id, what


@rule(
    "budget-missing",
    "warning",
    why="who decides to ship must know how long the release run is, or why there is none",
    mend="give smoke, hardening and release, or {not_provided: why, revisit: when}",
)
def budget_missing(review: Review) -> Iterator[Hit]:
    """A scenario leaves out one of its three budgets."""
    for scenario, block in review.scenarios:
        if missing := [name for name in ("smoke", "hardening", "release") if name not in scenario.budget]:
            yield block.line_of("budget"), block.section, scenario.id, f"no {' and no '.join(missing)} budget"


@rule(
    "budget-not-explained",
    "error",
    why="'not provided' without a reason and a date is a budget that is never provided",
    mend="write why, and when it is looked at again",
)
def budget_not_explained(review: Review) -> Iterator[Hit]:
    """A budget is not provided, without reason or without a time to revisit."""
    for scenario, block in review.scenarios:
        for name, budget in scenario.budget.items():
            if isinstance(budget, NotProvided) and not (
                budget.not_provided.strip() and budget.revisit.strip()
            ):
                yield (
                    block.line_of("budget", name),
                    block.section,
                    scenario.id,
                    f"{name}: no reason, or no time",
                )
