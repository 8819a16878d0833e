"""The answer to check_plan: matrices made from the plan's data, bounded, and the same in text and data."""

from __future__ import annotations

from pathlib import Path

import pytest

from refute import resources
from refute.tools.plans import CheckPlanRequest, ScaffoldPlanRequest, check_plan, scaffold_plan
from refute.tools.problems import ToolError

PLANS = resources.folder("testing-plans")


def test_matrices_are_given_where_they_are_asked_for() -> None:
    path = str(PLANS / "quorumkv.md")
    assert check_plan(CheckPlanRequest(plan=path)).matrices == {}
    answer = check_plan(CheckPlanRequest(plan=path, matrices=True))
    assert list(answer.matrices) == ["faults by claim", "coverage", "environment"]
    assert "| C2 | S4 | S1 | - |" in answer.matrices["faults by claim"]
    assert "| C2 | H1, H5 | S1, S4 |" in answer.matrices["coverage"]
    assert all(matrix.rstrip() in answer.text() for matrix in answer.matrices.values())


@pytest.mark.parametrize(("claims", "row"), [(50, "| C50 |"), (51, "| safety | 51 |")])
def test_many_claims_are_counted_instead_of_listed(claims: int, row: str, tmp_path: Path) -> None:
    rows = "".join(
        f"| C{n} | Promise {n} is kept. | safety | `README.md:{n}@abc1234` |\n" for n in range(1, claims + 1)
    )
    path = tmp_path / "plan.md"
    path.write_text(f"# P\n\n## 1b. Claims\n\n| id | claim | category | source |\n|---|---|---|---|\n{rows}")
    answer = check_plan(CheckPlanRequest(plan=str(path), matrices=True))
    assert row in answer.matrices["coverage"]
    assert not answer.ok


def test_the_answer_says_where_citations_were_not_read_again() -> None:
    said = "its citations were not read again: name their repository (--repository)"
    cited = str(PLANS / "quorumkv.md")
    assert said in check_plan(CheckPlanRequest(plan=cited)).text()
    assert said not in check_plan(CheckPlanRequest(plan=cited, repository=str(Path(__file__).parent))).text()
    only_urls = str(PLANS / "etcd.md")
    assert said not in check_plan(CheckPlanRequest(plan=only_urls)).text()


def test_a_first_plan_is_not_written_through_a_link_to_nowhere(tmp_path: Path) -> None:
    link, elsewhere = tmp_path / "plan.md", tmp_path / "elsewhere.md"
    link.symlink_to(elsewhere)
    (tmp_path / "system").mkdir()
    (tmp_path / "system" / "README.md").write_text("# s\n\nAn acknowledged write is never lost.\n")
    request = ScaffoldPlanRequest(repository=str(tmp_path / "system"), slug="s", output=str(link))
    with pytest.raises(ToolError, match="there already"):
        scaffold_plan(request)
    assert not elsewhere.exists()
