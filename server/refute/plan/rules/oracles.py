"""Rules on oracles: there is one, a machine can evaluate it, and it is the one that is run."""

from __future__ import annotations

import re
from collections.abc import Iterator

from refute.plan.rules.rule import Hit, Review, rule, seven_m
from refute.plan.rules.wording import COMPARISON, HUMAN_ORACLE


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
            for number, line in section.lines:
                if found := _ORACLE_LABEL.match(line):
                    yield number, section.number, section.scenario, found[2], True


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
