"""What a rule is, what it is given to look at, and the table of all rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from refute.checkers.catalog import CheckerEntry
from refute.plan.defect import Defect, Severity
from refute.plan.document import Block, Claim, Plan
from refute.plan.families import families_of
from refute.plan.pitfalls import Pitfall
from refute.plan.scenario import Scenario

ReadCitation = Callable[[str, int, int, str], str | None]
"""`(path, first line, last line, commit)` to the text of these lines, or None where there is none."""

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
    defects: tuple[Defect, ...] = ()

    @cached_property
    def scenarios(self) -> tuple[tuple[Scenario, Block], ...]:
        """Each scenario with the block that it was read from."""
        return tuple(
            (scenario, self.plan.scenario_blocks[name]) for name, scenario in self.plan.scenarios.items()
        )

    @cached_property
    def families(self) -> dict[str, set[str]]:
        """The fault families that each scenario injects."""
        return {scenario.id: families_of(scenario) for scenario, _ in self.scenarios}

    def claims_of(self, scenario: Scenario) -> tuple[Claim, ...]:
        """The claims that a scenario tries to falsify, as far as they exist."""
        return tuple(self.plan.claims[name] for name in scenario.falsifies if name in self.plan.claims)

    def scenarios_of(self, claim: str) -> tuple[Scenario, ...]:
        """The scenarios that try to falsify a claim."""
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
        for place, line in enumerate(re.split(r"\r\n|\r|\n", section.text)):
            if re.search(pattern, line, re.I):
                return section.line + place
        return section.line


def categories_of(claim: Claim) -> tuple[str, ...]:
    """The categories of a claim: most have one, and a person may write `safety, durability`."""
    return tuple(part for part in re.split(r"[\s,/;&+]+", claim.category) if part)


SEVEN_M = {
    "model": re.compile(r"\bmodel", re.I),
    "history": re.compile(r"\bhistor", re.I),
    "checker": re.compile(r"\b(?:checker|oracle)", re.I),
    "nemesis": re.compile(r"\b(?:nemesis|faults?\b)", re.I),
    "landing evidence": re.compile(r"\blanding|\bevidence", re.I),
    "ambiguous outcomes": re.compile(r"ambiguous|unknown outcome|indeterminate|timeouts?", re.I),
    "reduction": re.compile(r"reduc|shrink|minimi", re.I),
}
_LABEL = re.compile(
    r"^\s*(?:[|*+-]|\d+[.)])?\s*[*_`]*([A-Za-z][^|:*_`.—]{0,60}?)[*_`]*\s*(?:[|:.—]|\s-\s)[*_`]*(.*)$"
)


def seven_m(plan: Plan, scenario: str) -> dict[str, tuple[str, int]] | None:
    """What the scenario's 7.M says about each part, with the line; None where it has no 7.M.

    Read from rows of a table or from items such as `- **Model**: a register`; one label may cover two parts.
    """
    section = next((part for part in plan.parts(scenario) if part.number == "7.M"), None)
    if section is None:
        return None
    found: dict[str, tuple[str, int]] = {}
    for place, line in enumerate(re.split(r"\r\n|\r|\n", section.text)):
        if place == 0 or not (label := _LABEL.match(line)):
            continue
        said = label[2].strip(" |*_`")
        for name, words in SEVEN_M.items():
            if said and words.search(label[1]) and name not in found:
                found[name] = (said, section.line + place)
    return found
