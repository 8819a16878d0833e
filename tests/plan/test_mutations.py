"""A clean plan that is damaged at random does not stay clean: at least 95 of 100 damages are noticed."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from refute.plan.reader import parse_plan
from refute.plan.writer import remove_row
from tests.plan.plans import CHECKERS, FLEET, STORE, check

Damage = Callable[[random.Random, str], str]


def drop_a_row(generator: random.Random, text: str) -> str:
    plan = parse_plan(text)
    rows = [row for table in plan.tables if table.section for row in table.rows]
    return remove_row(plan, generator.choice(rows))


def swap_two_ids(generator: random.Random, text: str) -> str:
    """Two ids of one kind change places in one line that names one of them."""
    kind = generator.choice("CKHSP")
    names = sorted(set(re.findall(rf"\b{kind}\d\b", text)))
    if len(names) < 2:
        return swap_two_ids(generator, text)
    one, other = generator.sample(names, 2)
    body, appendix, rest = text.partition("\n## Appendix")
    lines = body.split("\n")
    named = [set(re.findall(r"\b[A-Z]\d\b", line)) & {one, other} for line in lines]
    # Where both stand in one line, changing places may change nothing but their order.
    places = [
        at for at, line in enumerate(lines) if len(named[at]) == 1 and not re.match(r"Pitfalls|\(H", line)
    ]
    if not places:
        return swap_two_ids(generator, text)
    at = generator.choice(places)
    lines[at] = re.sub(rf"\b(?:{one}|{other})\b", lambda m: other if m[0] == one else one, lines[at])
    return "\n".join(lines) + appendix + rest


def weaken_an_oracle(generator: random.Random, text: str) -> str:
    weak = generator.choice(["no errors", "the health check is green", "logs look fine", "works as expected"])
    ways: list[Callable[[], str]] = [
        lambda: _one(generator, text, r"^check: .*$", f"check: [{weak}]"),
        lambda: _one(
            generator, text, r"^check: \[[\w-]+\]$", f"check: [{generator.choice(sorted(CHECKERS))}]"
        ),
        lambda: _one(generator, text, r"^check: .*$\n", ""),
        lambda: _one(generator, text, r"(?<=oracle: )[\w-]+", weak),
        lambda: _one(generator, text, r", oracle: [\w-]+", ""),
        lambda: _one(
            generator,
            text,
            r"(?<=[|*] )?(?:checker|Oracle|\*\*Checker:\*\*)\W*\|? ?[\w-]+",
            f"checker | {weak}",
        ),
        lambda: _one(generator, text, r", expect: ok", ""),
        lambda: _one(generator, text, r", evidence: \[?\{[^}]*\}\]?|\n +evidence: .*", ""),
        lambda: _one(generator, text, r"faults: 9", "faults: 1"),
        lambda: _one(generator, text, r"fail: \[409\]", "fail: [500]"),
    ]
    changed = generator.choice(ways)()
    return changed if changed != text else weaken_an_oracle(generator, text)


def delete_a_section(generator: random.Random, text: str) -> str:
    sections = [section for section in parse_plan(text).sections if section.number]
    section = generator.choice(sections)
    return text[: section.start] + text[section.start + len(section.text) :]


def _one(generator: random.Random, text: str, pattern: str, new: str) -> str:
    found = list(re.finditer(pattern, text, re.M))
    if not found:
        return text
    chosen = generator.choice(found)
    return text[: chosen.start()] + new + text[chosen.end() :]


DAMAGES: tuple[Damage, ...] = (drop_a_row, swap_two_ids, weaken_an_oracle, delete_a_section)


def test_at_least_95_of_100_random_damages_are_noticed() -> None:
    generator = random.Random(20)
    missed = []
    for number in range(200):
        damage = DAMAGES[number % len(DAMAGES)]
        text = generator.choice((STORE, FLEET))
        changed = damage(generator, text)
        assert changed != text
        if not check(changed).defects:
            missed.append((damage.__name__, _difference(text, changed)))
    assert len(missed) <= 10, missed


def _difference(old: str, new: str) -> str:
    before, after = old.split("\n"), new.split("\n")
    gone = [line for line in before if line not in after]
    come = [line for line in after if line not in before]
    return " / ".join([*gone[:2], "->", *come[:2]])
