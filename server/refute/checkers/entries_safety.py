"""Catalog rows of the checkers for sessions, durability, safety, order, groups and service levels."""

from __future__ import annotations

from refute.checkers.catalog import CheckerEntry
from refute.checkers.kinds import ACCUMULATING, CONSUMING, READING, REMOVING, REPLACING

_WRITES = tuple(sorted(REPLACING | ACCUMULATING))
_READS = tuple(sorted(READING | CONSUMING))
_KIND_OPTIONS = {
    "write_kinds": "further kinds that write: a list, or a mapping to one of ours",
    "read_kinds": "further kinds that read: a list, or a mapping to one of ours",
}
_FINAL = {"final": "which reads are final: phase (default) or last, those after every acknowledged write"}
_ID_FIELD = {"id_field": "the field that names a row, where elements are rows"}

ENTRIES: tuple[CheckerEntry, ...] = (
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
