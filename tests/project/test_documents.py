"""What README and its companions say of the project is true: links, verdicts, faults, checkers, the plan shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from refute.checkers.catalog import CATALOG
from refute.nemesis.mechanisms import implemented
from refute.plan.check import check_plan_file
from refute.plan.reader import read_plan
from refute.verdict import Verdict

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").glob("*.md")),
    ROOT / "docs" / "testing-plans" / "README.md",
]


def links(text: str) -> list[str]:
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    found = re.findall(r"\]\(([^)\s#]+)[^)]*\)", text)
    return [link for link in found if "://" not in link]


def section(title: str) -> str:
    return README.split(f"\n## {title}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = [link for link in links(page.read_text("utf-8")) if not (page.parent / link).exists()]
    assert broken == []


def test_a_broken_link_would_be_seen() -> None:
    assert links("[a](b.md) `x` [c](d.md#e) [w](https://example.org)") == ["b.md", "d.md"]


@pytest.mark.parametrize("folder", ["docs", "docs/testing-plans"])
def test_the_index_names_every_page(folder: str) -> None:
    index = links((ROOT / folder / "README.md").read_text("utf-8"))
    pages = {page.name for page in (ROOT / folder).glob("*.md")} - {"README.md"}
    assert pages
    assert pages <= set(index)


def test_the_readme_names_the_ten_verdicts() -> None:
    rows = re.findall(r"^\| ([A-Z]+[\w-]*) \|", section("What a verdict means"), re.M)
    assert sorted(rows) == sorted(verdict.value for verdict in Verdict)


def test_the_readme_names_the_faults_that_have_a_mechanism_and_no_others() -> None:
    named = set()
    for plane, kinds in re.findall(r"^\| `(\w+)`[^|]*\| ([^|]+) \|$", section("Faults"), re.M):
        named |= {(plane, kind.split(" in ")[0].strip()) for kind in kinds.split(",")}
    assert named == {fault for fault in implemented() if fault[0] in {plane for plane, _ in named}}
    assert {plane for plane, _ in implemented()} == {plane for plane, _ in named}


def test_the_readme_names_checkers_that_there_are() -> None:
    named = set(re.findall(r"`([a-z-]+)`", re.sub(r"\|[^|]*\|$", "", section("Checkers"), flags=re.M)))
    assert len(named - {"unknown"}) > 5
    assert named - {"unknown"} <= set(CATALOG)


def test_the_plan_that_the_readme_shows_is_the_one_of_the_plan_format() -> None:
    shown = re.findall(r"```yaml\n(.*?)```", section("A plan"), re.S)[0]
    plain = re.sub(r" +# .*", "", (ROOT / "docs" / "plans.md").read_text("utf-8"))
    assert shown in plain


def test_the_changelog_has_an_entry_for_what_is_not_released() -> None:
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert "## [Unreleased]" in text
    assert set(re.findall(r"^### (\w+)", text, re.M)) <= {
        *("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
    }


def test_a_service_from_elsewhere_takes_under_100_lines_of_yaml_and_no_code() -> None:
    page = ROOT / "docs" / "testing-plans" / "dynalite.md"
    blocks = re.findall(r"```(\w*)\n(.*?)```", page.read_text("utf-8"), re.S)
    assert {language for language, _ in blocks} == {"yaml"}
    assert sum(len(text.splitlines()) for _, text in blocks) < 100
    (system,) = read_plan(page).systems.values()
    assert all(client.http and not client.worker for client in system.clients.values())


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs" / "testing-plans").glob("[!R]*.md")), ids=lambda page: page.stem
)
def test_a_plan_of_ours_has_no_error(page: Path) -> None:
    checked = check_plan_file(page)
    assert checked.ok, checked.defects
