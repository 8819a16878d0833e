"""The plans of this repository pass their own checker without an error or a warning."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute import resources
from refute.plan.check import check_plan_file
from refute.plan.citation import citations_in
from refute.tools.found import citation_reader

ROOT = Path(__file__).resolve().parents[2]
PLANS = resources.folder("testing-plans")
# In a source archive, and in a shallow clone, there is no history to read citations from.
HAS_HISTORY = (ROOT / ".git").exists() and not (ROOT / ".git" / "shallow").exists()
READER = citation_reader(ROOT) if HAS_HISTORY else None


def test_every_plan_of_ours_is_clean() -> None:
    names = sorted(path.stem for path in PLANS.glob("*.md") if path.stem != "README")
    assert {"quorumkv", "quorumkv-host", "etcd", "nats", "dynalite", "refute"} <= set(names)
    found = {name: check_plan_file(PLANS / f"{name}.md").defects for name in names}
    assert {name: defects for name, defects in found.items() if defects} == {}


@pytest.mark.parametrize("name", ["quorumkv", "quorumkv-host", "etcd", "refute"])
def test_a_plan_on_this_repository_is_clean_and_its_citations_are_read_again(name: str) -> None:
    checked = check_plan_file(PLANS / f"{name}.md", read_citation=READER)
    assert [defect.at(name) for defect in checked.defects] == []


@pytest.mark.parametrize("name", ["quorumkv", "refute"])
def test_every_claim_and_every_suspect_of_ours_is_cited_by_line_and_commit(name: str) -> None:
    plan = check_plan_file(PLANS / f"{name}.md").plan
    cited = [claim.source for claim in plan.claims.values()]
    cited += [each.suspect for each in plan.hypotheses.values() if each.suspect]
    assert len(cited) >= 9
    for text in cited:
        assert [len(place.commit) for place in citations_in(text)] == [40], text
