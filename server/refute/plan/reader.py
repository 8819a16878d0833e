"""Reads a plan: Markdown in, a typed plan out, and every fault of its form in one go."""

from __future__ import annotations

import hashlib
import re
import stat
from pathlib import Path
from typing import Any, Literal

from refute.plan.blocks import read_scenario, read_system
from refute.plan.defect import Defect
from refute.plan.document import LINE_BREAK, Block, Claim, Hypothesis, Plan, PlanError, Section
from refute.plan.items import claims_listed, hypotheses_listed
from refute.plan.markdown import Fence, Table, read_outline
from refute.plan.references import reference_defects
from refute.plan.rows import claim_of, claims_in, hypotheses_in, hypothesis_of
from refute.plan.scenario import Scenario
from refute.plan.sections import read_sections, section_at
from refute.plan.system_spec import SystemSpec
from refute.plan.template_words import template_defects
from refute.plan.yaml_source import YamlText, read_yaml

MAX_PLAN_BYTES = 4 * 1024 * 1024
MAX_PLAN_LINES = 50_000
"""A plan of 300 claims has 6,000: what is longer is read by nobody, and would be checked for minutes."""


def read_plan(path: Path | str) -> Plan:
    """The plan in a file. Raises PlanError naming every defect with its line and section."""
    path = Path(path)
    return parse_plan(read_source(path), path)


def read_source(path: Path) -> str:
    """The text of a plan's file, its line ends untouched. Raises PlanError where it cannot be had."""
    try:
        about = path.stat()
        if not (stat.S_ISREG(about.st_mode) or stat.S_ISDIR(about.st_mode)):
            # Reading a pipe nobody writes to would wait for ever, and a device may never end.
            raise PlanError("this is a pipe or a device", where=path, hint="name the plan's Markdown file")
        if about.st_size > MAX_PLAN_BYTES:
            raise PlanError("a plan is at most 4 MiB", where=path, hint="split it")
        text = path.read_bytes().decode("utf-8")
        if not text.strip("\ufeff \t\r\n"):
            raise PlanError(
                "the file is empty", where=path, hint="begin with `refute plan scaffold REPO --slug NAME`"
            )
        if (lines := len(LINE_BREAK.findall(text))) > MAX_PLAN_LINES:
            raise PlanError(
                f"a plan has at most {MAX_PLAN_LINES:,} lines, not {lines:,}", where=path, hint="split it"
            )
        return text
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise PlanError("not UTF-8", where=f"{path}:{line}", hint="save the plan as UTF-8") from None
    except IsADirectoryError:
        raise PlanError("this is a directory", where=path, hint="name the plan's Markdown file") from None
    except OSError as error:
        raise PlanError(f"the plan cannot be read: {error.strerror or error}", where=path) from None


def parse_plan(text: str, path: Path | None = None) -> Plan:
    """The plan in a text. Raises PlanError naming every defect with its line and section."""
    plan, defects = parse_leniently(text, path)
    if defects:
        raise PlanError.of(defects, path)
    return plan


def parse_leniently(text: str, path: Path | None = None) -> tuple[Plan, tuple[Defect, ...]]:
    """What can be read of a plan, and the defects of the rest in the order of the file. Never raises."""
    reading = _Reading(text, path)
    plan = reading.plan()
    defects = [
        *reading.defects,
        *reference_defects(plan, reading.unread_systems),
        *template_defects(plan),
    ]
    return plan, tuple(sorted(defects, key=lambda defect: (defect.line, defect.rule)))


