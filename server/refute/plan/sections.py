"""The numbered sections of a plan, found from the headings of a Markdown file."""

from __future__ import annotations

import bisect
import re
from dataclasses import dataclass

from refute.plan.document import Section
from refute.plan.markdown import Heading, Outline

NUMBERS = (
    *("0", "1", "1b", "1c", "2", "3", "4", "5", "6", "6b", "7", "7b", "7c", "7d", "8", "9"),
    *("7.M", "7.M.S"),
)
TITLES = {
    "0": "Architecture",
    "1": "Scope",
    "1b": "Claims",
    "1c": "Missing claims",
    "2": "System model",
    "3": "Existing tests",
    "4": "Hypotheses",
    "5": "Coverage matrix",
    "6": "Techniques",
    "6b": "Environment",
    "7": "Scenarios",
    "7.M": "Model, history, checker, nemesis and landing evidence, ambiguous outcomes, reduction",
    "7.M.S": "Surfaces and arms",
    "7b": "Adequacy",
    "7c": "Residual uncertainty",
    "7d": "Confidence",
    "8": "Not covered",
    "9": "Open questions",
}
_OTHER_TITLES = {
    "1b": ("guarantees", "promises", "claims under test", "claims and guarantees", "safety properties"),
    "1c": ("unstated claims", "claims that are missing"),
    "2": ("fault model", "failure model", "system and fault model", "system under test"),
    "3": ("existing coverage", "current tests", "existing test coverage"),
    "4": ("failure hypotheses", "hypothesis"),
    "5": ("coverage", "fault matrix", "matrices"),
    "6": ("approach", "methods", "test techniques"),
    "6b": ("test environment", "environments", "test bed", "testbed", "environment requirements"),
    "7": ("test scenarios", "test cases", "scenario"),
    "7b": ("adequacy of the scenarios", "adequacy argument"),
    "7c": ("residual risk", "residual risks", "uncertainty"),
    "7d": ("exit criteria", "stop criteria", "confidence and exit criteria", "done when"),
    "8": ("out of scope", "non-goals", "not tested"),
    "9": ("questions",),
}
_BY_TITLE = {
    title: number
    for number, own in TITLES.items()
    if "." not in number
    for title in (own.lower(), *_OTHER_TITLES.get(number, ()))
}
_TOP = tuple(number for number in NUMBERS if "." not in number)
_NUMBERED = re.compile(
    r"^(?:§\s*|section\s+)?(\d+[a-z]?(?:\.[A-Za-z0-9_-]+)*)(?:[.):]|\s*[-—–:])?(?:\s+(.*))?$", re.I
)
_SCENARIO = re.compile(r"^(?:7\.)?(?:scenario\s+)?([A-Za-z]{1,6}-?\d+[a-z]?)\b[\s:.—–-]*(.*)$", re.I)


@dataclass(frozen=True, slots=True)
class _Start:
    heading: Heading
    number: str
    title: str
    scenario: str = ""


def read_sections(source: str, outline: Outline, scenario_lines: dict[str, int]) -> tuple[Section, ...]:
    """The sections in the order of the file. `scenario_lines` says at which line each yaml scenario begins.

    A heading begins a section where, at the level of the plan's own headings, it carries one of the plan's
    numbers, or the title of a section under another number or none, as people number their own way; or where
    it names a scenario inside section 7; or where it stands as high as the section before it and is none of
    these (a section of a person's own).
    """
    own_level = _own_level(outline.headings)
    starts = _starts(outline.headings, own_level)
    named = _scenarios_by_block(starts, scenario_lines)
    sections = []
    current = ""
    for place, start in enumerate(starts):
        if start.number in _TOP or not start.number or start.heading.level == own_level:
            current = ""
        elif start.scenario:
            current = named.get(place, start.scenario)
        end_line = starts[place + 1].heading.line if place + 1 < len(starts) else len(outline.starts) - 1
        begin, end = outline.starts[start.heading.line], outline.starts[end_line]
        number = f"7.{current}" if start.scenario else start.number
        scenario = current or named.get(place, "")
        sections.append(
            Section(
                number,
                start.title,
                source[begin:end],
                start.heading.line + 1,
                scenario,
                start.heading.level,
                begin,
            )
        )
        if not current and scenario:
            current = scenario
    return tuple(sections)


def section_at(sections: tuple[Section, ...], line: int) -> Section | None:
    """The section in which a line (from 1) stands, or None before the first."""
    place = bisect.bisect_right([section.line for section in sections], line) - 1
    return sections[place] if place >= 0 else None


def _starts(headings: tuple[Heading, ...], own_level: int) -> list[_Start]:
    starts: list[_Start] = []
    inside_7 = False
    meant = _meant([heading for heading in headings if heading.level == own_level])
    for heading in headings:
        number, title = meant.get(heading) or _number(heading.text)
        if heading.level == own_level and number in _TOP:
            inside_7 = number == "7"
            starts.append(_Start(heading, number, title))
        elif inside_7 and number in ("7.M", "7.M.S"):
            starts.append(_Start(heading, number, title))
        elif inside_7 and heading.level > own_level:
            if found := _SCENARIO.match(heading.text):
                starts.append(_Start(heading, "7.x", found[2].strip(), found[1]))
            elif number.startswith("7.") and title:
                starts.append(_Start(heading, "7.x", title, title.split()[0].strip(":.—–")))
        elif starts and heading.level <= starts[-1].heading.level and heading.level <= own_level:
            inside_7 = False
            starts.append(_Start(heading, "", heading.text))
    return starts


def _meant(headings: list[Heading]) -> dict[Heading, tuple[str, str]]:
    """Number and title of the headings that have the title of a section and not its number.

    What stands under its own number is believed first; of several with one title the first is meant.
    """
    read = [(heading, *_number(heading.text)) for heading in headings]
    taken = {number for _, number, title in read if number in _TOP and _titled(title) in ("", number)}
    meant = {}
    for heading, number, title in read:
        of_title = _titled(title)
        if of_title and of_title != number and of_title not in taken:
            taken.add(of_title)
            meant[heading] = of_title, title
    return meant


def _titled(title: str) -> str:
    """The number of the section that has this title; "" where none has."""
    return _BY_TITLE.get(title.strip(" :.*_").lower(), "")


def _own_level(headings: tuple[Heading, ...]) -> int:
    """The level at which most of the plan's numbers stand; the highest of equals."""
    counts: dict[int, set[str]] = {}
    for heading in headings:
        number, title = _number(heading.text)
        if number not in _TOP:
            number = _titled(title)
        if number:
            counts.setdefault(heading.level, set()).add(number)
    return max(counts, key=lambda level: (len(counts[level]), -level), default=2)


def _number(text: str) -> tuple[str, str]:
    found = _NUMBERED.match(text.strip())
    if not found:
        return "", text
    number = found[1]
    number = (
        number.lower()
        if number.lower() in _TOP
        else number.upper()
        if number[:3].upper() == "7.M"
        else number
    )
    return number, (found[2] or "").strip()


def _scenarios_by_block(starts: list[_Start], scenario_lines: dict[str, int]) -> dict[int, str]:
    """Which scenario each part belongs to where its yaml block says so: the block's id beats the heading."""
    lines = [start.heading.line + 1 for start in starts]
    named: dict[int, str] = {}
    for scenario, line in scenario_lines.items():
        place = bisect.bisect_right(lines, line) - 1
        while place >= 0 and starts[place].number in ("7.M", "7.M.S") and not starts[place].scenario:
            place -= 1
        if place >= 0 and starts[place].scenario:
            named.setdefault(place, scenario)
    return named
