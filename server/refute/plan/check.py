"""Checks a plan: what cannot be read, then every rule, worst first and bounded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from refute.checkers.catalog import CATALOG, CheckerEntry
from refute.plan.defect import Defect
from refute.plan.document import Plan, PlanError
from refute.plan.pitfalls import Pitfall, pitfalls
from refute.plan.reader import parse_leniently, read_source
from refute.plan.rules import RULES, Review
from refute.plan.rules.form import READING
from refute.plan.rules.rule import ReadCitation, Stands
from refute.plan.scenario import GENERATORS

# What stops a run: the rest of the rules are about whether the plan is worth running.
_STOPS_A_RUN = (
    "no-system",
    "no-scenario",
    "scenario-without-block",
    "claim-without-scenario",
    "unknown-checker",
    "unknown-checker-option",
    "todo-left",
    "no-claims",
)


@dataclass(frozen=True, slots=True)
class Checked:
    """The answer: defects worst first, how many there are of each severity, and how many were left out.

    `unreadable` counts the blocks that are no YAML, so that no rule has seen what they hold.
    """

    plan: Plan
    defects: tuple[Defect, ...]
    errors: int
    warnings: int
    left_out: int
    unreadable: int = 0

    @property
    def ok(self) -> bool:
        """Whether no error stands; warnings may."""
        return self.errors == 0


def check_plan(
    source: str | Plan,
    path: Path | None = None,
    *,
    checkers: Mapping[str, CheckerEntry] | None = None,
    read_citation: ReadCitation | None = None,
    stands: Stands | None = None,
    known_pitfalls: tuple[Pitfall, ...] | None = None,
    generators: tuple[str, ...] = GENERATORS,
    limit: int | None = None,
) -> Checked:
    """Everything that is wrong with a plan's text, worst first; with `limit` at most so many.

    `checkers` is the catalog to judge by (ours by default; an empty one skips rules on checkers),
    `generators` are the names of those that make load.
    `read_citation(path, first, last, commit)` reads the repository; without it citations are not re-read.
    `stands(name)` looks beside the plan; without it no file is looked for.
    Never raises on what a plan holds.
    """
    text = source.source if isinstance(source, Plan) else source
    path = source.path if isinstance(source, Plan) else path
    plan, unread = parse_leniently(text, path)
    review = Review(
        plan,
        checkers=CATALOG if checkers is None else checkers,
        pitfalls=pitfalls() if known_pitfalls is None else known_pitfalls,
        read_citation=read_citation,
        stands=stands,
        generators=generators,
    )
    found = [*unread]
    for rule in RULES.values():
        found += rule.defects(review)
    found = sorted(dict.fromkeys(found), key=_worst_first)
    errors = sum(defect.severity == "error" for defect in found)
    shown = found if limit is None else found[:limit]
    unreadable = sum(defect.rule in ("bad-yaml", "yaml-too-large") for defect in found)
    return Checked(plan, tuple(shown), errors, len(found) - errors, len(found) - len(shown), unreadable)


def check_plan_file(path: Path, **options: object) -> Checked:
    """As check_plan, for a file and what it names beside itself. Raises PlanError where it cannot be read."""
    source = read_source(path)

    def stands(name: str) -> bool:
        return (path.parent / name).exists()

    return check_plan(source, path, stands=stands, **options)  # type: ignore[arg-type]


def _worst_first(defect: Defect) -> tuple[bool, bool, int, str]:
    return (defect.severity != "error", defect.rule not in READING, defect.line, defect.rule)


def refuse_unrunnable(plan: Plan, *, checkers: Mapping[str, CheckerEntry] | None = None) -> None:
    """Raises PlanError where a plan reads and still cannot be run in good faith.

    That is: no claim, no system, no scenario, a scenario without block, a claim that no scenario names and
    7c does not excuse, a checker or an option that does not exist, a place left open for judgement.
    """
    review = Review(plan, checkers=CATALOG if checkers is None else checkers)
    found = [defect for name in _STOPS_A_RUN for defect in RULES[name].defects(review)]
    if found:
        raise PlanError.of(tuple(sorted(found, key=_worst_first)), plan.path)
