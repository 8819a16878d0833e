"""What this room answers with: claims, contradictions, maps, toolboxes and change scopes as frozen data.

Every result has `to_json()` (plain data), `rows()` (one item a line, in rank order) and `text(limit)` (a
rendering that fits a coding agent; `limit` is in characters, about four to a token).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from refute.repository.lexicon import Category
from refute.repository.polarity import Polarity

TestStrength = Literal["name only", "asserts", "under fault"]
ContradictionKind = Literal[
    "order differs",
    "number differs",
    "polarity differs",
    "default is off",
    "one against many",
    "default differs",
]
DEFAULT_TEXT_CHARACTERS = 20_500  # with the data beside it under 8,000 tokens of three and a half characters


class Fact(BaseModel):
    """Frozen data that turns into JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def to_json(self) -> dict[str, Any]:
        """Plain data: dictionaries, lists, strings and numbers."""
        return self.model_dump(mode="json")


class Place(Fact):
    """Lines of a file, counted from 1, both ends included."""

    path: str
    line: int
    end_line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}" + (f"-{self.end_line}" if self.end_line > self.line else "")


class Threshold(Fact):
    """A number that the claim names, with its unit, as it stands in the text."""

    value: str
    unit: str


class Falsifier(Fact):
    """What would show the claim to be false: the fault to inject and the oracle that would notice."""

    fault: str
    oracle: str


class RelatedTest(Fact):
    """An existing test that seems to be about the claim, and how much its text shows that it checks.

    `in_ci` says whether a job on push, pull request or a schedule runs a command that reaches it; `ci` is the
    line of that job, or why it cannot be told.
    """

    name: str
    place: Place
    strength: TestStrength
    in_ci: Literal["yes", "no", "unknown"] = "unknown"
    ci: str = ""


class Claim(Fact):
    """One promise of the product, cited.

    `quote` is exactly the text of the cited lines. `score` is the logarithm of the odds that a reader would
    put the claim in a test plan, `confidence` the same as a probability.
    """

    id: str
    rank: int
    score: float
    sentence: str
    quote: str
    path: str
    line: int
    end_line: int
    commit: str
    symbol: str = ""
    heading: str = ""
    channel: str
    category: Category
    secondary: tuple[Category, ...] = ()
    polarity: Polarity
    conditions: tuple[str, ...] = ()
    default: str | None = None
    threshold: Threshold | None = None
    explicit: bool = True
    rule: str = ""
    confidence: float
    reasons: tuple[str, ...] = ()
    falsified_by: Falsifier
    also_at: tuple[Place, ...] = ()
    related_tests: tuple[RelatedTest, ...] = ()

    @property
    def citation(self) -> str:
        """`path:start-end@commit`."""
        return f"{Place(path=self.path, line=self.line, end_line=self.end_line)}@{self.commit[:12]}"


class Contradiction(Fact):
    """Two places of the repository that cannot both be right, or a promise that a default switches off."""

    kind: ContradictionKind
    note: str
    a: Place
    a_quote: str
    b: Place
    b_quote: str
    confidence: float


class ClaimSet(Fact):
    """The claims of one snapshot in rank order.

    `claims` holds all that were kept, `top` how many to show, `promising` how many promise enough to be
    shown unasked.
    """

    name: str
    commit: str
    top: int
    promising: int = 0
    claims: tuple[Claim, ...]
    counts: dict[str, int]
    contradictions: tuple[Contradiction, ...] = ()
    candidates: int = 0
    withheld: int = 0
    left_out: dict[str, int] = {}
    without_grammar: dict[str, int] = {}
    notes: tuple[str, ...] = ()

    def rows(self) -> Iterator[dict[str, Any]]:
        """One dictionary a claim in rank order, with `path`, `line`, `end_line`, `category` and `also_at`."""
        for claim in self.claims:
            yield claim.to_json()

    def text(self, limit: int = DEFAULT_TEXT_CHARACTERS, *, start: int = 0) -> str:
        """The first `top` claims in at most `limit` characters, without the first `start` lines of them."""
        from refute.repository.rendering import claims_text

        return claims_text(self, limit, start)


class MapItem(Fact):
    """One thing on the map: what it is, where it shows, and the line that shows it."""

    kind: str
    name: str
    path: str
    line: int
    end_line: int
    shown: str = ""
    also_at: tuple[Place, ...] = ()


