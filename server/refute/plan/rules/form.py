"""Rules of form: what cannot be read, what the runner would miss, what somebody still has to fill in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from textwrap import shorten

from refute.plan.references import near
from refute.plan.rules.rule import Hit, Review, rule
from refute.plan.sections import TITLES
from refute.plan.trial import Trial

READING = {
    "bad-yaml": "a block that does not parse is a scenario that is not run",
    "yaml-too-large": "a plan is read by people; what unfolds without bound is not",
    "duplicate-key": "YAML keeps the last of two keys without a word, so that a weaker oracle could win",
    "unknown-key": "a key that nobody reads is a wish, not a test",
    "missing-key": "the runner does not guess",
    "missing-id": "what has no id cannot be named by a scenario, a verdict or a reviewer",
    "wrong-type": "the runner does not guess",
    "bad-value": "the runner does not guess",
    "bad-step": "a step that cannot be read would end the sequence before it reached its suspect",
    "duplicate-id": "a verdict on an id that stands for two things says nothing on either",
    "unknown-claim": "a scenario that tries to falsify nothing proves nothing",
    "unknown-hypothesis": "a suspicion that is not written down cannot be judged by a reviewer",
    "unknown-system": "a scenario without a system cannot run",
    "unknown-operation": "an operation that the client does not know fails before it reaches the system",
    "unknown-node": "a fault at a node that does not exist lands nowhere",
    "not-a-spare": "a node that is there from the beginning cannot be added",
    "unknown-state": "a state that is not described can be neither awaited nor taken as evidence",
    "unknown-client": "a client that is not described sends nothing",
    "unknown-command": "a command that is not described is not run",
    "unknown-version": "a version that is not described cannot be started",
    "unknown-template": "a command with a word that nothing fills in starts nothing",
}
"""Why each defect matters that reading itself finds; all are errors."""

_NEEDED = ("1", "1b", "2", "4", "6b", "7", "7c", "7d", "8")


@rule(
    "missing-section",
    "error",
    why=(
        "people cite these numbers, and a reviewer signs what is written: what is absent was not thought "
        "about"
    ),
    mend="add the section; where there is nothing to say, say why in one line",
)
def missing_section(review: Review) -> Iterator[Hit]:
    """A section is missing that the runner or a reviewer needs."""
    for number in _NEEDED:
        if review.plan.section(number) is None:
            yield 0, number, "", f"section {number} ({TITLES[number]}) is missing"


@rule(
    "missing-optional-section",
    "warning",
    why=(
        "architecture, gaps, existing tests, matrix, techniques, adequacy and questions are where a second "
        "pair of eyes starts"
    ),
    mend="add the section, or one line that says why it is not needed",
)
def missing_optional_section(review: Review) -> Iterator[Hit]:
    """A section is missing that most plans have."""
    for number in TITLES:
        if number not in _NEEDED and "." not in number and review.plan.section(number) is None:
            yield 0, number, "", f"section {number} ({TITLES[number]}) is missing"


@rule(
    "empty-section",
    "error",
    why="an empty section looks like a finished one from the table of contents",
    mend="write what there is to say, or one line on why there is nothing",
)
def empty_section(review: Review) -> Iterator[Hit]:
    """A section has a heading and nothing below it."""
    sections = review.plan.sections
    for place, section in enumerate(sections):
        followed = place + 1 < len(sections) and sections[place + 1].level > section.level
        if section.number and not followed and not any(line.strip() for _, line in section.lines[1:]):
            yield section.line, section.number, section.scenario, f"section {section.number} is empty"


@rule(
    "todo-left",
    "error",
    why="a place marked for judgement was left by a machine that could not decide it",
    mend="decide it, and write the decision in place of the mark",
)
def todo_left(review: Review) -> Iterator[Hit]:
    """A place marked `TODO(judge)` is still open."""
    for section in review.plan.sections:
        for number, line in section.lines:
            for found in re.finditer(r"TODO\(judge\):?\s*([^|]*)", line):
                row = re.match(r"\s*\|\s*([A-Z]\d+)\s*\|", line)
                yield (
                    number,
                    section.number,
                    section.scenario or (row[1] if row else ""),
                    f"open: {shorten(found[1].strip(' *`'), 100, placeholder=' …')}",
                )


@rule(
    "unknown-generator",
    "error",
    why="a generator that does not exist sends nothing",
    mend="name one that exists, or write the operations as steps",
)
def unknown_generator(review: Review) -> Iterator[Hit]:
    """The load of a scenario comes from a generator that does not exist."""
    for scenario, block in review.scenarios:
        if (load := scenario.workload) and load.generator not in review.generators:
            hint = near(load.generator, review.generators)
            what = f"there is no generator {load.generator!r}; {hint}"
            yield block.line_of("workload", "generator"), block.section, scenario.id, what


@rule(
    "no-system",
    "error",
    why="without a system in section 6b nothing can be started",
    mend="describe the system in a yaml block in section 6b: nodes, command, ready, states, clients",
)
def no_system(review: Review) -> Iterator[Hit]:
    """Section 6b holds no `yaml` block that describes a system."""
    if not review.plan.systems and not any(block.kind == "system" for block in review.plan.blocks):
        section = review.plan.section("6b")
        yield section.line if section else 0, "6b", "", "no system is described for the runner"


@rule(
    "no-scenario",
    "error",
    why="a plan of prose and tables can be read, but the runner would run nothing",
    mend=(
        "give each scenario in section 7 a yaml block with id, name, falsifies, system, steps or workload, "
        "check"
    ),
)
def no_scenario(review: Review) -> Iterator[Hit]:
    """Section 7 holds no scenario that a machine can run."""
    if not review.plan.scenarios and not any(block.kind == "scenario" for block in review.plan.blocks):
        section = review.plan.section("7")
        told = f", only {len(review.told)} for people" if review.told else ""
        yield section.line if section else 0, "7", "", f"no scenario is written for the runner{told}"


@rule(
    "scenario-without-block",
    "error",
    why="the reviewer reads a scenario that the runner does not know of",
    mend="add its yaml block, or move it to section 8 with the reason why it is not run",
)
def scenario_without_block(review: Review) -> Iterator[Hit]:
    """A scenario is written in words, and has no `yaml` block."""
    written = {block.scenario for block in review.plan.blocks if block.kind == "scenario"}
    written |= {trial.id for trial in review.told}
    for section in review.plan.sections:
        if section.scenario and section.number == f"7.{section.scenario}" and section.scenario not in written:
            what = f"{section.scenario} has no yaml block, so that the runner would miss it"
            yield section.line, section.number, section.scenario, what
    for trial in review.told:
        unsaid = [name for name, given in _for_a_runner(trial) if not given]
        what = f"{trial.id} has no yaml block, so that the runner would miss it"
        if unsaid:
            what += f"; its words leave open: {', '.join(unsaid)}"
        yield trial.line, trial.section, trial.id, what


def _for_a_runner(trial: Trial) -> Iterator[tuple[str, bool]]:
    """What a runner has to know of a scenario, and whether its words say so."""
    yield "which claim", bool(trial.claims)
    yield "which fault", not trial.fault_is_open
    yield "how often the fault happens", not trial.families or trial.faults is not None
    yield "by which signal it landed", not trial.families or "landing evidence" in trial.parts
    yield "the load or the steps", bool({"load", "nemesis"} & set(trial.parts))
    yield "the oracle", "checker" in trial.parts
    yield "how many seeds", trial.seeds is not None


@rule(
    "unread-block",
    "warning",
    why="people take a yaml block in these sections for something that is run",
    mend="name the keys that make it a system or a scenario, or mark the fence `text`",
)
def unread_block(review: Review) -> Iterator[Hit]:
    """A `yaml` block stands in section 6b or 7 and the runner reads nothing of it."""
    for block in review.plan.blocks:
        known = block.kind != "other" or block.section in ("1b", "4")
        if not known and (block.section == "6b" or block.section.startswith("7")) and block.data is not None:
            yield (
                block.line,
                block.section,
                block.scenario,
                "a yaml block that is neither a system nor a scenario",
            )


@rule(
    "heading-names-another-scenario",
    "error",
    why="prose and 7.M are then read for the wrong scenario",
    mend="give heading and block the same id",
)
def heading_names_another_scenario(review: Review) -> Iterator[Hit]:
    """A heading names one scenario and the block below it another."""
    for scenario, block in review.scenarios:
        section = next((part for part in review.plan.parts(scenario.id) if part.line < block.line), None)
        if section is None:
            continue
        heading = section.lines[0][1]
        named = re.search(r"\b(?:7\.)?([A-Z]{1,4}-?\d+[a-z]?)\b", heading)
        if named and named[1] != scenario.id and named[1][:1] == scenario.id[:1]:
            what = f"the heading says {named[1]}, its yaml block says {scenario.id}"
            yield section.line, section.number, scenario.id, what
