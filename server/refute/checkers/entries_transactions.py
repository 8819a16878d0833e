"""The catalog's rows for transactions."""

from refute.checkers.catalog import CheckerEntry

_MODEL = (
    "the isolation model that is claimed: serializable (default), snapshot-isolation, read-committed, ..."
)

ENTRIES = (
    CheckerEntry(
        name="list-append",
        summary="Isolation of transactions that append to and read lists: every anomaly, every model",
        function="transactions.list_append:check_list_append",
        properties=("isolation", "transactions"),
        kinds=("txn",),
        options={"model": _MODEL},
    ),
)