class _Reading:
    """One reading of one text; what it finds gathers here."""

    def __init__(self, text: str, path: Path | None) -> None:
        self.text, self.path = text, path
        self.defects: list[Defect] = []
        self.claims: dict[str, Claim] = {}
        self.hypotheses: dict[str, Hypothesis] = {}
        self.systems: dict[str, SystemSpec] = {}
        self.scenarios: dict[str, Scenario] = {}
        self.scenario_blocks: dict[str, Block] = {}
        self.system_blocks: dict[str, Block] = {}
        self.unread_systems: set[str] = set()

    def plan(self) -> Plan:
        outline = read_outline(self.text)
        sections = read_sections(self.text, outline, {})
        read = [
            (fence, _number_at(sections, fence.line + 1), self._yaml(fence, sections))
            for fence in outline.fences
            if fence.language in ("yaml", "yml")
        ]
        scenario_lines = {
            str(source.data["id"]): fence.line + 1
            for fence, number, source in read
            if _kind(number, source.data) == "scenario" and "id" in source.data
        }
        sections = read_sections(self.text, outline, scenario_lines)
        blocks = [self._block(fence, source, sections) for fence, _, source in read]
        tables = tuple(_placed(table, sections) for table in outline.tables)
        for table in tables:
            self._rows(table)
        for block, (_, _, source) in zip(blocks, read, strict=True):
            self._read_block(block, source)
        self._items(sections)
        meta = self._front_matter(outline.front_matter)
        title = next((heading.text for heading in outline.headings if heading.level == 1), "")
        slug = str(meta.get("slug") or (self.path.stem if self.path else _slug(title)))
        return Plan(
            path=self.path,
            slug=slug,
            title=title or slug,
            source=self.text,
            sections=sections,
            blocks=tuple(blocks),
            claims=self.claims,
            hypotheses=self.hypotheses,
            systems=self.systems,
            scenarios=self.scenarios,
            digest=hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest(),
            tables=tables,
            meta=meta,
            scenario_blocks=self.scenario_blocks,
            system_blocks=self.system_blocks,
        )

    def _yaml(self, fence: Fence, sections: tuple[Section, ...]) -> YamlText:
        source = read_yaml(fence.content, line=fence.line + 2, section=_number_at(sections, fence.line + 1))
        self.defects += source.defects
        return source

    def _front_matter(self, text: str) -> dict[str, Any]:
        if not text.strip():
            return {}
        source = read_yaml(text, line=2, section="")
        self.defects += source.defects
        return source.data if isinstance(source.data, dict) else {}

    def _block(self, fence: Fence, source: YamlText, sections: tuple[Section, ...]) -> Block:
        section = section_at(sections, fence.line + 1)
        number = section.number if section else ""
        scenario = section.scenario if section else ""
        return Block(
            _kind(number, source.data), number, fence.line + 1, source.data, source.lines, fence.end, scenario
        )

    def _rows(self, table: Table) -> None:
        if table.section == "1b":
            for claim in claims_in(table) or ():
                self._add_claim(claim)
        elif table.section == "4":
            for hypothesis in hypotheses_in(table) or ():
                self._add_hypothesis(hypothesis)

    def _items(self, sections: tuple[Section, ...]) -> None:
        """What is listed counts where no table and no block says it."""
        tabled = bool(self.claims), bool(self.hypotheses)
        for section in sections:
            if section.number == "1b" and not tabled[0]:
                for claim in claims_listed(section):
                    self._add_claim(claim)
            elif section.number == "4" and not tabled[1]:
                for hypothesis in hypotheses_listed(section):
                    self._add_hypothesis(hypothesis)

    def _add_claim(self, claim: Claim) -> None:
        if not claim.id:
            self._defect("missing-id", claim.line, "1b", "a claim without an id", "give it one, such as C1")
        elif self._first("claim", claim.id, claim.line, "1b", self.claims):
            self.claims[claim.id] = claim

    def _add_hypothesis(self, hypothesis: Hypothesis) -> None:
        if not hypothesis.id:
            self._defect(
                "missing-id", hypothesis.line, "4", "a hypothesis without an id", "give it one, such as H1"
            )
        elif self._first("hypothesis", hypothesis.id, hypothesis.line, "4", self.hypotheses):
            self.hypotheses[hypothesis.id] = hypothesis

    def _first(self, kind: str, name: str, line: int, section: str, known: dict[str, Any]) -> bool:
        """Whether an id is new; where it is not, that is a defect."""
        if name not in known:
            return True
        before = known[name]
        first = getattr(before, "line", 0) or self._block_line(kind, name)
        self._defect(
            "duplicate-id",
            line,
            section,
            f"{kind} {name} stands here a second time, first at line {first}",
            "rename one of them",
            name,
        )
        return False

    def _block_line(self, kind: str, name: str) -> int:
        blocks = self.scenario_blocks if kind == "scenario" else self.system_blocks
        return blocks[name].line if name in blocks else 0

    def _read_block(self, block: Block, source: YamlText) -> None:
        if source.defects:
            return
        if block.section in ("1b", "4"):
            self._listed(block, source)
        elif block.kind == "system":
            system, defects = read_system(block.data, source, block.section)
            self.defects += defects
            if system is None and isinstance(block.data, dict):
                self.unread_systems.add(str(block.data.get("system")))
            if system and self._first("system", system.system, block.line, block.section, self.systems):
                self.systems[system.system] = system
                self.system_blocks[system.system] = block
        elif block.kind == "scenario":
            scenario, defects = read_scenario(block.data, source, block.section)
            self.defects += defects
            if scenario and self._first("scenario", scenario.id, block.line, block.section, self.scenarios):
                self.scenarios[scenario.id] = scenario
                self.scenario_blocks[scenario.id] = block

    def _listed(self, block: Block, source: YamlText) -> None:
        data, wanted = block.data, "claims" if block.section == "1b" else "hypotheses"
        prefix: tuple[str, ...] = ()
        if isinstance(data, dict) and set(data) == {wanted}:
            data, prefix = data[wanted], (wanted,)
        if not isinstance(data, list):
            self._defect("wrong-type", block.line, block.section, f"a yaml block here is a list of {wanted}")
            return
        for place, item in enumerate(data):
            line = source.line_of((*prefix, place))
            if not isinstance(item, dict) or "id" not in item:
                self._defect(
                    "missing-id",
                    line,
                    block.section,
                    f"one of the {wanted} has no id",
                    "write {id: …, text: …}",
                )
            elif wanted == "claims":
                self._add_claim(claim_of(item, line))
            else:
                self._add_hypothesis(hypothesis_of(item, line))

    def _defect(
        self, rule: str, line: int, section: str, what: str, mend: str = "", subject: str = ""
    ) -> None:
        self.defects.append(Defect(rule, line, section, what, mend, subject))


def _placed(table: Table, sections: tuple[Section, ...]) -> Table:
    section = section_at(sections, table.line)
    if section is None:
        return table
    return Table(table.header, table.rows, table.line, section.number, section.scenario)


def _number_at(sections: tuple[Section, ...], line: int) -> str:
    section = section_at(sections, line)
    return section.number if section else ""


_SYSTEM_KEYS = frozenset(SystemSpec.model_fields) - {"system", "env", "variables"}
_SCENARIO_KEYS = frozenset(field.alias or name for name, field in Scenario.model_fields.items()) - {"system"}


def _kind(section: str, data: Any) -> Literal["system", "scenario", "other"]:
    """What a yaml block is: by the section in which it stands, and by its keys."""
    if not isinstance(data, dict):
        return "other"
    if section == "6b" and ("system" in data or len(_SYSTEM_KEYS & set(data)) > 1):
        return "system"
    if (section == "7" or section.startswith("7.")) and len(_SCENARIO_KEYS & set(data)) > 1:
        return "scenario"
    return "other"


def _slug(title: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60] or "plan"
