"""A whole plan: its sections, claims, hypotheses, systems and scenarios, with the line of each."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from refute.errors import InputError
from refute.plan.defect import Defect
from refute.plan.markdown import Table
from refute.plan.scenario import Scenario
from refute.plan.system_spec import SystemSpec

CATEGORIES = (
    *("safety", "liveness", "durability", "performance", "operational", "idempotency"),
    *("isolation", "ordering", "membership", "boundary", "fairness"),
)


LINE_BREAK = re.compile(r"\r\n|\r|\n")
"""What ends a line of a plan; `str.splitlines` would also break at a form feed or U+2028."""

MOST_LINES = 40
"""How many defects a PlanError's text names; the rest is counted."""


class PlanError(InputError):
    """A plan that cannot be read: every defect that was found, in the order of the file."""

    def __init__(
        self,
        what: str,
        *,
        where: str | Path | None = None,
        hint: str | None = None,
        defects: tuple[Defect, ...] = (),
        path: Path | None = None,
    ) -> None:
        super().__init__(what, where=where, hint=hint)
        self.defects = defects
        self.path = path

    @classmethod
    def of(cls, defects: tuple[Defect, ...], path: Path | None) -> PlanError:
        """One error for all defects."""
        first = defects[0]
        where = f"{path or 'plan'}:{first.line}"
        return cls(first.what, where=where, hint=first.mend or None, defects=defects, path=path)

    def __str__(self) -> str:
        """The first defects, a line each: `plan.md:118: section 7, S3: what is wrong (mend) [rule]`."""
        if not self.defects:
            return super().__str__()
        lines = [defect.at(self.path) for defect in self.defects[:MOST_LINES]]
        if len(self.defects) > MOST_LINES:
            lines.append(f"{len(self.defects) - MOST_LINES} more left out: `refute plan check` lists them")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class Claim:
    """One promise of the product: row of section 1b. `source` is `path:lines@commit` or a URL as written."""

    id: str
    text: str
    category: str
    source: str = ""
    line: int = 0
    extra: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One way in which a claim may be false: row of section 4."""

    id: str
    text: str
    claims: tuple[str, ...]
    suspect: str = ""
    sequence: str = ""
    line: int = 0
    extra: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Section:
    """One numbered section (`1b`, `7.M`), its heading, its text byte for byte, and its first line.

    Sections follow one another without a gap: a section ends where the next heading of the plan's own kind
    begins, so that `7` is only what stands before the first scenario. `number` is `7.S3` for a scenario's own
    part, `""` for a section that a person added; `scenario` names the scenario that a part belongs to.
    `start` is the offset of the heading in the source.
    """

    number: str
    title: str
    text: str
    line: int
    scenario: str = ""
    level: int = 0
    start: int = 0

    @property
    def lines(self) -> list[tuple[int, str]]:
        """Each line with its number in the plan; the first is the heading."""
        return list(enumerate(LINE_BREAK.split(self.text), self.line))

    def line_at(self, offset: int) -> int:
        """The number in the plan of the line at this place of the text."""
        return self.line + len(LINE_BREAK.findall(self.text, 0, offset))


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced yaml block: what it holds and the line of each path in it (`("steps", 2)` to 118).

    `line` and `end` are the lines of the two fences, counted from 1.
    """

    kind: Literal["system", "scenario", "other"]
    section: str
    line: int
    data: Any
    lines: dict[tuple[str | int, ...], int] = field(default_factory=dict)
    end: int = 0
    scenario: str = ""

    def line_of(self, *path: str | int) -> int:
        """The line of the longest part of a path that the block has."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return self.line


@dataclass(frozen=True)
class Plan:
    """A plan in memory; `source` is the Markdown from which it was read, and writing it back is that text."""

    path: Path | None
    slug: str
    title: str
    source: str
    sections: tuple[Section, ...]
    blocks: tuple[Block, ...]
    claims: dict[str, Claim]
    hypotheses: dict[str, Hypothesis]
    systems: dict[str, SystemSpec]
    scenarios: dict[str, Scenario]
    digest: str
    tables: tuple[Table, ...] = ()
    meta: dict[str, Any] = field(default_factory=dict)
    scenario_blocks: dict[str, Block] = field(default_factory=dict)
    system_blocks: dict[str, Block] = field(default_factory=dict)

    def section(self, number: str) -> Section | None:
        """The first section of that number."""
        return next((section for section in self.sections if section.number == number), None)

    @cached_property
    def _by_scenario(self) -> dict[str, tuple[Section, ...]]:
        found: dict[str, list[Section]] = {}
        for section in self.sections:
            found.setdefault(section.scenario, []).append(section)
        return {scenario: tuple(sections) for scenario, sections in found.items()}

    def parts(self, scenario: str) -> tuple[Section, ...]:
        """The sections that belong to one scenario, its own heading first."""
        return self._by_scenario.get(scenario, ())
