"""The design skill is short, triggered by what people say, and in step with the catalogs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from refute.faces.cli import build_parser
from refute.plan.catalogs import read_catalog
from refute.plan.pitfalls import pitfalls
from refute.plan.reader import parse_leniently, parse_plan
from refute.plan.skill_references import SKILL
from tests.skills.skill_folder import front_matter, tokens

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "skills" / SKILL
TEXT = (FOLDER / "SKILL.md").read_text(encoding="utf-8")
TRIGGERS = (
    *("stability plan", "fault matrix", "release-validation plan", "durability", "partition", "upgrade"),
    *("crash-recovery", "linearizability", "deterministic-simulation", "tenant-isolation", "authz/boundary"),
    *("namespace-isolation", "multi-protocol", "fairness", "noisy-neighbor plan"),
    *("what should we be testing", "test plan to enough coverage", "make a holistic test plan"),
    "what should we test for this change",
)
TOOLS = (
    *("map_repository", "scope_change", "extract_claims", "discover_toolbox", "scaffold_plan", "check_plan"),
    *("probe_environment", "list_faults"),
)


@pytest.mark.parametrize("phrase", TRIGGERS)
def test_the_description_holds_every_phrase_that_people_use(phrase: str) -> None:
    assert phrase in str(front_matter(TEXT)["description"])


@pytest.mark.parametrize("tool", TOOLS)
def test_the_skill_drives_the_tools_over_mcp_and_in_a_shell(tool: str) -> None:
    row = next(line for line in TEXT.splitlines() if f"`{tool}`" in line and "`refute " in line)
    assert row.startswith("|")


def test_every_command_that_the_skill_names_exists() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("|") and "`refute " in line]
    commands = [words for row in rows for words in re.findall(r"`refute ([^`]+)`", row)]
    assert len(commands) >= 9
    for words in commands:
        for written in (re.sub(r" \[[^\]]*\]", "", words), re.sub(r"[\[\]]", "", words)):
            assert "handler" in build_parser().parse_args(written.split()), written


def test_what_is_read_before_a_plan_is_written_is_under_8000_tokens() -> None:
    read = TEXT + "".join(
        (FOLDER / "references" / name).read_text(encoding="utf-8")
        for name in ("plan-format.md", "suspects.md")
    )
    assert tokens(read) < 8000


def test_the_references_are_those_of_the_catalogs() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "write_references.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, ""), "run scripts/write_references.py"


def test_the_plan_format_is_shown_by_examples_that_read() -> None:
    page = (ROOT / "docs" / "plans.md").read_text(encoding="utf-8")
    system, load, directed, arms = re.findall(r"```yaml\n.*?```", page, re.S)
    head = "# P\n\n## 1b. Claims\n\n| id | claim |\n|---|---|\n| C1 | kept |\n| C2 | true |\n"
    head += "\n## 4. Hypotheses\n\n| id | hypothesis | claims |\n|---|---|---|\n| H1 | a | C2 |\n| H2 | b | C1 |\n"
    boundary = directed.replace("id: S2", "id: S3").replace("\n```", "\n" + arms.split("\n", 1)[1])
    plan = parse_plan(
        f"{head}\n## 6b. Environment\n\n{system}\n\n## 7. Scenarios\n\n{load}\n\n{directed}\n\n{boundary}\n"
    )
    assert set(plan.scenarios) == {"S1", "S2", "S3"}
    assert len(plan.scenarios["S3"].arms_) == 2
    assert not parse_leniently(page)[0].claims, "the page itself is no plan"


def test_the_catalogs_are_whole() -> None:
    known = {pitfall.id for pitfall in pitfalls()}
    assert len(known) == len(pitfalls()) >= 24
    for pitfall in pitfalls():
        assert pitfall.seen and all(url.startswith("https://") for _, url in pitfall.seen)
        assert (
            pitfall.symptom
            and pitfall.mechanism
            and pitfall.oracle
            and pitfall.hypothesis
            and pitfall.sequence
        )
        assert pitfall.severity in (1, 2, 3)
    suspects = read_catalog("suspects")
    assert {name for entry in suspects for name in entry["pitfalls"]} <= known
    wanted = {"id", "title", "reach_for", "finds", "misses", "tools", "cost", "checklist"}
    assert len(read_catalog("techniques")) == 11
    assert all(set(entry) == wanted for entry in read_catalog("techniques"))
