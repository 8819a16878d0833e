"""The catalog's rows for transactions."""

from refute.checkers.catalog import CheckerEntry

_MODEL = (
    "the isolation model that is claimed: serializable (default), snapshot-isolation, read-committed, ..."
)
_ORDER = "none (default), session or real-time: the order beyond data that must hold"

ENTRIES = (
    CheckerEntry(
        name="list-append",
        summary="Isolation of transactions that append to and read lists: every anomaly, every model",
        function="transactions.list_append:check_list_append",
        properties=("isolation", "transactions"),
        kinds=("txn",),
        options={"model": _MODEL},
    ),
    CheckerEntry(
        name="rw-register",
        summary="Isolation of transactions on registers whose written values are unique to their key",
        function="transactions.rw_register:check_rw_register",
        properties=("isolation", "transactions"),
        kinds=("txn",),
        options={
            "model": _MODEL,
            "writes_follow_reads": "infer that a write comes after what its transaction read (default true)",
            "sequential_keys": "assume that each process sees every key advance (default false)",
            "linearizable_keys": "assume that real time orders the versions of every key (default false)",
            "accept_inferred": "answer True where inference shows nothing, without a proof (default false)",
        },
    ),
    CheckerEntry(
        name="read-committed",
        summary="Read committed of register transactions, exact (axiom of Biswas and Enea)",
        function="transactions.weak:check_read_committed",
        properties=("isolation", "transactions"),
        kinds=("txn",),
    ),
    CheckerEntry(
        name="read-atomic",
        summary="Read atomic of register transactions in sessions, exact",
        function="transactions.weak:check_read_atomic",
        properties=("isolation", "transactions"),
        kinds=("txn",),
    ),
    CheckerEntry(
        name="causal",
        summary="Causal consistency of register transactions in sessions, exact",
        function="transactions.weak:check_causal",
        properties=("isolation", "transactions"),
        kinds=("txn",),
    ),
    CheckerEntry(
        name="serializable-exact",
        summary="Serializability of register transactions, exact: saturation, then search",
        function="transactions.exact:check_serializable_exact",
        properties=("isolation", "transactions"),
        kinds=("txn",),
        options={"order": _ORDER},
    ),
    CheckerEntry(
        name="snapshot-isolation-exact",
        summary="Snapshot isolation of register transactions by search; small histories",
        function="transactions.exact:check_snapshot_isolation_exact",
        properties=("isolation", "transactions"),
        kinds=("txn",),
        options={"order": _ORDER},
    ),
)
