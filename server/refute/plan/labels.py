"""By which words people label the parts of a scenario: in columns of tables, at the start of lines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from refute.plan.document import Plan, Section
from refute.plan.markdown import Table

PARTS: dict[str, re.Pattern[str]] = {
    name: re.compile(rf"\b(?:{words})", re.I)
    for name, words in (
        ("landing evidence", r"landing|landed|evidence|(?:fault|injection) (?:proof|confirm)"),
        ("ambiguous outcomes", r"ambiguous|unknown outcome|indeterminate|timeouts?\b"),
        ("seeds", r"seeds?\b|runs?\b|iterations?\b|repetitions?\b"),
        ("repeats", r"repeats?\b|times\b|how (?:often|many)|count\b|rounds?\b|fail-?overs?\b"),
        ("claims", r"claims?\b|falsif|promises?\b|guarantees?\b|requirements?\b|propert(?:y|ies)\b"),
        ("hypotheses", r"hypothes[ie]s\b|suspicions?\b"),
        ("control", r"control\b|polarity"),
        ("surfaces", r"surfaces?\b|endpoints?\b|doors?\b"),
        ("history", r"histor|record(?:s|ed|ing)?\b"),
        ("model", r"models?\b"),
        ("reduction", r"reduc|shrink|minimi"),
        (
            "checker",
            r"oracles?\b|checkers?\b|expect|pass(?:es|ed)?\b|success|verif|verdict|assert|judge|criteri|accept",
        ),
        (
            "nemesis",
            r"nemes[ie]s|faults?\b|failures?\b|chaos|inject|disturb|disrupt|threats?\b|actions?\b|steps?\b"
            r"|sequence|procedure|what (?:we|is) do",
        ),
        ("system", r"systems?\b|topolog|clusters?\b|nodes?\b|environment|deployment"),
        ("load", r"workload|load\b|clients?\b|traffic"),
    )
}
"""Parts in the order in which a label is tried: `fault evidence` is evidence, `oracle model` an oracle."""

RIGOUR = ("model", "history", "ambiguous outcomes", "reduction")
"""The parts that only a 7.M has: faults and oracles stand in every table of scenarios."""

_LABEL = re.compile(
    r"^\s*(?:[|*+-]|\d+[.)])?\s*[*_`]*([A-Za-z][A-Za-z /&-]{0,40}?)[*_`]*\s*(?:[|:—]|\s-\s)[*_`]*\s*(.*)$"
)
_SENTENCE = re.compile(r"(?<=[.;])\s+(?=[*_`]*[A-Z])")
MOST_WORDS = 3
"""A label of more words than this is the beginning of a sentence."""


def part_of(label: str) -> str | None:
    """The part that a label or the name of a column speaks of."""
    if len(label.split()) > MOST_WORDS:
        return None
    return next((part for part, words in PARTS.items() if words.search(label)), None)


def lines_of(section: Section) -> Iterator[tuple[int, str]]:
    """The lines of a section below its heading, each with its number in the plan."""
    yield from section.lines[1:]


def labelled(lines: Iterator[tuple[int, str]]) -> dict[str, tuple[str, int]]:
    """What stands behind the first label of each part (`Fault: …`, `- **Oracle**: …`, `| Fault | … |`).

    Several may stand in one line, a sentence each. A part that does not end a sentence goes on in the lines
    below it, until a blank one or the next label.
    """
    found: dict[str, tuple[str, int]] = {}
    current: str | None = None
    for number, line in lines:
        for piece in _SENTENCE.split(line):
            label = _LABEL.match(piece)
            part = part_of(label[1]) if label else None
            if label and part:
                current = part if part not in found else None
                if current:
                    found[current] = (label[2].strip(" |*_`"), number)
            elif not piece.strip() or piece.lstrip().startswith(("#", "|", "```")):
                current = None
            elif current:
                said, at = found[current]
                found[current] = (f"{said} {piece.strip()}".strip(), at)
        if current and found[current][0].endswith((".", "!")):
            current = None
    return {part: said for part, said in found.items() if said[0]}


def columns_of(table: Table) -> dict[str, int]:
    """Which column of a table speaks of which part."""
    found: dict[str, int] = {}
    for at, name in enumerate(table.header):
        part = part_of(name.strip(" *_`"))
        if part and part not in found and not (at == 0 and _NAMES.fullmatch(name)):
            found[part] = at
    return found


_NAMES = re.compile(
    r"\W*(?:scenario|test(?: ?case)?|case|experiment|drill|id|no|nr|name|title|ref)s?(?: (?:id|name|no))?\W*"
    r"|\W*#\W*",
    re.I,
)


def name_columns(table: Table) -> tuple[int, ...]:
    """The columns by which people call the thing that a row is about: `scenario`, `id`, `#`, `test`."""
    return tuple(at for at, name in enumerate(table.header) if _NAMES.fullmatch(name))


Said = tuple[str, int]


def rows_by_name(plan: Plan) -> dict[str, dict[str, Said]]:
    """What tables of section 7 with one row for each scenario say of it, by the name in lower case."""
    found: dict[str, dict[str, Said]] = {}
    for table in plan.tables:
        at = name_columns(table)
        if not table.section.startswith("7") or table.section in ("7b", "7c", "7d") or not at:
            continue
        columns = columns_of(table)
        for row in table.rows:
            for name in {row.cells[each].strip(" *_`").casefold() for each in at} - {""}:
                parts = found.setdefault(name, {})
                for part, place in columns.items():
                    if row.cells[place]:
                        parts.setdefault(part, (row.cells[place], row.line))
    return found
