"""Rules on boundaries: arms, controls, surfaces, and an oracle for each arm."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from refute.plan.references import operation_kinds
from refute.plan.rules.rule import Hit, Review, categories_of, rule
from refute.plan.trial import Trial


@rule(
    "boundary-without-arms",
    "error",
    why="a boundary is a statement about who may do what where: each combination is an arm of its own",
    mend="add arms with control, surface, subject, object, expect and oracle",
)
def boundary_without_arms(review: Review) -> Iterator[Hit]:
    """A boundary scenario has no arms."""
    for scenario, block in review.scenarios_on("boundary"):
        if not scenario.arms_:
            yield block.line, block.section, scenario.id, f"{scenario.id} has no arms"


@rule(
    "positive-controls-only",
    "error",
    why="a door that everybody can open passes every test with a key",
    mend="add an arm with control: negative: somebody who must be refused, or must see nothing",
)
def positive_controls_only(review: Review) -> Iterator[Hit]:
    """A boundary scenario has no negative control."""
    for scenario, block in review.scenarios_on("boundary"):
        if scenario.arms_ and not any(arm.control == "negative" for arm in scenario.arms_):
            yield block.line_of("arms"), block.section, scenario.id, "no arm is a negative control"
    told = [trial for trial in review.told if review.is_on(trial, "boundary")]
    if told and not any(_REFUSED.search(_done_in(trial)) for trial in told):
        names = ", ".join(trial.id for trial in told)
        yield (
            told[0].line,
            told[0].section,
            told[0].id,
            f"nobody is refused, and nothing is hidden, in {names}",
        )


_REFUSED = re.compile(
    r"\bnegative\b|\brefus|\bden(?:y|ied|ies)|\breject|\bforbid|unauthori[sz]ed|\b40[134]\b|permission error"
    r"|access error|\b(?:must|may|can|does|do) ?not\b|cannot|can't|\bnever\b|\bno (?:access|rows?|documents?"
    r"|results?|entries|keys|such)|\bnot (?:see|find|get|read|list|visible)|\bempty\b|\bnothing\b|\bnone of\b"
    r"|\banother\b|\bother\b|\bforeign\b|\bstranger|\boutsider|\bexpired\b|\brevoked\b"
    r"|\bwrong (?:token|key|tenant)|\bwithout (?:a )?(?:token|rights?|permission|role|login)",
    re.I,
)
"""Somebody must not get in: a door is tried from the outside."""


def _done_in(trial: Trial) -> str:
    """What is done and expected in a scenario in words, without its name: names repeat the claim."""
    done = trial.said("control", "surfaces", "nemesis", "checker", "load")
    return done or trial.text


@rule(
    "negative-controls-only",
    "error",
    why="a service that refuses everybody would pass",
    mend="add an arm with control: positive: somebody who must get in",
)
def negative_controls_only(review: Review) -> Iterator[Hit]:
    """A boundary or fairness scenario has no positive control."""
    for scenario, block in review.scenarios_on("boundary", "fairness"):
        if scenario.arms_ and not any(arm.control == "positive" for arm in scenario.arms_):
            yield block.line_of("arms"), block.section, scenario.id, "no arm is a positive control"


@rule(
    "arm-without-oracle",
    "error",
    why="each surface answers in its own way: what is refused here is an empty list there",
    mend="give the arm surface, expect and the checker that judges it",
)
def arm_without_oracle(review: Review) -> Iterator[Hit]:
    """An arm names no surface, no expectation or no oracle."""
    for scenario, block in review.scenarios:
        for place, arm in enumerate(scenario.arms_):
            missing = [name for name in ("surface", "expect", "oracle") if not getattr(arm, name)]
            if missing:
                what = f"arm {arm.arm!r} has no {' and no '.join(missing)}"
                yield block.line_of("arms", place), block.section, scenario.id, what


@rule(
    "arm-oracle-not-run",
    "error",
    why="the arm leans on a checker that the scenario does not run",
    mend="list the checker under check, or name one that is listed",
)
def arm_oracle_not_run(review: Review) -> Iterator[Hit]:
    """An arm's oracle is none of the scenario's checkers."""
    for scenario, block in review.scenarios:
        names = {check.checker for check in scenario.check}
        for place, arm in enumerate(scenario.arms_):
            if arm.oracle and not any(name in arm.oracle for name in names):
                what = f"arm {arm.arm!r}: {arm.oracle!r} is not one of {', '.join(sorted(names))}"
                yield block.line_of("arms", place, "oracle"), block.section, scenario.id, what


@rule(
    "arm-surface-not-listed",
    "error",
    why="the list of surfaces is what 7d counts as tested",
    mend="let surfaces and the arms' surfaces be the same set",
)
def arm_surface_not_listed(review: Review) -> Iterator[Hit]:
    """A surface is listed without an arm, or an arm's surface is not listed."""
    for scenario, block in review.scenarios:
        if not scenario.arms_ or not scenario.surfaces:
            continue
        armed = {arm.surface for arm in scenario.arms_ if arm.surface}
        if odd := armed ^ set(scenario.surfaces):
            what = f"{', '.join(sorted(odd))} stands in only one of surfaces and arms"
            yield block.line_of("surfaces"), block.section, scenario.id, what


