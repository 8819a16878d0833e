"""What was recorded: operations, faults and their landing evidence, and the formats they are kept in."""

from refute.history.fault import FaultEvent, FaultPhase, Landing, Signal
from refute.history.history import Completeness, History
from refute.history.operation import Operation, Outcome, Phase

__all__ = [
    "Completeness",
    "FaultEvent",
    "FaultPhase",
    "History",
    "Landing",
    "Operation",
    "Outcome",
    "Phase",
    "Signal",
]
