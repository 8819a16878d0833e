"""Evidence in, one of ten verdicts out: pure functions only."""

from refute.verdict.decide import decide
from refute.verdict.evidence import AttemptEvidence, CheckEvidence, Demand, ScenarioEvidence
from refute.verdict.names import Decision, Reason, Verdict, may_lower
from refute.verdict.vacuity import ANY, Required, Window, fault_windows, lacking

__all__ = [
    "ANY",
    "AttemptEvidence",
    "CheckEvidence",
    "Decision",
    "Demand",
    "Reason",
    "Required",
    "ScenarioEvidence",
    "Verdict",
    "Window",
    "decide",
    "fault_windows",
    "lacking",
    "may_lower",
]