@rule(
    "boundary-without-7MS",
    "warning",
    why="who signs the plan must see in words which doors there are, who knocks, and what may come out",
    mend="add a 7.M.S below the scenario: each surface and arm in one line",
)
def boundary_without_7ms(review: Review) -> Iterator[Hit]:
    """A boundary or fairness scenario with arms has no 7.M.S."""
    for scenario, block in review.scenarios_on("boundary", "fairness"):
        parts = {part.number for part in review.plan.parts(scenario.id)}
        if scenario.arms_ and "7.M.S" not in parts:
            yield block.line_of("arms"), block.section, scenario.id, f"{scenario.id} has arms and no 7.M.S"


@rule(
    "unknown-surface",
    "error",
    why="a surface that the system does not have is tested by nothing",
    mend="name an operation of the system's clients, or list the surface in section 0, 1 or 2",
)
def unknown_surface(review: Review) -> Iterator[Hit]:
    """A surface is neither an operation of the system nor listed in sections 0 to 2."""
    listed = review.text_of("0", "1", "2").casefold()
    for scenario, block in review.scenarios:
        system = review.plan.systems.get(scenario.system)
        kinds = operation_kinds(system) if system else frozenset()
        for name in dict.fromkeys([*scenario.surfaces, *(arm.surface or "" for arm in scenario.arms_)]):
            if name and name not in kinds and not re.search(rf"\b{re.escape(name.casefold())}\b", listed):
                what = f"the surface {name!r} is no operation of {scenario.system} and listed nowhere"
                yield block.line_of("surfaces"), block.section, scenario.id, what


_SURFACE_GROUPS = {
    "delayed and background paths": (
        r"async|background|delayed|queue|worker|\bjobs?\b|cron|export|import|backup|replica|feed|stream"
        r"|subscri|watch|webhook|cache"
    ),
    "admin paths": r"\badmin|operator|management|debug|console|maintenance|root token",
    "observability paths": r"metric|\blogs?\b|trac(?:e|ing)|observab|audit|dashboard|profil",
}


@rule(
    "boundary-surfaces-left-out",
    "error",
    why="tenants leak where nobody looks: exports, admin calls, metrics and logs that carry another's names",
    mend="add an arm on such a surface, or name it in 7c, 7d or 8 as untested",
)
def boundary_surfaces_left_out(review: Review) -> Iterator[Hit]:
    """Boundary scenarios leave out delayed, admin or observability paths without saying so."""
    trials = [trial for trial in review.trials if review.is_on(trial, "boundary")]
    named = " ".join(_surfaces_of(review, trial) for trial in trials)
    said = named + " " + review.text_of("7c", "7d", "8")
    for group, words in _SURFACE_GROUPS.items() if trials else ():
        if not re.search(words, said, re.I):
            first = trials[0]
            yield first.line, first.section, first.id, f"{group} are neither tested nor named as untested"


def _surfaces_of(review: Review, trial: Trial) -> str:
    if trial.in_words:
        return f"{trial.name} {trial.said('surfaces') or trial.text}"
    scenario = review.plan.scenarios[trial.id]
    return " ".join([*scenario.surfaces, *(arm.surface or "" for arm in scenario.arms_)])


@rule(
    "boundary-without-confusable-names",
    "warning",
    why="prefix, case and Unicode bugs need names that look alike: a and ab, Team and team",
    mend="add an arm whose subject and object are confusable",
)
def boundary_without_confusable_names(review: Review) -> Iterator[Hit]:
    """No arm of the boundary scenarios uses identifiers that could be confused."""
    scenarios = list(review.scenarios_on("boundary"))
    arms = [arm for scenario, _ in scenarios for arm in scenario.arms_]
    if not arms:
        return
    if not any(arm.subject and arm.object and confusable(arm.subject, arm.object) for arm in arms):
        scenario, block = scenarios[0]
        yield block.line_of("arms"), block.section, scenario.id, "subjects and objects are easily told apart"


def confusable(first: str, second: str) -> bool:
    """Whether careless code could take one identifier for the other: by prefix, case, width or separators."""
    if first == second:
        return False
    one, other = (
        re.sub(r"[\W_]+", "", unicodedata.normalize("NFKD", each)).casefold() for each in (first, second)
    )
    return (
        one == other
        or one.startswith(other)
        or other.startswith(one)
        or one.endswith(other)
        or other.endswith(one)
    )


@rule(
    "scenario-to-be-split",
    "error",
    why="a failure among many surfaces and oracles cannot be named, and one broken surface stops the others",
    mend="split it: at most three surfaces, three categories and two oracles in one scenario",
)
def scenario_to_be_split(review: Review) -> Iterator[Hit]:
    """A scenario holds more than three surfaces or categories, or arms with more than two oracles."""
    for scenario, block in review.scenarios:
        surfaces = {*scenario.surfaces, *(arm.surface for arm in scenario.arms_ if arm.surface)}
        categories = {name for claim in review.claims_of(scenario) for name in categories_of(claim)}
        oracles = {check.checker for check in scenario.check} if scenario.arms_ or surfaces else set()
        for noun, found, most in (
            ("surfaces", surfaces, 3),
            ("categories", categories, 3),
            ("oracles", oracles, 2),
        ):
            if len(found) > most:
                yield (
                    block.line,
                    block.section,
                    scenario.id,
                    f"{len(found)} {noun}: {', '.join(sorted(found))}",
                )
