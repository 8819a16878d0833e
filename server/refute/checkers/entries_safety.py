"""Catalog rows of the checkers for sessions, durability, safety, order, groups and service levels."""

from __future__ import annotations

from refute.checkers.catalog import CheckerEntry
from refute.checkers.change_feed import FEED_KINDS
from refute.checkers.identifiers import KINDS as GENERATING
from refute.checkers.kinds import ACCUMULATING, CONSUMING, READING, REMOVING, REPLACING

_WRITES = tuple(sorted(REPLACING | ACCUMULATING))
_READS = tuple(sorted(READING | CONSUMING))
_KIND_OPTIONS = {
    "write_kinds": "further kinds that write: a list, or a mapping to one of ours",
    "read_kinds": "further kinds that read: a list, or a mapping to one of ours",
}
_FINAL = {"final": "which reads are final: phase (default) or last, those after every acknowledged write"}
_ID_FIELD = {"id_field": "the field that names a row, where elements are rows"}

_INITIAL = {"initial": "what an object holds before the first write (null)"}
_SESSION = {
    **_INITIAL,
    "session": "the field of extra that names the session (default: each process is one)",
    **_KIND_OPTIONS,
}
_REGISTERS = (*sorted(REPLACING), *sorted(READING))
_PART = "all, main, baseline, fault or healthy: the part of the run that counts"

_DURABILITY = (
    CheckerEntry(
        "no-lost-acknowledged-write",
        "every acknowledged write is in, or explained by, the reads made after everything settled",
        "durability:check",
        ("durability", "safety"),
        (*_WRITES, *_READS, *sorted(REMOVING - REPLACING)),
        options={
            **_FINAL,
            "require": "where the final read must show it: every-node (default), quorum, any-node, a number",
            "initial": "what an object holds before the first write (null)",
            **_ID_FIELD,
            **_KIND_OPTIONS,
        },
    ),
    CheckerEntry(
        "exactly-once",
        "each business key took effect once, whatever was retried",
        "exactly_once:check",
        ("idempotency", "safety"),
        (*sorted(ACCUMULATING), *_READS),
        ("extra.idempotency_key",),
        {
            **_FINAL,
            "initial": "what a counter holds before the first add (0)",
            **_ID_FIELD,
            "same_answer": "whether attempts of one request must be answered alike (false)",
            **_KIND_OPTIONS,
        },
    ),
)

_SESSIONS = (
    CheckerEntry(
        "read-your-writes",
        "no session reads a version older than one that it wrote",
        "sessions:check_read_your_writes",
        ("session", "consistency"),
        _REGISTERS,
        options=_SESSION,
    ),
    CheckerEntry(
        "monotonic-reads",
        "no session reads a version older than one that it read",
        "sessions:check_monotonic_reads",
        ("session", "consistency"),
        _REGISTERS,
        options=_SESSION,
    ),
    CheckerEntry(
        "monotonic-writes",
        "whoever sees a write sees that session's earlier writes, too",
        "sessions:check_monotonic_writes",
        ("session", "consistency"),
        _REGISTERS,
        options=_SESSION,
    ),
    CheckerEntry(
        "writes-follow-reads",
        "whoever sees a write sees what its session had read before",
        "sessions:check_writes_follow_reads",
        ("session", "consistency"),
        _REGISTERS,
        options=_SESSION,
    ),
    CheckerEntry(
        "bounded-staleness",
        "reads lag by at most so many milliseconds or versions",
        "staleness:check",
        ("consistency", "freshness"),
        _REGISTERS,
        options={
            "max_ms": "the greatest lag allowed, in ms",
            "max_versions": "how many acknowledged versions a read may be behind",
            **_INITIAL,
            **_KIND_OPTIONS,
        },
    ),
)

_SAFETY = (
    CheckerEntry(
        "no-phantom",
        "whatever was read, somebody had asked to write, and it did not fail",
        "phantom:check",
        ("safety", "integrity"),
        (*_WRITES, *_READS),
        options={**_INITIAL, **_ID_FIELD, **_KIND_OPTIONS},
    ),
    CheckerEntry(
        "unique-ids",
        "no id is given out twice",
        "identifiers:check",
        ("safety", "uniqueness"),
        GENERATING,
        options={
            "generate_kinds": f"the kinds whose outputs are ids ({', '.join(GENERATING)})",
            "increasing": "whether an id asked for later must be greater (false)",
        },
    ),
    CheckerEntry(
        "bank-total",
        "all balances of one read add up to the total",
        "bank:check",
        ("safety", "isolation"),
        ("transfer", "read"),
        options={
            "total": "what the balances add up to (default: what the first read adds up to)",
            "negative_balances": "whether a balance may be below zero (false)",
            "accounts": "how many accounts a read has",
            "read_kinds": _KIND_OPTIONS["read_kinds"],
        },
    ),
    CheckerEntry(
        "long-fork",
        "no two reads see two writes in opposite orders",
        "long_fork:check",
        ("isolation", "consistency"),
        ("txn", *sorted(REPLACING), "read-all"),
        options=_KIND_OPTIONS,
    ),
    CheckerEntry(
        "replica-reconciliation",
        "after everything settled all nodes hold the same",
        "reconciliation:check",
        ("convergence", "durability"),
        tuple(sorted(READING)),
        options={
            **_FINAL,
            "ordered": "whether the order within collections counts (default: where they are appended to)",
            "nodes": "how many nodes must have been read at the least (2)",
            **_KIND_OPTIONS,
        },
    ),
    CheckerEntry(
        "mutual-exclusion",
        "a lock has one holder at a time, or its tokens fence former holders off",
        "mutual_exclusion:check",
        ("safety", "locking"),
        ("acquire", "lock", "release", "unlock", "renew", *_WRITES),
        ("extra.token",),
        {
            "mode": "mutex (default: tenures never overlap) or fenced (tokens grow, old ones are refused)",
            "lease_ms": "how long a tenure lasts at most after the acquire was invoked",
            "write_kinds": _KIND_OPTIONS["write_kinds"],
        },
    ),
    CheckerEntry(
        "counter",
        "each read of a counter lies within what the adds allow",
        "counter:check",
        ("safety", "consistency"),
        ("add", "increment", "incr", "read", "get", "read-all"),
        options={"initial": "what the counter holds at first (0)"},
    ),
    CheckerEntry(
        "set-full",
        "an element that is known to be in a growing set stays in it",
        "set_full:check",
        ("durability", "safety"),
        (*sorted(ACCUMULATING), *sorted(READING)),
        options={
            "linearizable": "whether a read that lags is a violation (false)",
            **_ID_FIELD,
            **_KIND_OPTIONS,
        },
    ),
    CheckerEntry(
        "g-set",
        "a growing set converges, and no session sees an element go",
        "set_full:check_grow_only",
        ("convergence", "durability"),
        (*sorted(ACCUMULATING), *sorted(READING)),
        options={**_FINAL, **_ID_FIELD, **_KIND_OPTIONS},
    ),
)

