"""The decision tree as a table of cases: one row a branch, and the order of the branches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from refute.history import Landing, Signal
from refute.verdict import (
    AttemptEvidence,
    CheckEvidence,
    Demand,
    ScenarioEvidence,
    Verdict,
    decide,
    may_lower,
)

MOVED = Signal("injector", "bytes held", "n1->n2", "increases", 0, 120)
SUFFERED = Signal("victim", "bytes delivered", "n2", "stops", 900, 0)
STILL = Signal("victim", "bytes delivered", "n2", "stops", 900, 450)
LANDED = Landing("f1", "proxy", "partition", ("n1",), (MOVED, SUFFERED))
MISSED = Landing("f1", "proxy", "partition", ("n1",), (MOVED, STILL))
HALF = replace(LANDED, signals=(MOVED, SUFFERED, replace(MOVED, name="n2->n1", during=0, needed=True)))
UNFELT = replace(LANDED, signals=(MOVED, SUFFERED, replace(STILL, declared="n2: term increases")))
HOLDS = CheckEvidence("linearizable", True, planted_tried=40, planted_noticed=40)
BROKEN = CheckEvidence("linearizable", False, anomalies=("stale read",))
CANNOT_TELL = CheckEvidence("linearizable", "unknown", reason="time limit of 60 s")

RUN = AttemptEvidence("run-1", "run", seed=1, checks=(HOLDS,), landings=(LANDED,), planned_faults=1)
CONTROL = AttemptEvidence("control", "control", seed=1, checks=(HOLDS,))
FAILED = replace(RUN, checks=(BROKEN,))
RERUN = replace(FAILED, name="rerun-1", mode="rerun", reruns_of="run-1")
RERUN_HELD = replace(RUN, name="rerun-2", mode="rerun", reruns_of="run-1")
SMOKE = Demand("S1", faults=1)
HARDENING = Demand("S1", budget="hardening", seeds=1, faults=1)

CASES: list[tuple[str, Demand, tuple[AttemptEvidence, ...], Verdict, str]] = [
    ("nothing ran", SMOKE, (), Verdict.NOT_RUN, "not-run"),
    ("no budget", replace(SMOKE, not_provided="too slow"), (), Verdict.NOT_RUN, "budget-not-provided"),
    ("smoke", SMOKE, (RUN, CONTROL), Verdict.PASS_SMOKE, "smoke-budget"),
    ("hardening", HARDENING, (RUN, CONTROL), Verdict.PASS_HARDENING, "hardening-budget-met"),
    ("no control", HARDENING, (RUN,), Verdict.PASS_SMOKE, "no-control"),
    ("too few seeds", replace(HARDENING, seeds=2), (RUN, CONTROL), Verdict.PASS_SMOKE, "too-few-seeds"),
    ("violation", SMOKE, (FAILED, RERUN, RERUN, RERUN), Verdict.FAIL_REPRODUCIBLE, "violation"),
    ("rare violation", SMOKE, (FAILED, RERUN, RERUN_HELD, RERUN_HELD), Verdict.FAIL_NONDETERMINISTIC, "violation"),
    ("half is not most", SMOKE, (FAILED, RERUN, RERUN_HELD), Verdict.FAIL_NONDETERMINISTIC, "violation"),
    ("violation, no rerun", SMOKE, (FAILED,), Verdict.FAIL_NONDETERMINISTIC, "violation"),
    ("violation in the control", SMOKE, (RUN, replace(CONTROL, checks=(BROKEN,))), Verdict.FAIL_NONDETERMINISTIC, "violation"),
    (
        "violation without a landed fault",
        SMOKE,
        (replace(FAILED, landings=(MISSED,), completed=False), RERUN),
        Verdict.FAIL_REPRODUCIBLE,
        "violation",
    ),
    ("killed", SMOKE, (replace(RUN, completed=False), CONTROL), Verdict.INCONCLUSIVE_ENV, "incomplete"),
    (
        "another sequence",
        SMOKE,
        (replace(RUN, diverged="step 3 expected ok and got fail"), CONTROL),
        Verdict.INCONCLUSIVE_ENV,
        "sequence-not-followed",
    ),
    ("not landed", SMOKE, (replace(RUN, landings=(MISSED,)), CONTROL), Verdict.INCONCLUSIVE_FAULT, "not-landed"),
    ("one link of two not cut", SMOKE, (replace(RUN, landings=(HALF,)), CONTROL), Verdict.INCONCLUSIVE_FAULT, "not-landed"),
    ("the plan's evidence did not hold", SMOKE, (replace(RUN, landings=(UNFELT,)), CONTROL), Verdict.INCONCLUSIVE_FAULT, "not-landed"),
    (
        "violation, the plan's evidence did not hold",
        SMOKE,
        (replace(FAILED, landings=(UNFELT,)), RERUN, RERUN, RERUN),
        Verdict.FAIL_REPRODUCIBLE,
        "violation",
    ),
    ("not applied", SMOKE, (replace(RUN, landings=()), CONTROL), Verdict.INCONCLUSIVE_FAULT, "not-applied"),
    (
        "one of two landed",
        SMOKE,
        (replace(RUN, landings=(LANDED, MISSED), planned_faults=2), CONTROL),
        Verdict.INCONCLUSIVE_FAULT,
        "not-landed",
    ),
    ("too few faults", replace(SMOKE, faults=3), (RUN, CONTROL), Verdict.INCONCLUSIVE_FAULT, "too-few-faults"),
    ("unknown", SMOKE, (replace(RUN, checks=(CANNOT_TELL,)), CONTROL), Verdict.INCONCLUSIVE_ORACLE, "unknown"),
    ("no checker", SMOKE, (replace(RUN, checks=()), CONTROL), Verdict.INCONCLUSIVE_ORACLE, "no-check"),
    (
        "unknown control",
        SMOKE,
        (RUN, replace(CONTROL, checks=(CANNOT_TELL,))),
        Verdict.INCONCLUSIVE_ORACLE,
        "unknown",
    ),
    (
        "nothing succeeded",
        SMOKE,
        (replace(RUN, vacuous=("no operation succeeded",)), CONTROL),
        Verdict.INCONCLUSIVE_ORACLE,
        "vacuous",
    ),
    (
        "not calibrated",
        SMOKE,
        (replace(RUN, checks=(CheckEvidence("linearizable", True),)), CONTROL),
        Verdict.INCONCLUSIVE_ORACLE,
        "not-calibrated",
    ),
    (
        "blind checker",
        SMOKE,
        (replace(RUN, checks=(replace(HOLDS, planted_noticed=37),)), CONTROL),
        Verdict.INCONCLUSIVE_ORACLE,
        "planted-missed",
    ),
    (
        "nothing to plant in",
        SMOKE,
        (replace(RUN, checks=(replace(HOLDS, planted_tried=0, planted_noticed=0),)), CONTROL),
        Verdict.INCONCLUSIVE_ORACLE,
        "proves-nothing",
    ),
    (
        "idle surface",
        SMOKE,
        (replace(RUN, idle_surfaces=("export",)), CONTROL),
        Verdict.PARTIAL_SURFACE,
        "surface-not-exercised",
    ),
    ("arm left out", replace(SMOKE, arms=("", "n=5")), (RUN, CONTROL), Verdict.PARTIAL_MODEL, "arm-not-run"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("demand", "attempts", "verdict", "code"), [case[1:] for case in CASES], ids=[c[0] for c in CASES]
)
def test_each_branch(demand: Demand, attempts: Any, verdict: Verdict, code: str) -> None:
    decision = decide(ScenarioEvidence(demand, attempts))
    assert decision.verdict is verdict
    assert decision.reasons[0].code == code


def test_every_verdict_has_a_case() -> None:
    assert {case[3] for case in CASES} == set(Verdict)


def test_the_rate_counts_only_reruns_of_the_first_failure() -> None:
    other = replace(RERUN, reruns_of="run-9")
    decision = decide(ScenarioEvidence(SMOKE, (FAILED, RERUN, RERUN_HELD, other)))
    assert decision.rate == (1, 2)


def test_a_rerun_that_did_not_end_says_nothing_about_the_rate() -> None:
    cut_short = replace(RERUN_HELD, completed=False)
    assert decide(ScenarioEvidence(SMOKE, (FAILED, RERUN, cut_short))).rate == (1, 1)


def test_a_failed_heal_is_told_and_changes_nothing() -> None:
    stuck = replace(RUN, heal_failed=("f1",))
    decision = decide(ScenarioEvidence(SMOKE, (stuck, CONTROL)))
    assert decision.verdict is Verdict.PASS_SMOKE
    assert "heal-failed" in {reason.code for reason in decision.reasons}


def test_whether_the_control_held_stands_beside_a_failure() -> None:
    codes = {reason.code for reason in decide(ScenarioEvidence(SMOKE, (FAILED, RERUN, CONTROL))).reasons}
    assert "control-passed" in codes
    broken = replace(CONTROL, checks=(BROKEN,))
    codes = {reason.code for reason in decide(ScenarioEvidence(SMOKE, (FAILED, RERUN, broken))).reasons}
    assert "fails-without-fault" in codes


@pytest.mark.parametrize(
    ("computed", "wanted", "allowed"),
    [
        (Verdict.PASS_HARDENING, Verdict.PASS_SMOKE, True),
        (Verdict.PASS_SMOKE, Verdict.INCONCLUSIVE_ENV, True),
        (Verdict.PARTIAL_MODEL, Verdict.INCONCLUSIVE_ORACLE, True),
        (Verdict.PASS_SMOKE, Verdict.PASS_HARDENING, False),
        (Verdict.INCONCLUSIVE_ENV, Verdict.PASS_SMOKE, False),
        (Verdict.PASS_SMOKE, Verdict.FAIL_REPRODUCIBLE, False),
        (Verdict.FAIL_REPRODUCIBLE, Verdict.INCONCLUSIVE_ENV, False),
        (Verdict.PASS_SMOKE, Verdict.PASS_SMOKE, False),
    ],
)
def test_nothing_but_evidence_raises_a_verdict(computed: Verdict, wanted: Verdict, allowed: bool) -> None:
    assert may_lower(computed, wanted) is allowed
