"""Rules on oracles: a machine can evaluate them, they fit claim and model, and the history feeds them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from refute.plan.models import MODELS, Model, model_named
from refute.plan.oracle_words import categories_judged, checkers_called, judged_by, lacks_fields
from refute.plan.references import near, operation_kinds
from refute.plan.rules.rule import Hit, Review, categories_of, rule, seven_m
from refute.plan.rules.wording import COMPARISON, HUMAN_ORACLE
from refute.plan.scenario import Check, Scenario
from refute.plan.step import OperationStep
from refute.plan.system_spec import SystemSpec


@rule(
    "human-oracle",
    "error",
    why="'the logs look fine' has never failed a build: a machine must be able to say no",
    mend="name a checker, or a comparison of recorded values with a number",
)
def human_oracle(review: Review) -> Iterator[Hit]:
    """An oracle cannot be evaluated by a machine."""
    for scenario, block in review.scenarios:
        for place, arm in enumerate(scenario.arms_):
            for name in ("oracle", "expect"):
                if (said := getattr(arm, name)) and (found := HUMAN_ORACLE.search(said)):
                    line = block.line_of("arms", place, name)
                    yield line, block.section, scenario.id, f"arm {arm.arm!r}: {found[0]!r} is no oracle"
        for place, check in enumerate(scenario.check):
            if found := HUMAN_ORACLE.search(check.checker):
                yield block.line_of("check", place), block.section, scenario.id, f"{found[0]!r} is no oracle"
    for section in review.plan.sections:
        if section.number == "7.M":
            said, line = (seven_m(review.plan, section.scenario) or {}).get("checker", ("", 0))
            if found := HUMAN_ORACLE.search(said):
                yield line, "7.M", section.scenario, f"{found[0]!r} is no oracle"
    in_prose = [
        (line, trial.section, trial.id, said, True)
        for trial in review.told
        for said, line in [trial.parts.get("checker", ("", 0))]
        if said
    ]
    unlabelled = [
        (trial.line, trial.section, trial.id, sentence, False)
        for trial in review.told
        if not trial.said("checker")
        for sentence in re.split(r"(?<=[.;])\s+", " ".join(trial.text.split()))
        if _JUDGED.search(sentence)
    ]
    seen = set()
    for line, number, subject, said, whole in (*_written_oracles(review), *in_prose, *unlabelled):
        if line in seen:
            continue
        seen.add(line)
        named = any(review.names(said, name) for name in review.checkers)
        if found := HUMAN_ORACLE.search(said):
            yield line, number, subject, f"{found[0]!r} is no oracle"
        elif whole and said and not named and not COMPARISON.search(said):
            yield line, number, subject, f"{said[:60]!r} names no checker and compares nothing"


@rule(
    "scenario-without-oracle",
    "error",
    why="what nothing judges cannot fail, whatever happens in it",
    mend="name the checker, or the comparison of recorded values, that would say no",
)
def scenario_without_oracle(review: Review) -> Iterator[Hit]:
    """A scenario in words does not say how it is judged."""
    for trial in review.told:
        if not trial.said("checker") and not _JUDGED.search(trial.text):
            yield trial.line, trial.section, trial.id, f"{trial.id} says by nothing how it is judged"


_JUDGED = re.compile(
    r"\b(?:check|verif|assert|expect|must|shall|should|compar|oracle|judg|count|linearizab|equals?\b"
    r"|no more than|at (?:most|least)|never\b|exactly)\w*",
    re.I,
)


_ORACLE_LABEL = re.compile(
    r"^\s*(?:[*+-]|\d+[.)])?\s*[*_`]*((?:oracle|checker|pass(?:es)?(?: criteri\w+| condition| if| when)?"
    r"|success criteri\w+|expected(?: (?:result|outcome|behaviou?r))?|verification|verdict)s?)"
    r"[*_`]*\s*[:—][*_`]*\s*(.+)$",
    re.I,
)


def _written_oracles(review: Review) -> Iterator[tuple[int, str, str, str, bool]]:
    """Line, section, scenario and text of each oracle in words, and whether it must be a whole one.

    From columns of tables and from lines such as `Oracle: …`. What is expected of one arm may be short.
    """
    for table in review.plan.tables:
        if table.section == "7.M" or not table.section.startswith(("7", "5", "6")):
            continue
        for at, name in enumerate(table.header):
            if re.search(r"oracle|checker|expected|pass|success|verif", name, re.I):
                whole = bool(re.search(r"oracle|checker|pass|success", name, re.I))
                for row in table.rows:
                    yield row.line, table.section, table.scenario, row.cells[at].strip(" -–—"), whole
    for section in review.plan.sections:
        if section.number.startswith("7") and section.number not in ("7.M", "7b", "7c", "7d"):
            for place, line in enumerate(re.split(r"\r\n|\r|\n", section.text)):
                if found := _ORACLE_LABEL.match(line):
                    yield section.line + place, section.number, section.scenario, found[2], True


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
        if scenario.workload and scenario.workload.generator not in _GENERATED:
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


@rule(
    "oracle-differs-from-block",
    "error",
    why="a reviewer signs the oracle of 7.M while the runner uses the one in the block",
    mend="let 7.M name each checker of the block",
)
def oracle_differs_from_block(review: Review) -> Iterator[Hit]:
    """7.M names other checkers than the block."""
    for scenario, _ in review.scenarios:
        said, line = (seven_m(review.plan, scenario.id) or {}).get("checker", ("", 0))
        missing = [
            check.checker for check in scenario.check if said and not review.names(said, check.checker)
        ]
        if missing:
            yield line, "7.M", scenario.id, f"7.M does not name {', '.join(missing)}, which the block runs"


_GENERATED: dict[str, frozenset[str]] = {
    "register": frozenset({"read", "write"}),
    "cas-register": frozenset({"read", "write", "cas"}),
    "kv": frozenset({"read", "write"}),
    "append": frozenset({"txn", "append", "read"}),
}


def kinds_of(scenario: Scenario, system: SystemSpec | None) -> set[str]:
    """The kinds of operation that a scenario does; empty where nobody can know."""
    kinds = {
        step.kind for arm in scenario.every_arm() for step in arm.steps if isinstance(step, OperationStep)
    }
    if load := scenario.workload:
        if load.mix:
            kinds |= set(load.mix)
        elif load.generator in _GENERATED:
            generated, offered = (
                _GENERATED[load.generator],
                operation_kinds(system) if system else frozenset(),
            )
            kinds |= generated & offered or generated
        else:
            return set()
    if scenario.final and scenario.final.keys != "none":
        kinds.add(scenario.final.kind)
    return kinds


def fields_of(scenario: Scenario, system: SystemSpec | None) -> set[str]:
    """The names under `extra` that a scenario or its system's clients put into the history."""
    names: set[str] = set(scenario.workload.extra) if scenario.workload else set()
    for arm in scenario.every_arm():
        for step in arm.steps:
            if isinstance(step, OperationStep):
                names |= set(step.extra)
    for client in system.clients.values() if system else ():
        for operation in client.http.operations.values() if client.http else ():
            names |= set(operation.extra)
    return names
