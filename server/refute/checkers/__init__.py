"""History in, Result out: one module a property, pure functions only."""

from refute.checkers import entries_linearizable, entries_safety, entries_transactions
from refute.checkers.catalog import CATALOG, CheckerEntry, CheckerError, entry_for, register, run_check
from refute.checkers.minimal import minimise
from refute.checkers.result import Anomaly, Budget, Result, Validity, merge

register(*entries_linearizable.ENTRIES)
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
    "minimise",
    "run_check",
]
