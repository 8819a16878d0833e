"""The catalog's rows for linearizability and its weaker relatives."""

from __future__ import annotations

from refute.checkers.catalog import CheckerEntry

ENTRIES = (
    CheckerEntry(
        name="linearizable",
        summary="operations seem to take effect one at a time, each between its invocation and its answer",
        function="linearizable.check:check_linearizable",
        properties=("consistency", "linearizability"),
        kinds=(
            "read",
            "write",
            "cas",
            "get",
            "put",
            "append",
            "delete",
            "add",
            "remove",
            "contains",
            "enqueue",
            "dequeue",
            "push",
            "pop",
            "insert",
            "delete-min",
            "acquire",
            "release",
            "txn",
        ),
        options={
            "model": "register (default), cas-register, kv, counter, set, multiset, queue, stack, "
            "priority-queue, log, lock, lease, transactions, or a class with `init` and `step`",
            "initial": "what a key holds before its first write (default: nil)",
            "unknown_initial": "true where nobody knows what a key held at first",
        },
    ),
    CheckerEntry(
        name="sequential",
        summary="registers: operations have one order that keeps each process's own, real time apart",
        function="linearizable.sequential:check_sequential",
        properties=("consistency",),
        kinds=("read", "write", "cas", "get", "put", "append", "delete"),
        options={
            "model": "register (default), cas-register, kv",
            "initial": "what a key holds before its first write (default: nil)",
            "unknown_initial": "true where nobody knows what a key held at first",
        },
    ),
)
