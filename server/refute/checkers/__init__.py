"""History in, Result out: one module a property, pure functions only."""

from refute.checkers import entries_safety, entries_transactions
from refute.checkers.catalog import CATALOG, CheckerEntry, CheckerError, entry_for, register, run_check
from refute.checkers.result import Anomaly, Budget, Result, Validity, merge

register(*entries_transactions.ENTRIES)
register(*entries_safety.ENTRIES)

__all__ = [
    "CATALOG",
    "Anomaly",
    "Budget",
    "CheckerEntry",
    "CheckerError",
    "Result",
    "Validity",
    "entry_for",
    "merge",
    "run_check",
]
