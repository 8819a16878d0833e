"""What was recorded: operations, faults and their landing evidence, and the formats they are kept in."""

from refute.history.columns import Columns, OperationTable
from refute.history.error import HistoryError
from refute.history.events import HistoryWriter
from refute.history.fault import FaultEvent, FaultPhase, Landing, Signal
from refute.history.history import Completeness, History
from refute.history.operation import Operation, Outcome, Phase
from refute.history.stand_ins import hashable, recorded

__all__ = [
    "Columns",
    "Completeness",
    "FaultEvent",
    "FaultPhase",
    "History",
    "HistoryError",
    "HistoryWriter",
    "Landing",
    "Operation",
    "OperationTable",
    "Outcome",
    "Phase",
    "Signal",
    "hashable",
    "recorded",
]
