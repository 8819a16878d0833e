"""What a rule is, what it is given to look at, and the table of all rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from refute.checkers.catalog import CheckerEntry
from refute.plan.defect import Defect, Severity
from refute.plan.document import Block, Claim, Plan
from refute.plan.labels import PARTS, RIGOUR, labelled, lines_of, rows_by_name
from refute.plan.pitfalls import Pitfall
from refute.plan.scenario import GENERATORS, Scenario
from refute.plan.told import told_trials
from refute.plan.trial import Said, Trial, trial_of

ReadCitation = Callable[[str, int, int, str], str | None]
"""`(path, first line, last line, commit)` to the text of these lines, or None where there is none."""

Stands = Callable[[str], bool]
"""Whether a file or folder of this name, relative to the plan's folder, is there."""

Hit = tuple[int, str, str, str]
"""What a rule yields: line, section, subject, what is wrong here."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: why it matters, how to mend what trips it, and the function that finds it."""

    id: str
    severity: Severity
    title: str
    why: str
    mend: str
    find: Callable[[Review], Iterable[Hit]]

    def defects(self, review: Review) -> Iterator[Defect]:
        """The defects that this rule finds in a plan."""
        for line, section, subject, what in self.find(review):
            yield Defect(self.id, line, section, what, self.mend, subject, self.severity)


RULES: dict[str, Rule] = {}


def rule(
    id: str,  # noqa: A002 - the field's own word
    severity: Severity,
    *,
    why: str,
    mend: str,
) -> Callable[[Callable[[Review], Iterable[Hit]]], Callable[[Review], Iterable[Hit]]]:
    """Puts a function into the table of rules; the first line of its docstring is the rule's title."""

    def register(find: Callable[[Review], Iterable[Hit]]) -> Callable[[Review], Iterable[Hit]]:
        if id in RULES:
            raise ValueError(f"rule {id} stands twice")
        title = (find.__doc__ or "").strip().splitlines()[0]
        RULES[id] = Rule(id, severity, title, why, mend, find)
        return find

    return register


@dataclass
class Review:
    """A plan under review, with the catalogs and the citation reader that rules may consult."""

    plan: Plan
    checkers: Mapping[str, CheckerEntry] = field(default_factory=dict)
    pitfalls: tuple[Pitfall, ...] = ()
    read_citation: ReadCitation | None = None
    stands: Stands | None = None
    defects: tuple[Defect, ...] = ()
    generators: tuple[str, ...] = GENERATORS

    @cached_property
    def scenarios(self) -> tuple[tuple[Scenario, Block], ...]:
        """Each scenario with the block that it was read from."""
        return tuple(
            (scenario, self.plan.scenario_blocks[name]) for name, scenario in self.plan.scenarios.items()
        )

    @cached_property
    def trials(self) -> tuple[Trial, ...]:
        """Every scenario by its facts: those that have a yaml block, then those that have words only."""
        written = (
            trial_of(scenario, block, self.scenario_text(scenario.id), seven_m(self.plan, scenario.id) or {})
            for scenario, block in self.scenarios
        )
        shared = _shared_7m(self.plan)
        told = (
            replace(trial, parts={**shared, **trial.parts}) if shared else trial
            for trial in told_trials(self.plan)
        )
        return (*written, *told)

    @cached_property
    def told(self) -> tuple[Trial, ...]:
        """The scenarios that have words only."""
        return tuple(trial for trial in self.trials if trial.in_words)

    @cached_property
    def families(self) -> dict[str, frozenset[str]]:
        """The fault families that each scenario injects."""
        return {trial.id: trial.families for trial in self.trials}

    @cached_property
    def _by_name(self) -> dict[str, Trial]:
        return {name.casefold(): trial for trial in reversed(self.trials) for name in trial.names}

    def trial_named(self, name: str) -> Trial | None:
        """The scenario that a plan calls so, by its id or its name."""
        return self._by_name.get(name.strip(" *_`.").casefold())

    @cached_property
    def _by_claim(self) -> dict[str, tuple[Trial, ...]]:
        found: dict[str, list[Trial]] = {}
        for trial in self.trials:
            for claim in dict.fromkeys(trial.claims):
                found.setdefault(claim, []).append(trial)
        return {claim: tuple(trials) for claim, trials in found.items()}

    def trials_of(self, claim: str) -> tuple[Trial, ...]:
        """The scenarios that try to falsify a claim, those in words too."""
        return self._by_claim.get(claim, ())

    def claims_of(self, scenario: Scenario | Trial) -> tuple[Claim, ...]:
        """The claims that a scenario tries to falsify, as far as they exist."""
        named = scenario.claims if isinstance(scenario, Trial) else scenario.falsifies
        return tuple(self.plan.claims[name] for name in named if name in self.plan.claims)

    def scenarios_on(self, *categories: str) -> Iterator[tuple[Scenario, Block]]:
        """Each scenario that has a yaml block and a claim of one of these categories, with its block."""
        for scenario, block in self.scenarios:
            if any(set(categories) & set(categories_of(claim)) for claim in self.claims_of(scenario)):
                yield scenario, block

    def is_on(self, trial: Trial, *categories: str) -> bool:
        """Whether one of a scenario's claims is of one of these categories."""
        return any(set(categories) & set(categories_of(claim)) for claim in self.claims_of(trial))

    def scenarios_of(self, claim: str) -> tuple[Scenario, ...]:
        """The scenarios with a yaml block that try to falsify a claim: what a run can speak of."""
        return tuple(scenario for scenario, _ in self.scenarios if claim in scenario.falsifies)

    def text_of(self, *numbers: str) -> str:
        """The text of these sections, those that a person added below them included."""
        return "\n".join(section.text for section in self.plan.sections if section.number in numbers)

    def scenario_text(self, scenario: str) -> str:
        """All that the plan says about one scenario: heading, prose, block, 7.M."""
        return "\n".join(section.text for section in self.plan.parts(scenario))

    def names(self, text: str, name: str) -> bool:
        """Whether a text names an id as a word of its own, or within a range such as `C1-C9`."""
        if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w])", text):
            return True
        found = re.fullmatch(r"([A-Za-z]+)(\d+)", name)
        if not found:
            return False
        ranges = re.finditer(rf"\b{found[1]}(\d+)\s*(?:-|–|\.\.|to)\s*(?:{found[1]})?(\d+)\b", text)
        return any(int(each[1]) <= int(found[2]) <= int(each[2]) for each in ranges)

    def line_in(self, number: str, pattern: str) -> int:
        """The first line of a section that matches, or the section's own."""
        section = self.plan.section(number)
        if section is None:
            return 0
        found = (number for number, line in section.lines if re.search(pattern, line, re.I))
        return next(found, section.line)


