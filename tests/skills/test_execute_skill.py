"""The execute skill is triggered by what people say, drives the tools, and knows every verdict and reason code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from refute.plan.reader import parse_plan
from refute.tools.registry import TOOLS
from refute.verdict import Verdict
from tests.skills.skill_folder import front_matter, tokens

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "skills" / "executing-distributed-system-tests"
TEXT = (FOLDER / "SKILL.md").read_text(encoding="utf-8")
CODES = (FOLDER / "references" / "verdicts.md").read_text(encoding="utf-8")
BUG = (FOLDER / "references" / "reproducing-a-bug.md").read_text(encoding="utf-8")
TRIGGERS = (
    *("real or simulated", "fault", "workload", "consistency", "durability", "partition", "crash-recovery"),
    *("upgrade", "SLO", "tenant-isolation", "boundary/authz", "fairness", "reproduce a bug"),
    *("validate a release", "check a recorded history"),
)
DRIVEN = (
    *("check_plan", "probe_environment", "list_faults", "start_run", "get_run", "cancel_run"),
    *(
        "check_history",
        "reduce_failure",
        "write_report",
        "read_artifact",
        "manage_system",
        "inject_fault",
        "heal_faults",
    ),
)
RULES = (
    *("Claims first", "Halt without a machine-checkable oracle", "Early exit", "Their toolbox before yours"),
    *("Ask about the environment before probing it", "Write nothing into the system's repository outside"),
    *("No PASS without the tool's verdict", "cannot raise one", "Leave nothing on"),
)


@pytest.mark.parametrize("phrase", TRIGGERS)
def test_the_description_holds_every_phrase_that_people_use(phrase: str) -> None:
    assert phrase in str(front_matter(TEXT)["description"])


@pytest.mark.parametrize("tool", DRIVEN)
def test_the_skill_drives_the_tools_over_mcp_and_in_a_shell(tool: str) -> None:
    assert tool in {row.name for row in TOOLS}
    assert any(line.startswith("|") and f"`{tool}`" in line for line in TEXT.splitlines())


def test_every_tool_that_the_skill_names_is_one_that_is_served() -> None:
    served = {row.name for row in TOOLS}
    named = set(re.findall(r"`([a-z]+_[a-z]+)`", TEXT + CODES + BUG)) - {"none_because"}
    assert named, "nothing was looked at"
    assert named <= served


@pytest.mark.parametrize("rule", RULES)
def test_the_rules_are_kept(rule: str) -> None:
    assert rule in TEXT


@pytest.mark.parametrize("verdict", list(Verdict))
def test_each_verdict_has_what_to_do_next(verdict: Verdict) -> None:
    row = next(line for line in TEXT.splitlines() if line.startswith(f"| {verdict.value} |"))
    assert all(len(cell.strip()) > 10 for cell in row.split("|")[2:4])


def test_the_reference_explains_the_reason_codes_that_the_decision_tree_gives_and_no_others() -> None:
    tree = (ROOT / "server" / "refute" / "verdict" / "decide.py").read_text(encoding="utf-8")
    given = set(re.findall(r'Reason\(\s*"([a-z-]+)"', tree)) | set(re.findall(r'code = "([a-z-]+)"', tree))
    given |= set(re.findall(r'else "([a-z]+-[a-z]+)"', tree)) | {"budget-not-provided"}
    given |= {f"{budget}-budget-met" for budget in ("hardening", "release")}
    explained = set()
    for line in CODES.splitlines():
        if line.startswith("|"):
            explained |= set(re.findall(r"`([a-z]+(?:-[a-z]+)*)`", line.split("|")[2]))
    assert len(given) > 20
    assert explained == given


def test_the_example_of_an_aimed_sequence_is_a_scenario_that_reads() -> None:
    page = (ROOT / "docs" / "plans.md").read_text(encoding="utf-8")
    system = re.findall(r"```yaml\n.*?```", page, re.S)[0]
    scenario = re.findall(r"```yaml\n.*?```", BUG, re.S)[0]
    head = "# P\n\n## 1b. Claims\n\n| id | claim |\n|---|---|\n| C1 | kept |\n"
    head += "\n## 4. Hypotheses\n\n| id | hypothesis | claims |\n|---|---|---|\n| H4 | a | C1 |\n"
    plan = parse_plan(f"{head}\n## 6b. Environment\n\n{system}\n\n## 7. Scenarios\n\n{scenario}\n")
    assert len(plan.scenarios["S9"].steps) == 8
    assert plan.scenarios["S9"].control is not None


def test_the_skill_is_short() -> None:
    assert tokens(TEXT) < 2500