class Component(Fact):
    """A folder that holds a part of the product."""

    path: str
    files: int
    lines: int
    languages: tuple[str, ...]
    purpose: str = ""
    marks: dict[str, int] = {}
    tests: int = 0


class RepositoryMap(Fact):
    """What there is: components, surfaces, machinery, and where to start reading."""

    name: str
    commit: str
    languages: dict[str, int]
    files: int
    components: tuple[Component, ...]
    entry_documents: tuple[Place, ...]
    items: tuple[MapItem, ...]
    diagram: str
    absent: tuple[str, ...] = ()
    left_out: dict[str, int] = {}
    without_grammar: dict[str, int] = {}
    notes: tuple[str, ...] = ()

    def rows(self) -> Iterator[dict[str, Any]]:
        """One dictionary an item, with `path`, `line`, `end_line` and `category` (its kind)."""
        for item in self.items:
            yield {**item.to_json(), "category": item.kind}

    def text(self, limit: int = DEFAULT_TEXT_CHARACTERS, *, start: int = 0) -> str:
        """The map in at most `limit` characters, without its first `start` lines."""
        from refute.repository.rendering import map_text

        return map_text(self, limit, start)


class ToolboxEntry(Fact):
    """A way to test the product that is there already, or a hook that a test can use."""

    kind: str
    name: str
    path: str
    line: int
    end_line: int
    command: str = ""
    working_directory: str = "."
    needs: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()
    oracle: str = ""
    seed: str = ""
    trigger: str = ""
    status: str = "active"
    what: str = ""
    also: tuple[str, ...] = ()


class TestInventory(Fact):
    """The tests of one subsystem, and some of what they pin."""

    __test__ = False
    subsystem: str
    tests: int
    asserting: int
    under_fault: int
    pins: tuple[str, ...]
    example: Place


class Toolbox(Fact):
    """How this repository is tested today, and what its claims have no test for."""

    name: str
    commit: str
    entries: tuple[ToolboxEntry, ...]
    inventory: tuple[TestInventory, ...]
    gaps: tuple[str, ...]
    absent: tuple[str, ...]
    left_out: dict[str, int] = {}
    notes: tuple[str, ...] = ()

    def rows(self) -> Iterator[dict[str, Any]]:
        """One dictionary an entry in rank order, with `path`, `line`, `end_line` and `category`."""
        for entry in self.entries:
            yield {**entry.to_json(), "category": entry.kind}

    def text(self, limit: int = DEFAULT_TEXT_CHARACTERS, *, start: int = 0) -> str:
        """The toolbox in at most `limit` characters, without its first `start` lines."""
        from refute.repository.rendering import toolbox_text

        return toolbox_text(self, limit, start)


class ChangedFile(Fact):
    """One file of a change: how it changed, what part it plays, and which symbols the lines belong to."""

    path: str
    status: str
    role: str
    language: str
    added: int
    removed: int
    lines: tuple[tuple[int, int], ...]
    symbols: tuple[str, ...]
    only_comments: bool
    old_path: str = ""
    unread: str = ""  # why its lines were not compared: binary, missing objects, submodule
    dependencies: bool = False
    shipping: Literal["", "changed", "unknown"] = ""  # whether what is built, deployed or started can differ


class ChangeScope(Fact):
    """What a change touches, and whether it calls for a distributed test at all."""

    name: str
    base: str
    head: str
    files: tuple[ChangedFile, ...]
    surfaces: tuple[MapItem, ...]
    claims: tuple[Claim, ...]
    tests: tuple[RelatedTest, ...]
    callers: tuple[MapItem, ...]
    needs_distributed_test: bool | None  # None: it cannot be told
    why: str
    left_out: dict[str, int] = {}
    notes: tuple[str, ...] = ()

    def rows(self) -> Iterator[dict[str, Any]]:
        """One dictionary a touched claim, then one a changed file."""
        for claim in self.claims:
            yield claim.to_json()
        for file in self.files:
            first = file.lines[0] if file.lines else (1, 1)
            yield {
                **file.to_json(),
                "category": "file",
                "line": first[0],
                "end_line": first[1],
                "also_at": [],
            }

    def text(self, limit: int = DEFAULT_TEXT_CHARACTERS, *, start: int = 0) -> str:
        """The scope in at most `limit` characters, without its first `start` lines."""
        from refute.repository.rendering import scope_text

        return scope_text(self, limit, start)