def categories_of(claim: Claim) -> tuple[str, ...]:
    """The categories of a claim: most have one, and a person may write `safety, durability`."""
    return tuple(part for part in re.split(r"[\s,/;&+]+", claim.category) if part)


SEVEN_M = (
    *("model", "history", "checker", "nemesis", "landing evidence", "ambiguous outcomes", "reduction"),
)
"""The parts of a 7.M."""
_LABEL = re.compile(
    r"^\s*(?:[|*+-]|\d+[.)])?\s*[*_`]*([A-Za-z][^|:*_`.—]{0,60}?)[*_`]*\s*(?:[|:.—]|\s-\s)[*_`]*(.*)$"
)
_WORDS = PARTS | {
    "checker": re.compile(r"\b(?:checker|oracle)", re.I),
    "nemesis": re.compile(r"\b(?:nemesis|faults?\b)", re.I),
}


def seven_m(plan: Plan, scenario: str) -> dict[str, Said] | None:
    """What the scenario's 7.M says about each part, with the line; None where it has no 7.M.

    Read from rows of a table or from items such as `- **Model**: a register`, where one label may cover two
    parts; or from its row in a table of all scenarios.
    """
    section = next((part for part in plan.parts(scenario) if part.number == "7.M"), None)
    found: dict[str, Said] = {}
    for line, text in lines_of(section) if section else ():
        if not (label := _LABEL.match(text)):
            continue
        said = label[2].strip(" |*_`")
        for name in SEVEN_M:
            if said and _WORDS[name].search(label[1]) and name not in found:
                found[name] = (said, line)
    if section is None:
        rows = rows_by_name(plan).get(scenario.casefold(), {})
        row = {name: said for name, said in rows.items() if name in SEVEN_M}
        return row if set(row) & set(RIGOUR) else None
    return found


def _shared_7m(plan: Plan) -> dict[str, Said]:
    """What a 7.M that belongs to no scenario says of all of them."""
    section = next((part for part in plan.sections if part.number == "7.M" and not part.scenario), None)
    said = labelled(lines_of(section)) if section else {}
    return {part: said[part] for part in SEVEN_M if part in said}
