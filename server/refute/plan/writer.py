"""Writes changes into a plan's text: one span at a time, every other byte as it was."""

from __future__ import annotations

import re
from collections.abc import Sequence

from refute.plan.document import Block, Plan, PlanError, Section
from refute.plan.markdown import Row, Table, line_starts
from refute.plan.sections import NUMBERS, TITLES

_TOP = tuple(number for number in NUMBERS if "." not in number)


def newline_of(text: str) -> str:
    """How most lines of a text end."""
    windows = text.count("\r\n")
    return "\r\n" if windows > text.count("\n") - windows else "\n"


def replace_block(plan: Plan, block: Block, content: str) -> str:
    """The plan's text with the content of one yaml block replaced, fences and indentation kept."""
    starts = line_starts(plan.source)
    opening = plan.source[starts[block.line - 1] : starts[block.line]]
    indent = re.match(r"[ \t>]*", opening)
    prefix = indent[0] if indent else ""
    lines = [prefix + line if line else line for line in content.rstrip("\n").split("\n")]
    return _splice(plan.source, starts[block.line], starts[block.end - 1], "\n".join(lines) + "\n")


def replace_row(plan: Plan, row: Row, cells: Sequence[str]) -> str:
    """The plan's text with one row of a table replaced."""
    starts = line_starts(plan.source)
    return _splice(plan.source, starts[row.line - 1], starts[row.line], table_row(cells) + "\n")


def remove_row(plan: Plan, row: Row) -> str:
    """The plan's text without one row of a table."""
    starts = line_starts(plan.source)
    return plan.source[: starts[row.line - 1]] + plan.source[starts[row.line] :]


def add_row(plan: Plan, table: Table, cells: Sequence[str]) -> str:
    """The plan's text with one more row at the end of a table."""
    starts = line_starts(plan.source)
    last = table.rows[-1].line if table.rows else table.line + 1
    at = starts[last]
    row = table_row(cells) + "\n"
    if at == len(plan.source) and not plan.source.endswith(("\n", "\r")):
        row = "\n" + row.rstrip("\n")
    return _splice(plan.source, at, at, row)


def table_row(cells: Sequence[str]) -> str:
    """One row of a Markdown table; pipes are escaped and line ends become spaces."""
    flat = [re.sub(r"\s*[\r\n]+\s*", " ", cell).replace("|", "\\|").strip() for cell in cells]
    return "| " + " | ".join(flat) + " |"


def replace_section(plan: Plan, section: Section, body: str) -> str:
    """The plan's text with what stands below a section's heading replaced."""
    heading_end = section.start + _heading_length(section)
    end = section.start + len(section.text)
    return _splice(plan.source, heading_end, end, "\n" + body.strip("\n") + _ending(plan, end))


def append_to_section(plan: Plan, section: Section, text: str) -> str:
    """The plan's text with a paragraph or a table added at the end of a section."""
    end = section.start + len(section.text)
    kept = len(section.text.rstrip())
    addition = "\n\n" + text.strip("\n") + _ending(plan, end)
    return _splice(plan.source, section.start + kept, end, addition)


def add_section(plan: Plan, number: str, body: str, title: str | None = None) -> str:
    """The plan's text with a section that it did not have, put where its number belongs.

    Raises PlanError where the plan has it already or the number is none of a plan's.
    """
    if number not in _TOP:
        raise PlanError(f"there is no section {number!r}", hint=f"sections: {', '.join(_TOP)}")
    if plan.section(number):
        raise PlanError(f"section {number} is there already", where=plan.path, hint="replace it instead")
    later = set(_TOP[_TOP.index(number) + 1 :])
    following = next((section for section in plan.sections if section.number in later), None)
    at = following.start if following else len(plan.source)
    before = plan.source[:at]
    gap = (
        ""
        if not before or before.endswith(("\n\n", "\r\n\r\n"))
        else "\n"
        if before.endswith("\n")
        else "\n\n"
    )
    text = f"{gap}## {number}. {title or TITLES[number]}\n\n{body.strip(chr(10))}\n"
    return _splice(plan.source, at, at, text + ("\n" if following else ""))


def _heading_length(section: Section) -> int:
    found = re.match(r"[^\r\n]*(?:\r\n|\r|\n|$)", section.text)
    return found.end() if found else 0


def _ending(plan: Plan, end: int) -> str:
    return "\n\n" if end < len(plan.source) else "\n"


def _splice(source: str, start: int, end: int, text: str) -> str:
    newline = newline_of(source)
    return source[:start] + (text if newline == "\n" else text.replace("\n", newline)) + source[end:]
