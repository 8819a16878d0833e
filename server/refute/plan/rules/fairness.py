"""Rules on fairness: a formula, and a group between whose members it holds."""

from __future__ import annotations

import re
from collections.abc import Iterator

from refute.plan.rules.rule import Hit, Review, rule

_FORMULA = re.compile(
    r"\bjain|\bgini\b|max(?:imum)?\s*(?:[-/÷]|over|to)\s*min|min(?:imum)?\s*(?:[-/÷]|over|to)\s*max|"
    r"\bratio\b|quotient"
    r"|coefficient of variation|share of|[≤≥<>]=?\s*\d|\bp\d{2}\w*\s*(?:/|÷|over)",
    re.I,
)


_GROUP = re.compile(
    r"\bgroups?\b|grouped by|\bper[- ](?!second|minute|run)\w+|\bby (?:tenant|client|user|key|queue|node)\b",
    re.I,
)


@rule(
    "fairness-without-formula",
    "error",
    why="'fair' is an opinion until it is a number: Jain's index, a ratio of shares, a bound on waiting",
    mend="write the formula and its bound in the scenario",
)
def fairness_without_formula(review: Review) -> Iterator[Hit]:
    """A fairness scenario gives no formula."""
    for scenario, block in review.scenarios_on("fairness"):
        options = " ".join(
            f"{name} {value}" for check in scenario.check for name, value in check.options.items()
        )
        if not _FORMULA.search(review.scenario_text(scenario.id) + " " + options):
            yield block.line, block.section, scenario.id, f"{scenario.id} measures fairness by no formula"
    for trial in review.told:
        if review.is_on(trial, "fairness") and not _FORMULA.search(trial.text):
            yield trial.line, trial.section, trial.id, f"{trial.id} measures fairness by no formula"


@rule(
    "fairness-without-group",
    "error",
    why="fair between whom: clients of one tenant may starve each other while tenants get equal shares",
    mend="name the group: per tenant, per client, per queue",
)
def fairness_without_group(review: Review) -> Iterator[Hit]:
    """A fairness scenario does not say between whom."""
    for scenario, block in review.scenarios_on("fairness"):
        options = {name for check in scenario.check for name in check.options}
        if not _GROUP.search(review.scenario_text(scenario.id)) and not options & {"group", "group_by", "by"}:
            yield (
                block.line,
                block.section,
                scenario.id,
                f"{scenario.id} does not say between whom it is fair",
            )
    for trial in review.told:
        if review.is_on(trial, "fairness") and not _GROUP.search(trial.text):
            yield trial.line, trial.section, trial.id, f"{trial.id} does not say between whom it is fair"