_ORDER = (
    CheckerEntry(
        "prefix",
        "of two reads of one log one is a beginning of the other",
        "prefix:check",
        ("ordering", "consistency"),
        (*sorted(ACCUMULATING), *sorted(READING)),
        options={
            "real_time": "whether elements must stand in the order of their acknowledgements (false)",
            **_ID_FIELD,
            **_KIND_OPTIONS,
        },
    ),
    CheckerEntry(
        "fifo-per-partition",
        "each consumer is handed a partition's elements in the order they were sent in",
        "fifo:check",
        ("ordering",),
        (*sorted(ACCUMULATING), *sorted(CONSUMING)),
        options={
            "per_producer": "whether only elements of one producer have an order (false)",
            **_ID_FIELD,
            **_KIND_OPTIONS,
        },
    ),
    CheckerEntry(
        "kafka-log",
        "a partition's records are polled once, in order, without gaps",
        "kafka_log:check",
        ("ordering", "durability"),
        ("send", "poll", "txn", "assign", "subscribe"),
        ("extra.offset",),
        {"allow": "anomalies that are no violation, such as repeated-poll"},
    ),
    CheckerEntry(
        "change-feed",
        "every subscriber sees each change once, in order, without gaps",
        "change_feed:check",
        ("ordering", "durability"),
        (*_WRITES, *FEED_KINDS),
        options={
            "contiguous": "whether numbers follow each other without holes (true)",
            "number_field": "the field of an event that numbers it",
            "duplicates": "whether an event may come again (false)",
            "write_kinds": _KIND_OPTIONS["write_kinds"],
            "feed_kinds": f"the kinds that read the feed ({', '.join(FEED_KINDS)})",
        },
    ),
)

_GROUPS = (
    CheckerEntry(
        "fairness",
        "service is shared between groups as the bounds say",
        "fairness:check",
        ("fairness",),
        ("any",),
        ("extra.group",),
        {
            "groups": "the groups that must appear",
            "weights": "how much each group deserves (equal)",
            "max_min_ratio": "greatest service per weight divided by the least",
            "min_jain": "the least Jain index",
            "share_tolerance": "how far below its due a group's share may be, as a part of it",
            "max_starvation_ms": "how long a group may wait for any answer",
            "measure": "operations (default) or cost (extra.cost)",
            "during": _PART,
            "min_operations": "how often each group must have asked (10)",
        },
    ),
    CheckerEntry(
        "boundary",
        "the denied fails, the allowed works, nothing of a tenant reaches another",
        "boundary:check",
        ("boundary", "security"),
        ("any",),
        ("extra.tenant", "extra.expect", "extra.surface"),
        {
            "surfaces": "surfaces that must have controls of both kinds",
            "denials": "what the error text of a refused request contains (403, denied, ...)",
            "marker_length": "from which length on a text that one tenant wrote is its marker (8)",
        },
    ),
    CheckerEntry(
        "slo",
        "latency, errors, throughput and recovery keep their levels, with confidence",
        "slo:check",
        ("performance", "availability"),
        ("any",),
        ("extra.scheduled_ns",),
        {
            "percentiles": "greatest latency in ms by percentile, {p99: 50}",
            "max_error_rate": "the greatest share of failed and unknown operations",
            "min_throughput_per_s": "the least successes a second",
            "max_recovery_ms": "the longest time from a heal to twenty good answers in a row",
            "during": _PART,
            "operation_kinds": "only these kinds (all)",
            "confidence": "of the intervals (0.95)",
            "resamples": "how many (2000)",
            "seed": "of the resampling (0)",
            "min_operations": "fewer prove nothing (100)",
        },
    ),
)

ENTRIES: tuple[CheckerEntry, ...] = (*_DURABILITY, *_SESSIONS, *_SAFETY, *_ORDER, *_GROUPS)
