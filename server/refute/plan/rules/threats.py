"""Rules on threats: versions that meet, serious claims in good weather, what the adequacy table leans on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from refute.plan.families import FAMILIES, families_in_words, produces, steps_of
from refute.plan.fault_words import ROLLBACK, undenied
from refute.plan.rows import ids_in, plain
from refute.plan.rules.rule import Hit, Review, categories_of, rule
from refute.plan.step import FaultStep, HealStep
from refute.plan.trial import Trial

_UPGRADE = re.compile(
    r"upgrad|downgrad|roll(?:ing|s|ed)?[ -]?back|mixed[ -]version|rolling (?:update|release|deploy)|"
    r"\b(?:new|newer|old|older|former|next|previous) (?:release|build)s?\b|"
    r"\bfrom (?:v?\d+\.x to v?\d|v\d[\w.]* to v\d)|"
    r"(?:back|for)wards?[ -]compatib",
    re.I,
)


def _upgrade_claims(review: Review) -> Iterator[tuple[str, tuple[Trial, ...], int]]:
    for claim in review.plan.claims.values():
        trying = review.trials_of(claim.id)
        if _UPGRADE.search(claim.text) and trying:
            yield claim.id, trying, claim.line


@rule(
    "upgrade-without-mixed-versions",
    "error",
    why=(
        "in a rolling upgrade two versions talk to each other: a test that stops the world first never "
        "sees that"
    ),
    mend="give the system versions, and start nodes as the other version one at a time under load",
)
def upgrade_without_mixed_versions(review: Review) -> Iterator[Hit]:
    """A claim about upgrades is tested without two versions running together."""
    for claim, trying, line in _upgrade_claims(review):
        if not any("upgrade" in trial.families and trial.mixed_versions for trial in trying):
            upgraded = next((trial for trial in trying if "upgrade" in trial.families), None)
            what = (
                f"{upgraded.id} does not say that two versions run together"
                if upgraded
                else f"no scenario of {claim} starts a node as another version"
            )
            yield line, "1b", claim, what


@rule(
    "upgrade-without-rollback",
    "error",
    why="the first thing done with a bad release is to go back, onto data that the new version has written",
    mend="go back to the first version in the same scenario, and read the data again",
)
def upgrade_without_rollback(review: Review) -> Iterator[Hit]:
    """A claim about upgrades is tested without going back."""
    for claim, trying, line in _upgrade_claims(review):
        if not any(undenied(ROLLBACK, trial.text) or _versions(review, trial.id) > 1 for trial in trying):
            yield line, "1b", claim, f"no scenario of {claim} goes back to the former version"


def _versions(review: Review, name: str) -> int:
    scenario = review.plan.scenarios.get(name)
    steps = [step for step, _ in steps_of(scenario)] if scenario else []
    named = [step.version or "" for step in steps if isinstance(step, HealStep) and step.how == "start"]
    named += [
        str(step.action.parameters.get("version", ""))
        for step in steps
        if isinstance(step, FaultStep) and step.action.kind == "restart"
    ]
    return len(set(named))


@rule(
    "fault-cannot-affect-serious-claim",
    "warning",
    why="a promise about safety that is only tried in good weather is not tried",
    mend="add a fault, a second client that races, or an arm; or say in 7c why none can matter",
)
def fault_cannot_affect_serious_claim(review: Review) -> Iterator[Hit]:
    """A durability, ordering or membership claim is tested without any fault."""
    for claim in review.plan.claims.values():
        trying = review.trials_of(claim.id)
        serious = set(categories_of(claim)) & {"durability", "ordering", "membership"}
        in_good_weather = trying and not any(trial.families or trial.fault_is_open for trial in trying)
        if serious and in_good_weather and not review.names(review.text_of("7c"), claim.id):
            yield claim.line, "1b", claim.id, f"no scenario of {claim.id} injects a fault"


@rule(
    "adequacy-not-injected",
    "error",
    why="the row says that a threat is covered, and the scenario it leans on does not make it happen",
    mend="lean on a scenario that injects it, or move the row to 7c",
)
def adequacy_not_injected(review: Review) -> Iterator[Hit]:
    """An adequacy row leans on a scenario that does not inject that threat."""
    for line, threat, names in adequacy_rows(review):
        threats = families_in_words(threat) & set(FAMILIES)
        known = {trial.id: trial for name in names if (trial := review.trial_named(name))}
        for name, trial in known.items() if threats else ():
            given = trial.families
            if not trial.fault_is_open and not any(produces(given, each) for each in threats):
                what = (
                    f"{name} injects {', '.join(sorted(given)) or 'no fault'}, not "
                    f"{', '.join(sorted(threats))}"
                )
                yield line, "7b", name, what


@rule(
    "adequacy-without-scenario",
    "error",
    why="a row of 7b that leans on nothing is an opinion",
    mend="name the scenario that makes the threat happen, or move the row to 7c",
)
def adequacy_without_scenario(review: Review) -> Iterator[Hit]:
    """An adequacy row leans on no scenario that exists."""
    headed = {section.scenario for section in review.plan.sections if section.scenario}
    for line, threat, names in adequacy_rows(review):
        missing = [name for name in names if not review.trial_named(name) and name not in headed]
        if missing or not names:
            yield line, "7b", "", f"{threat[:60]!r} leans on {', '.join(missing) or 'no scenario'}"


def adequacy_rows(review: Review) -> Iterator[tuple[int, str, tuple[str, ...]]]:
    """Line, threat and scenarios of each row of 7b's tables."""
    for table in review.plan.tables:
        if table.section != "7b":
            continue
        header = [name.lower() for name in table.header]
        at = next((place for place, name in enumerate(header) if "scenario" in name), None)
        if at is None:
            continue
        for row in table.rows:
            others = " ".join(cell for place, cell in enumerate(row.cells) if place != at)
            if any(row.cells):
                first = row.cells[0] if at else others
                cell = plain(row.cells[at])
                parts = [part for part in re.split(r"\s*[,;&+]\s*|\s+and\s+", cell) if part.strip(" -–—")]
                # Scenarios of a table in words are called by their names; others by ids, in ranges too.
                by_name = [part for part in parts if review.trial_named(part)]
                rest = " , ".join(part for part in parts if part not in by_name)
                yield row.line, first, (*by_name, *ids_in(rest))
