"""The rules that a plan is checked by; importing this package registers every one of them."""

from refute.plan.rules import (
    arms,
    budgets,
    checkers,
    claims,
    documents,
    fairness,
    faults,
    files,
    form,
    hypotheses,
    landing,
    measures,
    oracles,
    rigour,
    threats,
)
from refute.plan.rules.rule import RULES, Review, Rule

__all__ = [
    "RULES",
    "Review",
    "Rule",
    "arms",
    "budgets",
    "checkers",
    "claims",
    "documents",
    "fairness",
    "faults",
    "files",
    "form",
    "hypotheses",
    "landing",
    "measures",
    "oracles",
    "rigour",
    "threats",
]
