"""From the folder of a scenario to its verdict, and back onto disk."""

from __future__ import annotations

from pathlib import Path

from refute.plan.reader import read_plan
from refute.session.attempt_spec import demand_of
from refute.session.errors import SessionError
from refute.session.files import plain, write_json
from refute.session.judge import Judgement, judge_attempt
from refute.session.record import Session
from refute.verdict import Decision, ScenarioEvidence, decide


def judge_scenario(session: Session, scenario: str) -> tuple[Decision, list[tuple[Path, Judgement]]]:
    """The verdict that the recorded attempts support, and the judgement of each attempt.

    Raises SessionError where the plan of the session does not know the scenario.
    """
    plan = read_plan(session.folder / "plan.md")
    if scenario not in plan.scenarios:
        raise SessionError(f"the plan has no scenario {scenario!r}", where=session.folder / "plan.md")
    demand = demand_of(plan.scenarios[scenario], session.index.budget)
    judged = [(folder, judge_attempt(folder)) for folder in session.attempts(scenario)]
    evidence = ScenarioEvidence(demand, tuple(judgement.evidence for _, judgement in judged))
    return decide(evidence), judged


def write_judgement(folder: Path, judgement: Judgement) -> None:
    """Writes `check.json` (what the checkers answered) and `audit.json` (evidence and planted violations)."""
    write_json(folder / "check.json", {"results": judgement.results})
    write_json(folder / "audit.json", {"evidence": judgement.evidence, "planted": judgement.audits})


def write_verdict(session: Session, scenario: str, decision: Decision) -> None:
    """Writes the scenario's `verdict.json`; the index takes it over when the session is sealed."""
    write_json(session.scenario_folder(scenario) / "verdict.json", verdict_document(scenario, decision))


def verdict_document(scenario: str, decision: Decision) -> dict[str, object]:
    """What `verdict.json` holds."""
    return {
        "scenario": scenario,
        "verdict": decision.verdict.value,
        "rate": list(decision.rate) if decision.rate else None,
        "reasons": plain(decision.reasons),
    }
