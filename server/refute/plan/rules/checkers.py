"""Rules on checkers: they exist, they fit claim and model, and the history feeds them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from refute.plan.models import MODELS, Model, model_named
from refute.plan.oracle_words import categories_judged, checkers_called, judged_by, lacks_fields
from refute.plan.recorded_operations import GENERATED, fields_of, kinds_of
from refute.plan.references import near
from refute.plan.rules.rule import Hit, Review, categories_of, rule, seven_m
from refute.plan.rules.wording import HUMAN_ORACLE
from refute.plan.scenario import Check


@rule(
    "unknown-checker",
    "error",
    why="a checker that does not exist never fails",
    mend="name one of the catalog",
)
def unknown_checker(review: Review) -> Iterator[Hit]:
    """A scenario names a checker that is not in the catalog."""
    for scenario, block in review.scenarios if review.checkers else ():
        for place, check in enumerate(scenario.check):
            if check.checker not in review.checkers and not HUMAN_ORACLE.search(check.checker):
                what = f"there is no checker {check.checker!r}; {near(check.checker, review.checkers)}"
                yield block.line_of("check", place), block.section, scenario.id, what


@rule(
    "unknown-checker-option",
    "error",
    why="an option that the checker does not take changes nothing, and the run would stop on it",
    mend="use the options of the catalog",
)
def unknown_checker_option(review: Review) -> Iterator[Hit]:
    """A checker is given an option that it does not take."""
    for scenario, block in review.scenarios:
        for place, check in enumerate(scenario.check):
            entry = review.checkers.get(check.checker)
            for option in check.options if entry else ():
                known = (entry.options if entry else None) or {}
                if option not in known:
                    what = f"{check.checker} takes no option {option!r}; {near(option, known)}"
                    line = block.line_of("check", place, check.checker, option)
                    yield line, block.section, scenario.id, what


@rule(
    "checker-cannot-judge-claim",
    "error",
    why="a checker for another property passes whatever happens to this claim",
    mend="add a checker whose properties include the claim's category, or move the claim to another scenario",
)
def checker_cannot_judge_claim(review: Review) -> Iterator[Hit]:
    """None of a scenario's checkers can falsify one of its claims."""
    for scenario, block in review.scenarios:
        entries = [
            review.checkers[check.checker] for check in scenario.check if check.checker in review.checkers
        ]
        if not entries or len(entries) < len(scenario.check):
            continue
        able = {name for entry in entries for name in categories_judged(entry)}
        for claim in review.claims_of(scenario):
            categories = set(categories_of(claim))
            if categories and not categories & able:
                names = ", ".join(entry.name for entry in entries)
                what = (
                    f"{names} cannot falsify {claim.id} ({claim.category}): it judges "
                    f"{', '.join(sorted(able))}; {_who_can(review, categories)}"
                )
                yield block.line_of("check"), block.section, scenario.id, what
    for trial in review.told:
        said = trial.said("checker")
        judged = judged_by(review.checkers, said)
        for claim in review.claims_of(trial) if judged else ():
            categories = set(categories_of(claim))
            if categories and not categories & judged:
                what = (
                    f"{said[:60]!r} cannot falsify {claim.id} ({claim.category}): it judges "
                    f"{', '.join(sorted(judged))}; {_who_can(review, categories)}"
                )
                yield trial.line_of("checker"), trial.section, trial.id, what


def _who_can(review: Review, categories: set[str]) -> str:
    """The checkers of the catalog that judge one of these categories."""
    able = sorted(name for name, entry in review.checkers.items() if categories & categories_judged(entry))
    more = f" and {len(able) - 6} more" if len(able) > 6 else ""
    return f"{', '.join(able[:6])}{more} can" if able else "no checker of the catalog can"


@rule(
    "checker-sees-nothing",
    "error",
    why="a checker that consumes no operation of the history can only say unknown",
    mend=(
        "let the workload or the steps do the operations that the checker consumes, or choose another checker"
    ),
)
def checker_sees_nothing(review: Review) -> Iterator[Hit]:
    """A scenario does none of the operations that its checker consumes."""
    for scenario, block in review.scenarios:
        kinds = kinds_of(scenario, review.plan.systems.get(scenario.system))
        for place, check in enumerate(scenario.check):
            entry = review.checkers.get(check.checker)
            consumed = set(entry.kinds) if entry else set()
            if entry and kinds and consumed and "any" not in consumed and not kinds & consumed:
                what = (
                    f"{check.checker} consumes {', '.join(entry.kinds)}; {scenario.id} does "
                    f"{', '.join(sorted(kinds))}"
                )
                yield block.line_of("check", place), block.section, scenario.id, what


@rule(
    "history-lacks-field",
    "error",
    why="without the field the checker cannot tell a right answer from a wrong one",
    mend=(
        "record it: in the operation's extra, by the client, or by the worker (then name it in 7.M under "
        "history)"
    ),
)
def history_lacks_field(review: Review) -> Iterator[Hit]:
    """The history does not hold a field that a checker needs."""
    for scenario, block in review.scenarios:
        if scenario.workload and scenario.workload.generator not in GENERATED:
            continue  # a generator of its own may record more than its plan says
        known = fields_of(scenario, review.plan.systems.get(scenario.system))
        said = (seven_m(review.plan, scenario.id) or {}).get("history", ("", 0))[0]
        for place, check in enumerate(scenario.check):
            entry = review.checkers.get(check.checker)
            for name in entry.fields if entry else ():
                bare = name.removeprefix("extra.")
                if bare not in known and not re.search(rf"\b{re.escape(bare)}\b", said):
                    what = f"{check.checker} needs {name}, which nothing records"
                    yield block.line_of("check", place), block.section, scenario.id, what
    for trial in review.told:
        said = trial.said("history")
        if said and (what := lacks_fields(review.checkers, trial.said("checker"), said)):
            yield trial.line_of("history"), trial.section, trial.id, what


@rule(
    "checker-does-not-fit-model",
    "error",
    why="a register checker on a queue judges answers that the queue never gives",
    mend="choose a checker of that model, or correct the model",
)
def checker_does_not_fit_model(review: Review) -> Iterator[Hit]:
    """7.M names a model that none of the scenario's checkers can judge."""
    for scenario, block in review.scenarios:
        said, line = (seven_m(review.plan, scenario.id) or {}).get("model", ("", 0))
        model = model_named(said)
        if model is None:
            continue
        names = [check.checker for check in scenario.check if _is_of_model(check, MODELS[model])]
        known = [name for name in MODELS[model].checkers if name in review.checkers]
        if known and not set(names) & set(MODELS[model].checkers):
            fits = ", ".join(known)
            given = ", ".join(check.checker for check in scenario.check)
            what = f"the model is a {model}; {given} does not judge it so ({fits} would)"
            yield line or block.line, "7.M", scenario.id, what
    for trial in review.told:
        model = model_named(trial.said("model"))
        called = checkers_called(review.checkers, trial.said("checker"))
        if model and called and not called & set(MODELS[model].checkers):
            fits = ", ".join(name for name in MODELS[model].checkers if name in review.checkers)
            what = f"the model is a {model}; {', '.join(sorted(called))} does not judge it so ({fits} would)"
            yield trial.line_of("model"), trial.section, trial.id, what


def _is_of_model(check: Check, model: Model) -> bool:
    """Whether a checker is given this model: `linearizable` takes a register where it is told nothing."""
    given = str(check.options.get("model", "register"))
    a_class_of_their_own = not re.fullmatch(r"[a-z-]+", given)
    return check.checker != "linearizable" or a_class_of_their_own or given in model.linearizable
