"""Sentences in people's own words, put where the rule for them looks."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import yaml

from refute.plan.fault_words import cuts_one_way
from refute.plan.reader import parse_leniently
from refute.plan.rules import RULES, Review

SETS = ("first", "second", "third", "fourth")
FOLDER = Path(__file__).parent

_PLACES = {
    # Where in the plan of payments a sentence of this rule is put.
    "human-oracle": ("| linearizable | 5 |", "| {} | 5 |"),
    "absolute-confidence": ("Moderate for C1-C7", "{}. Moderate for C1-C7"),
    "timeout-counted-as-failure": ("A timeout leaves the outcome open.", "{}."),
    "exit-code-as-evidence": ("exit status of the process; the standby's timeline increases", "{}"),
    "exit-criterion-without-number": (
        "Exit criteria: 3 seeds and 9 landed faults a scenario, 0 FAIL.",
        "\n\n{}.",
    ),
}


@cache
def sentences(name: str) -> dict[str, dict[str, list[str]]]:
    """Rule to the sentences that it has to find, and those that it has to spare."""
    read: dict[str, dict[str, list[str]]] = yaml.safe_load(
        (FOLDER / "wordings" / f"{name}.yaml").read_text(encoding="utf-8")
    )
    return read


def is_found(rule: str, sentence: str) -> bool:
    """Whether the rule trips on a plan that holds this sentence, and would not without it."""
    if rule == "one-way-cut":
        return cuts_one_way(sentence)
    plan, _ = parse_leniently(_with(rule, sentence))
    return any(True for _ in RULES[rule].defects(Review(plan)))


@cache
def _payments() -> str:
    return (FOLDER / "payments.md").read_text(encoding="utf-8")


def _with(rule: str, sentence: str) -> str:
    place, instead = _PLACES[rule]
    assert place in _payments(), "the plan of payments has changed"
    return _payments().replace(place, instead.format(sentence))
