"""Scenarios that people write in tables, lists and prose, read into the facts that yaml would give."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from refute.plan.document import LINE_BREAK, Plan, Section
from refute.plan.fault_words import (
    cuts_one_way,
    faults_told,
    mixes_versions,
    runs_told,
    times_told,
)
from refute.plan.labels import columns_of, labelled, lines_of, name_columns, rows_by_name
from refute.plan.markdown import Table
from refute.plan.rows import ids_in, plain
from refute.plan.trial import Said, Trial


@dataclass
class _Told:
    """What was gathered of one scenario while its tables, its heading and its list item were read."""

    id: str
    name: str
    line: int
    section: str
    text: str
    parts: dict[str, Said] = field(default_factory=dict)


def told_trials(plan: Plan) -> tuple[Trial, ...]:
    """The scenarios of section 7 that have words and no yaml block, in the order of the file.

    A row of a table with scenarios, a heading, an item that begins with an id; where there is none of these,
    section 7 as a whole. Of two that have one name the first is kept, and learns what the other says.
    """
    taken = {name.casefold() for name in plan.scenarios}
    taken |= {scenario.name.casefold() for scenario in plan.scenarios.values()}
    taken |= {block.scenario.casefold() for block in plan.blocks if block.kind == "scenario"}
    gathered: dict[str, _Told] = {}
    everyone: list[_Told] = []
    for told in (*_from_headings(plan), *_from_tables(plan), *_from_items(plan)):
        names = {told.id.casefold(), told.name.casefold()} - {""}
        # A candidate that somebody still has to decide on is no scenario yet: `todo-left` names each place.
        if names & taken or "TODO(judge)" in told.text:
            continue
        first = next((gathered[name] for name in names if name in gathered), None)
        if first is None or (first.id != told.id and _ID.fullmatch(first.id) and _ID.fullmatch(told.id)):
            gathered.update(dict.fromkeys(names, told))
            everyone.append(told)
            continue
        first.text += "\n" + told.text
        first.parts = told.parts | first.parts
    # Only prose is taken as a whole: headings and tables speak of scenarios one by one, or of candidates.
    in_parts = any(section.scenario for section in plan.sections) or any(
        table.section == "7" for table in plan.tables
    )
    if not everyone and not plan.blocks and not in_parts and (whole := _section_7(plan)):
        everyone.append(whole)
    rows, runs = rows_by_name(plan), _runs_of_all(plan)
    return tuple(_trial(plan, told, rows, runs) for told in sorted(everyone, key=lambda told: told.line))


def _trial(plan: Plan, told: _Told, rows: Mapping[str, Mapping[str, Said]], runs: int | None) -> Trial:
    names = tuple(dict.fromkeys(name for name in (told.id, told.name) if name))
    parts = dict(told.parts)
    for name in names:
        parts = {**rows.get(name.casefold(), {}), **parts}
    nemesis = parts["nemesis"][0] if "nemesis" in parts else ""
    done = nemesis or told.text
    # A name often repeats the claim, so that it counts only where nothing else speaks of a fault.
    families = faults_told(nemesis or _without_oracle(told, parts)) or faults_told(told.name)
    if nemesis and cuts_one_way(nemesis):
        families |= {"partition"}
    everything = "\n".join([told.text, *(said for said, _ in parts.values())])
    naming = f"{told.name}\n{everything}"
    return Trial(
        id=told.id,
        name=told.name,
        line=told.line,
        section=told.section,
        claims=_named(parts.get("claims", ("", 0))[0], naming, plan.claims),
        hypotheses=_named(parts.get("hypotheses", ("", 0))[0], naming, plan.hypotheses),
        families=families,
        text=everything,
        in_words=True,
        names=names,
        parts=parts,
        one_way=cuts_one_way(everything) if "partition" in families else None,
        mixed_versions=mixes_versions(everything) if "upgrade" in families else None,
        seeds=runs_told(parts.get("seeds", ("", 0))[0], everything) or runs,
        faults=times_told(parts.get("repeats", ("", 0))[0], done) if families else 0,
    )


def _runs_of_all(plan: Plan) -> int | None:
    """How often every scenario runs, where a plan says so for all of them."""
    for numbers in (("7",), ("6", "6b"), ("7d",)):
        text = "\n".join(section.text for section in plan.sections if section.number in numbers)
        if (runs := runs_told("", text)) is not None:
            return runs
    return None


def _without_oracle(told: _Told, parts: dict[str, Said]) -> str:
    """The text without what it expects: `p99 latency below 20 ms` injects no latency."""
    text = told.text
    for part in ("checker", "claims", "ambiguous outcomes"):
        if part in parts:
            text = text.replace(parts[part][0], " ")
    return text


_ID = re.compile(r"[A-Za-z]{1,6}[-.]?\d+\w?")


def _named(cell: str, text: str, known: Collection[str]) -> tuple[str, ...]:
    """The ids that a part lists, known or not; without such a part the known ids that the text names."""
    if cell:
        return tuple(name for name in ids_in(cell) if name in known or _ID.fullmatch(name))
    spoken = set(ids_in(re.sub(r"[^\w.\s–-]", " ", text)))
    return tuple(name for name in known if name in spoken)


def _from_headings(plan: Plan) -> Iterator[_Told]:
    seen: set[str] = set()
    for section in plan.sections:
        own = section.scenario and section.number == f"7.{section.scenario}"
        if own and section.scenario not in seen:
            seen.add(section.scenario)
            text = "\n".join(part.text for part in plan.parts(section.scenario))
            parts = labelled(
                line
                for part in plan.parts(section.scenario)
                if part.number != "7.M.S"
                for line in lines_of(part)
            )
            yield _Told(
                section.scenario, _title(section), section.line, section.number, _body(section, text), parts
            )
    yield from _from_other_headings(plan)


def _title(section: Section) -> str:
    return plain(section.title)


def _body(section: Section, text: str) -> str:
    """The text below the heading, which often repeats the claim in its own words."""
    return text.split("\n", 1)[1] if "\n" in text else section.title


_HEADING = re.compile(r"^#{2,6}[ \t]+(.+?)[ \t]*#*[ \t]*$", re.M)


def _from_other_headings(plan: Plan) -> Iterator[_Told]:
    """Headings inside section 7 without an id, where something is labelled below them."""
    section = plan.section("7")
    if section is None:
        return
    found = list(_HEADING.finditer(section.text))[1:]
    for place, heading in enumerate(found):
        end = found[place + 1].start() if place + 1 < len(found) else len(section.text)
        text = section.text[heading.end() : end]
        line = section.line_at(heading.start())
        numbered = ((line + at, each) for at, each in enumerate(LINE_BREAK.split(text)) if at)
        parts = labelled(numbered)
        if {"nemesis", "checker", "claims"} & set(parts):
            name = plain(heading[1])
            yield _Told(name, name, line, "7", text, parts)


def _from_tables(plan: Plan) -> Iterator[_Told]:
    for table in plan.tables:
        names = name_columns(table)
        if not names or not (table.section == "7" or table.section.startswith("7.")):
            continue
        columns = {part: at for part, at in columns_of(table).items() if at not in names}
        if len({"claims", "nemesis", "checker"} & set(columns)) < (1 if _speaks_of_scenarios(table) else 2):
            continue
        for row in table.rows:
            called = [plain(row.cells[at]) for at in names if row.cells[at].strip()]
            # A bare number is the row's place, not a name.
            called = [name for name in called if not name.isdigit()] or called
            if called:
                parts = {part: (row.cells[at], row.line) for part, at in columns.items() if row.cells[at]}
                rest = [cell for at, cell in enumerate(row.cells) if at not in names and cell]
                yield _Told(called[0], called[-1], row.line, table.section, " | ".join(rest), parts)


def _speaks_of_scenarios(table: Table) -> bool:
    return any(re.search(r"scenario|test|case|experiment|drill", name, re.I) for name in table.header)


_ITEM = re.compile(r"^\s{0,3}(?:[-*+]|\d+[.)])?\s*[*_`]*([A-Z]{1,6}-?\d+[a-z]?)\b[*_`]*\s*[-:.–—(]*\s*(.*)$")


def _from_items(plan: Plan) -> Iterator[_Told]:
    """List items and paragraphs of section 7 that begin with an id of their own."""
    section = plan.section("7")
    if section is None:
        return
    told: _Told | None = None
    lines: list[tuple[int, str]] = []
    for number, line in lines_of(section):
        item = _ITEM.match(line)
        if item and item[1] not in plan.claims and item[1] not in plan.hypotheses:
            if told:
                yield _with_parts(told, lines)
            name = re.split(r"[.:;]\s", plain(item[2]), maxsplit=1)[0][:80]
            told, lines = _Told(item[1], name, number, "7", item[2]), [(number, item[2])]
        elif told and line.lstrip().startswith(("#", "|", "```")):
            yield _with_parts(told, lines)
            told = None
        elif told:
            told.text += "\n" + line
            lines.append((number, line))
    if told:
        yield _with_parts(told, lines)


def _with_parts(told: _Told, lines: list[tuple[int, str]]) -> _Told:
    told.parts = labelled(iter(lines))
    return told


def _section_7(plan: Plan) -> _Told | None:
    section = plan.section("7")
    if section is None:
        return None
    lines = list(lines_of(section))
    text = "\n".join(line for _, line in lines)
    if len(re.findall(r"\w+", text)) < 5:
        return None
    return _Told("7", "", section.line, "7", text, labelled(iter(lines)))
