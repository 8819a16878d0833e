"""A plan reads as people mean it, and what is wrong is named by line, section and subject."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from refute.plan.document import PlanError
from refute.plan.reader import parse_leniently, parse_plan, read_plan
from refute.plan.scenario import Budget, NotProvided

STORE = Path(__file__).with_name("store.md")
TEXT = STORE.read_text(encoding="utf-8")


def defects_of(text: str) -> dict[str, list[tuple[int, str, str]]]:
    """Rule to (line, section, what) for a text that does not read."""
    with pytest.raises(PlanError) as raised:
        parse_plan(text, STORE)
    found: dict[str, list[tuple[int, str, str]]] = {}
    for defect in raised.value.defects:
        found.setdefault(defect.rule, []).append(
            (defect.line, defect.section, defect.what + " " + defect.mend)
        )
        assert f"store.md:{defect.line}" in str(raised.value)
    return found


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


def changed(old: str, new: str) -> str:
    assert old in TEXT
    return TEXT.replace(old, new, 1)


def test_a_plan_reads_into_claims_hypotheses_systems_and_scenarios() -> None:
    plan = read_plan(STORE)
    assert plan.slug == "store"
    assert plan.title == "Plan: a store that keeps its promises"
    assert list(plan.claims) == ["C1", "C2", "C3"]
    assert plan.claims["C1"].category == "durability"
    assert plan.claims["C1"].source.startswith("README.md:10-12@0123")
    assert plan.hypotheses["H1"].claims == ("C2",)
    assert plan.hypotheses["H1"].suspect.startswith("`store/server.py:40-52`")
    assert plan.systems["three-nodes"].nodes == ("n1", "n2", "n3")
    assert plan.scenarios["S1"].budget["hardening"] == Budget(seeds=3, faults=9)
    assert isinstance(plan.scenarios["S1"].budget["release"], NotProvided)
    assert [arm.name for arm in plan.scenarios["S2"].arms()] == ["gap_ms=0", "gap_ms=5", "gap_ms=20"]


def test_every_block_path_has_its_own_line() -> None:
    plan = read_plan(STORE)
    block = plan.scenario_blocks["S2"]
    lines = TEXT.splitlines()
    assert lines[block.line - 1] == "```yaml"
    assert lines[block.end - 1] == "```"
    assert lines[block.line_of("steps", 2) - 1].strip().startswith("- pause: leader as old")
    assert lines[block.line_of("steps", 2, "evidence") - 1].strip().startswith("evidence:")


def test_sections_follow_one_another_without_a_gap() -> None:
    plan = read_plan(STORE)
    assert plan.source.endswith("".join(section.text for section in plan.sections))
    assert [part.number for part in plan.parts("S2")] == ["7.S2", "7.M"]
    assert plan.section("1b") is not None and plan.section("7d") is not None


def test_windows_line_ends_change_no_line_number() -> None:
    unix, windows = parse_plan(TEXT), parse_plan(TEXT.replace("\n", "\r\n"))
    assert windows.scenarios == unix.scenarios
    assert windows.claims == unix.claims
    assert windows.scenario_blocks["S3"].lines == unix.scenario_blocks["S3"].lines
    assert "\r\n" in windows.source


def test_an_unknown_key_is_named_with_the_one_that_was_meant() -> None:
    text = changed("sweep: {gap_ms", "swep: {gap_ms")
    (line, section, what), *_ = defects_of(text)["unknown-key"]
    assert line == line_of(text, "swep:")
    assert section == "7.S2"
    assert "did you mean 'sweep'" in what


def test_a_wrong_type_is_named_at_its_line() -> None:
    text = changed("clients: 5", "clients: five")
    (line, section, what), *_ = defects_of(text)["wrong-type"]
    assert (line, section) == (line_of(text, "clients: five"), "7.S1")
    assert "workload.clients" in what


def test_a_duration_without_a_unit_is_refused() -> None:
    text = changed("duration: 20s", "duration: 20")
    ((line, _, what),) = defects_of(text)["bad-value"]
    assert line == line_of(text, "duration: 20,")
    assert "5s" in what


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("| C2 | Reads", "| C1 | Reads", "| C1 | Reads"),
        ("| H2 | A write", "| H1 | A write", "| H1 | A write"),
        ("id: S2\n", "id: S1\n", "```yaml\nid: S1\nname: a_resumed"),
    ],
)
def test_an_id_that_stands_twice_is_refused(old: str, new: str, where: str) -> None:
    text = changed(old, new)
    ((line, _, what),) = defects_of(text)["duplicate-id"]
    assert line == line_of(text, where)
    assert "second time" in what


def test_a_scenario_must_name_a_claim_that_exists() -> None:
    assert "unknown-claim" in defects_of(changed("falsifies: C2", "falsifies: C9"))
    assert "missing-key" in defects_of(changed("falsifies: C2\n", ""))
    assert defects_of(changed("falsifies: C2\n", "falsifies: []\n"))


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("system: three-nodes\nworkload", "system: two-nodes\nworkload", "unknown-system"),
        ("hypotheses: H1", "hypotheses: H7", "unknown-hypothesis"),
        ("- await: {leader: known, every_node: serving}", "- await: {leder: known}", "unknown-state"),
        ("- resume: old", "- resume: odl", "unknown-node"),
        ("mix: {read: 1, write: 1}", "mix: {read: 1, wirte: 1}", "unknown-operation"),
        ("- export: {via", "- exprot: {via", "unknown-operation"),
        ("gap_ms}\n", "gap}\n", "bad-step"),
        ("kill: leader, for: 3s", "kil: leader, for: 3s", "bad-step"),
        ("kill: leader, for: 3s", "kill: leader, for: soon", "bad-step"),
    ],
)
def test_a_name_that_means_nothing_is_refused(old: str, new: str, rule: str) -> None:
    text = changed(old, new)
    found = defects_of(text)
    assert rule in found
    assert found[rule][0][0] == line_of(text, new.split("\n")[0])


def test_all_defects_come_in_one_go_and_in_order() -> None:
    text = TEXT.replace("clients: 5", "clients: five").replace("swep", "sweep").replace("| H2 |", "| H1 |")
    text = text.replace("check: [linearizable]", "chek: [linearizable]")
    _, defects = parse_leniently(text, STORE)
    assert {"wrong-type", "duplicate-id", "unknown-key", "missing-key"} <= {defect.rule for defect in defects}
    assert [defect.line for defect in defects] == sorted(defect.line for defect in defects)


def test_a_sweep_cannot_make_runs_without_bound() -> None:
    many = ", ".join(f"p{number}: [0, 1]" for number in range(40))
    text = changed("sweep: {gap_ms: [0, 5, 20]}", f"sweep: {{gap_ms: [0, 5, 20], {many}}}")
    ((_, section, what),) = defects_of(text)["bad-value"]
    assert section == "7.S2"
    assert "at most 1000" in what


def test_arms_with_steps_of_their_own_are_runs_after_the_common_steps() -> None:
    old = "expect: its own value, oracle: tenant-isolation}"
    text = changed(old, old[:-1] + ", steps: [{read: {key: k, via: leader, expect: ok}}]}")
    (run,) = parse_plan(text).scenarios["S3"].arms()
    assert run.name == "own-key"
    assert len(run.steps) == 5
    wrong = text.replace("[{read: {key: k, via: leader, expect: ok}}]", "[{read: {key: k, to: leader}}]")
    ((line, _, what),) = defects_of(wrong)["bad-step"]
    assert line == line_of(wrong, "to: leader")
    assert "takes no 'to'" in what


def test_words_that_old_yaml_takes_for_booleans_stay_words() -> None:
    plan = parse_plan(changed("extra: {tenant: ab}", "extra: {tenant: no, on: yes, at: 12:30}"))
    step = plan.scenarios["S3"].steps[1]["write"]
    assert step["extra"] == {"tenant": "no", "on": "yes", "at": "12:30"}


def test_a_key_twice_in_yaml_is_refused() -> None:
    text = changed("system: three-nodes\nworkload", "system: three-nodes\nid: S9\nworkload")
    assert defects_of(text)["duplicate-key"][0][0] == line_of(text, "id: S9")


def test_aliases_cannot_unfold_without_bound() -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 9)
    )
    text = changed("```yaml\nid: S1\n", f"```yaml\n{bomb}id: S1\n")
    assert "yaml-too-large" in defects_of(text)


def test_an_alias_to_itself_ends() -> None:
    text = changed("```yaml\nid: S1\n", "```yaml\nextra: &me [*me]\nid: S1\n")
    assert defects_of(text)


def test_yaml_cannot_make_objects() -> None:
    text = changed("name: acknowledged", "name: !!python/object/apply:os.system [true]\nx: acknowledged")
    assert "bad-yaml" in defects_of(text)


def test_broken_yaml_is_named_at_its_line() -> None:
    text = changed("budget:\n  smoke", "budget: {\n  smoke")
    (_, section, what), *_ = defects_of(text)["bad-yaml"]
    assert section == "7.S1"
    assert "YAML" in what


def test_a_plan_of_tables_only_reads() -> None:
    text = "\n".join(
        part.split("```", 1)[-1] if place else part for place, part in enumerate(TEXT.split("```yaml"))
    )
    plan = parse_plan(text)
    assert len(plan.claims) == 3
    assert plan.scenarios == {}
    assert [section.scenario for section in plan.sections if section.number.startswith("7.S")] == [
        "S1",
        "S2",
        "S3",
    ]


def test_claims_may_be_a_yaml_list() -> None:
    text = "# P\n\n## 1b Claims\n\n```yaml\n- {id: C1, text: kept, category: safety}\n```\n"
    text += "\n## 4 Hypotheses\n\n```yaml\n- {id: H1, text: lost, claims: [C1]}\n```\n"
    plan = parse_plan(text)
    assert plan.claims["C1"].text == "kept"
    assert plan.claims["C1"].line == 6
    assert plan.hypotheses["H1"].claims == ("C1",)


def test_pipes_in_code_do_not_end_a_cell() -> None:
    text = "# P\n\n## 1b Claims\n\n| id | claim | category |\n|---|---|---|\n"
    text += "| C1 | `a|b` holds | safety |\n| C2 | `a\\|b` holds | safety |\n"
    plan = parse_plan(text)
    assert plan.claims["C1"].text == "`a|b` holds"
    assert plan.claims["C2"].text == "`a|b` holds"
    assert plan.claims["C1"].category == "safety"


def test_a_heading_inside_a_fence_is_no_section() -> None:
    text = TEXT + "\n```markdown\n## 1b. Claims\n\n| id | claim |\n|---|---|\n| C1 | again |\n```\n"
    assert len(parse_plan(text).claims) == 3


def test_a_section_of_a_persons_own_is_kept_apart() -> None:
    plan = parse_plan(TEXT + "\n## Appendix\n\n| id | claim |\n|---|---|\n| C1 | again |\n")
    assert plan.sections[-1].number == ""
    assert plan.sections[-1].title == "Appendix"
    assert len(plan.claims) == 3


def test_sections_are_known_by_their_titles_where_people_number_their_own_way() -> None:
    titles = [
        "1. Guarantees",
        "2. Failure model",
        "3. Hypotheses",
        "Test scenarios",
        "5. Exit criteria",
        "Notes",
    ]
    plan = parse_plan("# Orders\n\n" + "\n\n".join(f"## {title}\n\ntext" for title in titles) + "\n")
    assert [section.number for section in plan.sections] == ["1b", "2", "4", "7", "7d", ""]
    assert plan.sections[0].title == "Guarantees"


def test_a_number_of_the_plan_is_believed_before_a_title() -> None:
    plan = parse_plan("# Orders\n\n## 1. Promises of ours\n\n## 8. Claims\n\n## 1b. Claims\n\n## Claims\n")
    assert [section.number for section in plan.sections] == ["1", "8", "1b", ""]


def test_a_file_that_is_no_plan_is_one_clear_error(tmp_path: Path) -> None:
    missing = tmp_path / "none.md"
    with pytest.raises(PlanError, match=r"none\.md.*cannot be read"):
        read_plan(missing)
    binary = tmp_path / "bin.md"
    binary.write_bytes(b"# P\n\xff\xfe")
    with pytest.raises(PlanError, match=r"bin\.md:2: not UTF-8"):
        read_plan(binary)
    with pytest.raises(PlanError, match="directory"):
        read_plan(tmp_path)
    pipe = tmp_path / "pipe.md"
    os.mkfifo(pipe)
    with pytest.raises(PlanError, match="pipe"):
        read_plan(pipe)


def test_a_plan_with_very_many_defects_names_the_first_and_counts_the_rest() -> None:
    rows = "".join(f"| C{number} | again | safety | README.md:1@0123abc |\n" for number in [1] * 100)
    with pytest.raises(PlanError) as raised:
        parse_plan(TEXT + f"\n## 1b. More\n\n| id | claim | category | source |\n|---|---|---|---|\n{rows}")
    assert len(raised.value.defects) >= 100
    lines = str(raised.value).splitlines()
    assert len(lines) == 41
    assert lines[-1] == f"{len(raised.value.defects) - 40} more left out: `refute plan check` lists them"


def test_columns_are_known_by_the_names_that_people_give_them() -> None:
    plan = parse_plan(changed("| id | hypothesis | claims |", "| ref | hypothesis | promises |"), STORE)
    assert plan.hypotheses["H1"].claims == ("C2",)


def test_an_empty_file_is_an_empty_plan() -> None:
    plan = parse_plan("")
    assert plan.claims == {} and plan.sections == () and plan.source == ""
