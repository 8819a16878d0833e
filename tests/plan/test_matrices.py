"""Matrices say what the plan's data says, and no more."""

from __future__ import annotations

from refute.plan.matrices import claim_summary, coverage_matrix, environment_requirements, fault_matrix
from refute.plan.reader import parse_plan
from tests.plan.plans import FLEET, STORE


def test_the_fault_matrix_names_the_scenario_under_each_family() -> None:
    matrix = fault_matrix(parse_plan(STORE))
    assert matrix.header == ("claim", "crash", "pause", "no fault")
    assert matrix.rows == (("C1", "S1", "-", "-"), ("C2", "-", "S2", "-"), ("C3", "-", "-", "S3"))


def test_a_claim_that_nothing_tries_is_a_gap() -> None:
    plan = parse_plan(FLEET.replace("falsifies: [K6, K8]", "falsifies: [K6]"))
    rows = {row[0]: row for row in coverage_matrix(plan).rows}
    assert rows["K8"][-1] == "no scenario"
    assert rows["K1"][1:3] == ("H1", "P1")
    assert rows["K1"][-2:] == ("NOT-RUN", "not run")
    assert rows["K3"][-1] == "no fault"


def test_verdicts_decide_what_is_left_open() -> None:
    verdicts = {"S1": "PASS-hardening", "S2": "FAIL-reproducible", "S3": "PARTIAL-surface"}
    rows = {row[0]: row[-2:] for row in coverage_matrix(parse_plan(STORE), verdicts).rows}
    assert rows["C1"] == ("PASS-hardening", "none")
    assert rows["C2"] == ("FAIL-reproducible", "failed")
    assert rows["C3"] == ("PARTIAL-surface", "no fault")


def test_existing_tests_are_those_of_section_3_that_name_the_claim() -> None:
    rows = {row[0]: row[3] for row in coverage_matrix(parse_plan(STORE)).rows}
    assert rows == {"C1": "-", "C2": "`tests/test_store.py::test_put_get`", "C3": "-"}


def test_a_matrix_with_pipes_in_it_is_still_one_table() -> None:
    plan = parse_plan(STORE.replace("`tests/test_store.py::test_put_get`", "`a \\| b`"))
    lines = coverage_matrix(plan).markdown().splitlines()
    assert "a \\| b" in lines[3]
    assert len(lines) == 5


def test_a_summary_counts_every_claim_once() -> None:
    more = "".join(f"| C{n} | promise {n} | safety | `R.md:{n}@abc1234` |\n" for n in range(4, 64))
    plan = parse_plan(STORE.replace("\n## 1c", more + "\n## 1c").replace("\n\n| C4", "\n| C4"))
    matrix = claim_summary(plan)
    assert len(plan.claims) == 63
    assert matrix.rows[-1][:2] == ("all", "63")
    assert sum(int(cell) for cell in matrix.rows[-1][2:]) == 63


def test_requirements_name_who_needs_them() -> None:
    needed = dict(environment_requirements(parse_plan(FLEET)).rows)
    storage = next(name for name in needed if name.startswith("fault plane storage"))
    assert needed[storage] == "P1"
    assert needed["5 processes of ./ledgerd, 10 free ports"] == "P1, P2, P5, P6, P7"
    assert needed["the version old of five"] == "P1, P2, P5, P6, P7"
