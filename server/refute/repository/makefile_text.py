"""Reads the rules and plain variables of a Makefile; nothing is run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_LONGEST_LINE = 2_000
Rules = dict[str, list[tuple[str, list[tuple[str, bool]]]]]
_SET = re.compile(r"^(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*[?:]?=[ \t]*(.*)$", re.M)


def variables_in(text: str) -> dict[str, str]:
    """The variables that are set in a line of their own; the last value of each."""
    return {found.group(1): found.group(2).strip() for found in _SET.finditer(text)}


def rules_in(text: str) -> Iterator[tuple[list[str], str, list[tuple[str, bool]]]]:
    """Names, prerequisites and recipe of each rule; a line of a recipe says whether it continues one."""
    names: list[str] = []
    needed = ""
    recipe: list[tuple[str, bool]] = []
    joined = False
    for row in text.replace("\r", "").split("\n"):
        if len(row) > _LONGEST_LINE:
            continue
        if names and (row.startswith("\t") or joined):
            recipe.append((row.strip("\t"), joined))
            joined = row.endswith("\\")
            continue
        begun = re.match(r"^([A-Za-z0-9_.][\w./ %$(){}-]*?)\s*::?(?!=)\s*([^#=]*?)(?:;(.*))?(?:#.*)?$", row)
        if begun:
            if names:
                yield names, needed, recipe
            names, needed = begun.group(1).split(), begun.group(2).rstrip("\\")
            recipe = [(begun.group(3), False)] if begun.group(3) else []
            joined = False
        elif (
            row.strip()
            and not row.startswith(("#", " ", "if", "else", "endif", "-include", "include"))
            and names
        ):
            yield names, needed, recipe
            names, recipe, joined = [], [], False
    if names:
        yield names, needed, recipe


def without_signs(line: str) -> str:
    """A line of a recipe without what stands before it: a `-` forgives a failure."""
    rest = line.lstrip("@-+ \t")
    forgiven = "-" in line[: len(line) - len(rest)] and rest and not rest.endswith("\\")
    return f"{rest} || true" if forgiven else rest


def expanded(text: str, known: Mapping[str, str]) -> str:
    """The text with the variables that are known, at most three deep and 20,000 characters long."""
    for _ in range(3):
        text = re.sub(r"\$[({]([A-Za-z_]\w*)[)}]", lambda found: known.get(found.group(1), ""), text)[:20_000]
    return text
