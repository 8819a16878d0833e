"""Ways to damage a plan at random: drop a row, swap ids, weaken an oracle, delete a section."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from refute.plan.reader import parse_plan
from refute.plan.writer import remove_row

Damage = Callable[[random.Random, str], str]


def drop_a_row(generator: random.Random, text: str) -> str:
    """A row of a table is gone."""
    plan = parse_plan(text)
    rows = [row for table in plan.tables if table.section for row in table.rows]
    return remove_row(plan, generator.choice(rows))


def swap_two_ids(generator: random.Random, text: str) -> str:
    """Two ids of one kind change places in one line that names one of them."""
    plan = parse_plan(text)
    kinds = [list(plan.claims), list(plan.hypotheses), list(plan.scenarios)]
    one, other = generator.sample(generator.choice([names for names in kinds if len(names) > 1]), 2)
    body, appendix, rest = text.partition("\n## Appendix")
    lines = body.split("\n")
    pattern = re.compile(rf"\b(?:{re.escape(one)}|{re.escape(other)})\b")
    # Where both stand in one line, changing places may change nothing but their order.
    places = [
        at
        for at, line in enumerate(lines)
        if len(set(pattern.findall(line))) == 1 and not re.match(r"Pitfalls|\(H", line)
    ]
    if not places:
        return swap_two_ids(generator, text)
    at = generator.choice(places)
    lines[at] = pattern.sub(lambda found: other if found[0] == one else one, lines[at])
    return "\n".join(lines) + appendix + rest


def weaken_an_oracle(checkers: Sequence[str]) -> Damage:
    """An oracle, its evidence or its budget is made weaker; another checker is one of these."""

    def weaken(generator: random.Random, text: str) -> str:
        weak = generator.choice(
            ["no errors", "the health check is green", "logs look fine", "works as expected"]
        )
        ways: list[tuple[str, str]] = [
            (r"^check: .*$", f"check: [{weak}]"),
            (r"^check: \[[\w-]+\]$", f"check: [{generator.choice(checkers)}]"),
            (r"^check: .*$\n", ""),
            (r"(?<=oracle: )[\w-]+", weak),
            (r", oracle: [\w-]+", ""),
            (r"^(\| checker \|).*$", rf"\1 {weak} |"),
            (r"^(- \*\*(?:Checker|Oracle):\*\*).*$", rf"\1 {weak}"),
            (r", expect: ok(?=\})", ""),
            (r", evidence: \[?\{[^}]*\}\]?|\n +evidence: .*", ""),
            (r"faults: (?:[2-9]|\d\d)", "faults: 1"),
            (r"(?<=hardening: \{seeds: )[2-9]", "1"),
            (r"fail: \[409\]", "fail: [500]"),
            (r"^(\| landing evidence \|).*$", r"\1 the kill command returned 0 |"),
            (r"^(\| ambiguous outcomes \|).*$", r"\1 a timeout counts as failed |"),
        ]
        pattern, new = generator.choice(ways)
        found = list(re.finditer(pattern, text, re.M))
        if not found:
            return weaken(generator, text)
        chosen = generator.choice(found)
        changed = text[: chosen.start()] + chosen.expand(new) + text[chosen.end() :]
        return changed if changed != text else weaken(generator, text)

    return weaken


def delete_a_section(generator: random.Random, text: str) -> str:
    """A numbered section is gone, with its heading."""
    sections = [section for section in parse_plan(text).sections if section.number]
    section = generator.choice(sections)
    return text[: section.start] + text[section.start + len(section.text) :]


def damages(checkers: Sequence[str]) -> dict[str, Damage]:
    """Every way by its name."""
    return {
        "drop a row": drop_a_row,
        "swap ids": swap_two_ids,
        "weaken an oracle": weaken_an_oracle(checkers),
        "delete a section": delete_a_section,
    }


def unnoticed(
    texts: Sequence[str],
    checkers: Sequence[str],
    is_clean: Callable[[str], bool],
    *,
    times: int,
    seed: int = 20,
) -> list[tuple[str, str]]:
    """What a checker does not notice of so many damages to these plans: the way, and the lines that differ."""
    generator = random.Random(seed)
    ways = list(damages(checkers).items())
    missed = []
    for number in range(times):
        name, damage = ways[number % len(ways)]
        text = generator.choice(texts)
        changed = damage(generator, text)
        if changed == text:
            raise AssertionError(f"{name} changed nothing")
        if is_clean(changed):
            missed.append((name, _difference(text, changed)))
    return missed


def _difference(old: str, new: str) -> str:
    before, after = old.split("\n"), new.split("\n")
    gone = [line for line in before if line not in after]
    come = [line for line in after if line not in before]
    return " / ".join([*gone[:2], "->", *come[:2]])
