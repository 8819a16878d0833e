"""What a finding says is enough to mend it: the row, the whole question, the names to choose from, the form."""

from __future__ import annotations

import re

from refute.plan.defect import Defect
from refute.plan.oracle_words import categories_judged
from refute.tools.plans import CheckedPlan
from tests.plan.plans import CHECKERS, STORE, check


def _found(text: str, rule: str) -> list[Defect]:
    return [defect for defect in check(text).defects if defect.rule == rule]


def test_an_open_place_in_a_row_is_told_by_its_row_and_ends_with_its_cell() -> None:
    row = next(line for line in STORE.split("\n") if line.startswith("| H1 |"))
    cells = row.split("|")
    cells[2] = " TODO(judge): keep it, or drop the row (and say why) "
    (found,) = _found(STORE.replace(row, "|".join(cells)), "todo-left")
    assert (found.subject, found.what) == ("H1", "open: keep it, or drop the row (and say why)")


def test_every_open_place_of_a_row_is_told() -> None:
    row = next(line for line in STORE.split("\n") if line.startswith("| H1 |"))
    cells = row.split("|")
    cells[2], cells[-2] = " TODO(judge): first ", " TODO(judge): second "
    found = _found(STORE.replace(row, "|".join(cells)), "todo-left")
    assert [defect.what for defect in found] == ["open: first", "open: second"]


def test_a_long_question_is_cut_between_words_and_says_that_it_is() -> None:
    (found,) = _found(STORE.replace("Nothing is said", "TODO(judge): " + "every word " * 40), "todo-left")
    assert re.fullmatch(r"open: (every word )+(every )?…", found.what)


def test_a_checker_that_cannot_judge_a_claim_is_answered_with_some_that_can() -> None:
    text = STORE.replace("| durability |", "| idempotency |")
    found = _found(text, "checker-cannot-judge-claim")
    assert found
    named = re.findall(r"[a-z-]+", found[0].what.split(";")[1].removesuffix(" can"))
    assert named == [name for name in sorted(CHECKERS) if "idempotency" in categories_judged(CHECKERS[name])]


def test_a_missing_7m_is_answered_with_its_form() -> None:
    text = re.sub(r"^#### 7\.M[^\n]*$", "", STORE, flags=re.M)
    found = _found(text, "serious-claim-without-7M")
    assert found
    assert "`#### 7.M`" in found[0].mend and "ambiguous outcomes" in found[0].mend


def test_a_name_of_other_words_is_shown_the_words_of_its_claim() -> None:
    name = re.search(r"^name: (\w+)$", STORE, re.M)
    assert name
    (found,) = _found(STORE.replace(name[1], "zebra_crossing"), "scenario-name")
    assert re.search(r"shares no word with C\d \(\w", found.what)


def test_an_answer_that_left_something_out_says_how_to_ask_for_it() -> None:
    answer = CheckedPlan(
        plan="p.md",
        ok=False,
        errors=3,
        warnings=0,
        faults=[],
        left_out=3,
        unreadable=0,
        citations_read=True,
    )
    assert "3 more left out: mend these first, or ask for more (limit, --limit)" in answer.text()


def test_a_word_that_nothing_fills_in_is_told_with_the_one_that_was_meant() -> None:
    (found,) = _found(STORE.replace("{address.client}", "{adress.client}"), "unknown-template")
    assert found.subject == "three-nodes"
    assert found.what == "three-nodes: command asks for {adress.client}, which nothing fills in"
    assert found.mend == "did you mean 'address.client'?"


def test_a_port_that_a_system_does_not_have_is_no_word_of_it() -> None:
    (found,) = _found(STORE.replace("{address.client}", "{address.admin}"), "unknown-template")
    assert "{address.admin}" in found.what


def test_braces_of_json_and_variables_of_a_run_are_no_unknown_words() -> None:
    words = '{data} --json {"a":1} --mode {variables.mode} --to {n2.address.peer} --all {addresses.client}'
    text = STORE.replace(
        'command: "{python} -m store --name {node} --listen {address.client} --peers {peers} --data {data}"',
        f"command: [{', '.join(repr(word) for word in words.split())}]",
    )
    assert text != STORE
    assert _found(text, "unknown-template") == []


def test_a_generator_that_does_not_exist_is_told_with_the_one_that_was_meant() -> None:
    (found,) = _found(STORE.replace("generator: register", "generator: registre"), "unknown-generator")
    assert found.what == "there is no generator 'registre'; did you mean 'register'?"
