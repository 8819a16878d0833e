"""The answer is bounded, worst first, and a plan that cannot be run in good faith is refused before it runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute.plan.check import check_plan, check_plan_file, refuse_unrunnable
from refute.plan.document import PlanError
from refute.plan.reader import parse_plan
from tests.plan.plans import CHECKERS, FLEET, GENERATORS, STORE

WORN = (
    STORE.replace("clients: 5", "clients: five").replace("| durability |", "| durable |").replace("H1", "H9")
)


def test_errors_come_before_warnings_and_unread_parts_first_of_all() -> None:
    checked = check_plan(WORN, checkers=CHECKERS)
    severities = [defect.severity for defect in checked.defects]
    assert severities == sorted(severities)
    assert checked.errors and checked.warnings
    assert checked.defects[0].rule == "wrong-type"
    assert not checked.ok


def test_what_is_left_out_is_counted() -> None:
    whole = check_plan(WORN, checkers=CHECKERS)
    short = check_plan(WORN, checkers=CHECKERS, limit=2)
    assert short.defects == whole.defects[:2]
    assert short.left_out == len(whole.defects) - 2
    assert (short.errors, short.warnings) == (whole.errors, whole.warnings)


def test_a_plan_with_warnings_only_is_ok() -> None:
    checked = check_plan(STORE.replace("release: {seeds: 10, faults: 30}", ""), checkers=CHECKERS)
    assert checked.ok and checked.warnings


def test_a_file_is_checked_with_its_path(tmp_path: Path) -> None:
    path = tmp_path / "fleet.md"
    path.write_text(FLEET, encoding="utf-8")
    checked = check_plan_file(path, checkers=CHECKERS, generators=GENERATORS)
    assert checked.plan.path == path
    assert checked.ok
    with pytest.raises(PlanError, match="cannot be read"):
        check_plan_file(tmp_path / "none.md")


def test_a_clean_plan_may_run() -> None:
    refuse_unrunnable(parse_plan(STORE), checkers=CHECKERS)
    refuse_unrunnable(parse_plan(FLEET), checkers=CHECKERS)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (STORE.replace("check: [linearizable]", "check: [magic]"), "unknown-checker"),
        (FLEET.replace("{initial: 0}", "{inital: 0}"), "unknown-checker-option"),
        (FLEET.replace("falsifies: [K6, K8]", "falsifies: [K6]"), "claim-without-scenario"),
        (STORE.replace("```yaml\nid", "```text\nid"), "no-scenario"),
        (STORE.replace("Nothing is said", "TODO(judge): what is said"), "todo-left"),
        ("# Nothing\n", "no-claims"),
    ],
)
def test_a_plan_that_cannot_be_run_in_good_faith_is_refused(text: str, rule: str) -> None:
    with pytest.raises(PlanError) as raised:
        refuse_unrunnable(parse_plan(text, Path("plan.md")), checkers=CHECKERS)
    assert rule in {defect.rule for defect in raised.value.defects}
    assert raised.value.exit_code == 64
    assert str(raised.value).startswith("plan.md")


def test_a_weak_plan_that_can_be_run_is_not_refused() -> None:
    weak = STORE.replace("{seeds: 3, faults: 9}\n  release", "{seeds: 1, faults: 3}\n  release")
    assert not check_plan(weak, checkers=CHECKERS).ok
    refuse_unrunnable(parse_plan(weak), checkers=CHECKERS)


@pytest.mark.parametrize(
    "word",
    [
        "a",
        "a.",
        "timeout is ",
        "C1-",
        "`",
        "|",
        "command exits ",
        "exit criteria ",
        "[",
        "*",
        "1.",
        "\\|",
        "a:1-",
    ],
)
def test_no_text_makes_a_check_slow(word: str) -> None:
    """Quadratic patterns would take minutes here; the time itself is not what is asserted."""
    long = (word * 30_000)[:30_000]
    text = (
        STORE.replace("README.md:14@", long)
        .replace("Nothing is said", long)
        .replace("| a timeout may", f"| {long} ")
    )
    checked = check_plan(
        text.replace("Exit criteria: ", f"Exit criteria: {long} "), checkers=CHECKERS, limit=5
    )
    assert 1 <= len(checked.defects) <= 5


def test_an_empty_file_and_one_of_too_many_lines_are_no_plans(tmp_path: Path) -> None:
    path = tmp_path / "plan.md"
    path.write_bytes(b"\xef\xbb\xbf \r\n")
    with pytest.raises(PlanError, match=r"plan\.md: the file is empty \(begin with") as raised:
        check_plan_file(path)
    assert raised.value.exit_code == 64
    path.write_text("# a\n" * 60_000, encoding="utf-8")
    with pytest.raises(PlanError, match=r"at most 50,000 lines, not 60,000 \(split it\)"):
        check_plan_file(path)


def test_blocks_that_are_no_yaml_are_counted_as_not_judged() -> None:
    assert check_plan(STORE, checkers=CHECKERS).unreadable == 0
    assert check_plan(STORE.replace("id: S1\n", "id: [S1\n"), checkers=CHECKERS).unreadable == 1


@pytest.mark.parametrize(
    "flood",
    [
        "".join(f"### S{number} a\n\nx\n\n" for number in range(2_000)),
        "### S1 a\n" * 4_000,
        "".join(f"- S{number}: kill, oracle: x\n" for number in range(2_000)),
        "Exit criteria:\n\n" + "- some\n" * 4_000,
    ],
    ids=["scenarios", "one scenario", "items", "exit criteria"],
)
def test_a_flood_of_parts_is_answered_with_a_few_and_a_count(flood: str) -> None:
    """What is quadratic in the number of parts would take minutes here; the time is not what is asserted."""
    place = "Three of them, named after what they try to falsify.\n"
    assert place in STORE
    checked = check_plan(STORE.replace(place, f"{place}\n{flood}\n"), checkers=CHECKERS, limit=5)
    assert len(checked.defects) == 5
    assert checked.left_out >= 1_000
