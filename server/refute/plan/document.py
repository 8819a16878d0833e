"""A whole plan: its sections, claims, hypotheses, systems and scenarios, with the line of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from refute.errors import InputError
from refute.plan.scenario import Scenario
from refute.plan.system_spec import SystemSpec

CATEGORIES = (
    *("safety", "liveness", "durability", "performance", "operational", "idempotency"),
    *("isolation", "ordering", "membership", "boundary", "fairness"),
)


class PlanError(InputError):
    """A plan that cannot be read, with file, line and what to write instead."""


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
    """One numbered section (`1b`, `7.M`), its heading, its text byte for byte, and its first line."""

    number: str
    title: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced yaml block: what it holds and the line of each path in it (`("steps", 2)` to 118)."""

    kind: Literal["system", "scenario", "other"]
    section: str
    line: int
    data: Any
    lines: dict[tuple[str | int, ...], int] = field(default_factory=dict)


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
