"""Writing into a plan changes the one span that was meant and no other byte."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from refute.plan.document import PlanError
from refute.plan.reader import parse_leniently, parse_plan
from refute.plan.writer import (
    add_row,
    add_section,
    append_to_section,
    newline_of,
    remove_row,
    replace_block,
    replace_row,
    replace_section,
)

TEXT = Path(__file__).with_name("store.md").read_text(encoding="utf-8")
SHAPES = {
    "unix": TEXT,
    "windows": TEXT.replace("\n", "\r\n"),
    "old mac": TEXT.replace("\n", "\r"),
    "byte order mark": "\ufeff" + TEXT,
    "front matter": "---\nslug: kept\n---\n" + TEXT,
    "front matter, windows": ("---\nslug: kept\n---\n" + TEXT).replace("\n", "\r\n"),
    "no last newline": TEXT.rstrip("\n"),
    "many last newlines": TEXT + "\n\n\n",
    "trailing blanks": re.sub(r"\n", "  \n", TEXT),
    "tabs": TEXT.replace("Nothing is said", "\tNothing is said"),
    "tilde fences": TEXT.replace("```", "~~~"),
    "long fences": TEXT.replace("```", "`````"),
    "capital yaml": TEXT.replace("```yaml", "```YAML"),
    "yml": TEXT.replace("```yaml", "```yml title=system"),
    "headings without dots": re.sub(r"^(## \w+)\.", r"\1", TEXT, flags=re.M),
    "headings with signs": re.sub(r"^## (\w+)\.", r"## § \1 —", TEXT, flags=re.M),
    "closed headings": re.sub(r"^(##+ .*)$", r"\1 ##", TEXT, flags=re.M),
    "one level down": re.sub(r"^(##+) ", r"\1# ", TEXT, flags=re.M),
    "one level up": re.sub(r"^#(#+) ", r"\1 ", TEXT, flags=re.M),
    "comments": TEXT.replace("## 2.", "<!-- ## 1b. not a heading -->\n\n## 2."),
    "unicode": TEXT.replace("Three nodes", "Три узла 三个节点 \u2028 🜂 e\u0301"),
    "nested lists": TEXT.replace("Nothing is said", "- a\n  - b\n    1. c\n\n       d\n\nNothing is said"),
    "quotes": TEXT.replace(
        "Nothing is said", "> | id | claim |\n> |---|---|\n> | C9 | no |\n\nNothing is said"
    ),
    "html": TEXT.replace(
        "Nothing is said", "<details><summary>x</summary>\n\n## no\n\n</details>\n\nNothing"
    ),
    "pipes in code": TEXT.replace("survives the loss", "survives `a|b` the loss"),
    "escaped pipes": TEXT.replace("survives the loss", "survives a\\|b the loss"),
    "tables without outer pipes": re.sub(r"^\| (C\d.*) \|$", r"\1", TEXT, flags=re.M),
    "own sections": TEXT.replace("## 8.", "## Glossary\n\n- word\n\n## 8."),
    "sections swapped": TEXT.replace("## 8.", "## X.").replace("## 9.", "## 8.").replace("## X.", "## 9."),
    "nothing but claims": TEXT[: TEXT.index("## 1c")],
    "nothing": "",
    "no plan at all": "Just a letter.\r\nTo nobody.\n",
    "claims twice": TEXT.replace("| C2 |", "| C1 |"),
    "three hundred claims": TEXT.replace(
        "\n## 1c",
        "".join(f"| C{n} | promise {n} | safety | `README.md:{n}@abc1234` |\n" for n in range(4, 304))
        + "\n## 1c",
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_reading_and_writing_a_plan_loses_no_byte(shape: str) -> None:
    source = SHAPES[shape]
    plan, _ = parse_leniently(source)
    assert plan.source == source
    if plan.sections:
        assert source[plan.sections[0].start :] == "".join(section.text for section in plan.sections)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_change_and_its_reverse_give_the_same_bytes(shape: str) -> None:
    source = SHAPES[shape]
    plan, _ = parse_leniently(source)
    for block in plan.blocks:
        lines = re.split(r"\r\n|\r|\n", source)[block.line : block.end - 1]
        changed, _ = parse_leniently(replace_block(plan, block, "\n".join(lines) + "\n# a word more\n"))
        assert changed.source != source
        if shape not in ("old mac",):
            back = replace_block(
                changed, next(b for b in changed.blocks if b.line == block.line), "\n".join(lines)
            )
            assert back == source


@pytest.mark.parametrize("shape", ["unix", "windows", "front matter, windows", "byte order mark", "unicode"])
def test_everything_but_the_span_is_untouched(shape: str) -> None:
    source = SHAPES[shape]
    plan = parse_plan(source)
    newline = newline_of(source)
    table = next(table for table in plan.tables if table.section == "1b")
    added = add_row(plan, table, ["C4", "Reads | writes\nare ordered.", "ordering", "`README.md:20`"])
    row = "| C4 | Reads \\| writes are ordered. | ordering | `README.md:20` |" + newline
    assert row in added
    assert added.replace(row, "", 1) == source
    again = parse_plan(added)
    assert again.claims["C4"].text == "Reads | writes are ordered."
    new_row = next(table for table in again.tables if table.section == "1b").rows[-1]
    assert remove_row(again, new_row) == source
    renamed = replace_row(again, new_row, ["C5", "x", "safety", ""])
    assert "C5" in parse_plan(renamed).claims and "C4" not in parse_plan(renamed).claims


def test_a_section_is_replaced_below_its_heading() -> None:
    plan = parse_plan(SHAPES["windows"])
    section = plan.section("8")
    assert section is not None
    text = replace_section(plan, section, "Nothing else.")
    after = parse_plan(text).section("8")
    assert after is not None
    assert after.text == "## 8. Not covered\r\n\r\nNothing else.\r\n\r\n"
    assert (
        text.replace("Nothing else.", "Admin API, metrics and logs: no claim names them yet.")
        == SHAPES["windows"]
    )


def test_a_paragraph_is_added_at_the_end_of_a_section() -> None:
    plan = parse_plan(TEXT)
    section = plan.section("2")
    assert section is not None
    text = append_to_section(plan, section, "Clocks drift.")
    assert text == TEXT.replace(
        "before they acknowledge.\n\n", "before they acknowledge.\n\nClocks drift.\n\n"
    )


@pytest.mark.parametrize("number", ["0", "1c", "5", "7b", "9"])
def test_a_missing_section_is_added_where_its_number_belongs(number: str) -> None:
    plan = parse_plan(TEXT)
    section = plan.section(number)
    assert section is not None
    without = TEXT.replace(section.text, "")
    text = add_section(parse_plan(without), number, "Here.")
    assert [part.number for part in parse_plan(text).sections] == [part.number for part in plan.sections]
    with pytest.raises(PlanError, match="already"):
        add_section(plan, number, "Twice.")
    with pytest.raises(PlanError, match="no section"):
        add_section(plan, "12", "Nowhere.")


def test_random_text_is_read_without_an_exception() -> None:
    generator = random.Random(4)
    pieces = re.split(r"(\n|\||```yaml|: )", TEXT)
    for _ in range(60):
        shuffled = "".join(generator.sample(pieces, k=len(pieces) // 2))
        plan, _ = parse_leniently(shuffled)
        assert plan.source == shuffled
