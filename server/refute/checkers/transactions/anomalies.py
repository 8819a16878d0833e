"""The anomalies by name: one table with the definition of each, and which follows from which.

Names are those of Adya, "Weak Consistency: A Generalized Theory and Optimistic Implementations for
Distributed Transactions" (1999), and of Kingsbury and Alvaro, "Elle: Inferring Isolation Anomalies
from Experimental Observations" (2020).
"""

from __future__ import annotations

from functools import cache

CYCLES = ("G0", "G1c", "G-single", "G-nonadjacent", "G2-item")
LEVELS = ("", "-process", "-realtime")

DEFINITIONS: dict[str, str] = {
    "G0": "write cycle: a cycle of write dependencies (ww) alone",
    "G1a": "aborted read: a committed transaction read a value of a failed one",
    "G1b": "intermediate read: a committed transaction read a value that its writer replaced before it ended",
    "G1c": "circular information flow: a cycle of write and read dependencies (ww, wr)",
    "G-single": "a cycle with exactly one anti-dependency (rw)",
    "G-nonadjacent": "a cycle with several anti-dependencies (rw), no two of them next to each other",
    "G2-item": "a cycle with anti-dependencies (rw), two of them next to each other",
    "fractured-read": "a transaction saw one write of another and missed a second write of the same one",
    "G-monotonic": "a transaction saw one write of another and later read a key without the other's write",
    "lost-update": "two committed transactions read the same version of a key, and both then wrote that key",
    "dirty-update": "a committed transaction wrote on top of a value of a failed one",
    "internal": "a transaction contradicts its own earlier reads and writes",
    "duplicate-elements": "a read holds the same element twice",
    "incompatible-order": "two reads, or a read and the writer, disagree about the order of elements",
    "cyclic-versions": "the versions of a key precede one another in a circle",
    "garbage-read": "a value was read that nobody wrote",
    "not-serializable": "no order of the transactions explains what they read",
    "not-snapshot-isolated": "no order of snapshots and commits explains what the transactions read",
}


# What a name that is no plain class of cycles implies.
_FURTHER = {
    "G-monotonic": "fractured-read",
    "fractured-read": "G-single",
    "not-snapshot-isolated": "not-serializable",
}


def definition(name: str) -> str:
    """What the anomaly of that name is, its process and real-time forms included."""
    for level, extra in (("-process", "process"), ("-realtime", "real-time")):
        if name.endswith(level):
            return f"{DEFINITIONS[name.removesuffix(level)]}; some edge of it is {extra} order"
    return DEFINITIONS[name]


@cache
def implied(name: str) -> frozenset[str]:
    """The anomalies that a history with this one has too, this one included.

    A cycle of ww edges is also a cycle of ww and wr edges, and so on up; a cycle without session or
    real-time edges is one in the graph that has them; session order is part of real-time order.

    >>> sorted(implied("G-nonadjacent-process"))
    ['G-nonadjacent-process', 'G-nonadjacent-realtime', 'G2-item-process', 'G2-item-realtime']
    """
    if name in _FURTHER:
        return implied(_FURTHER[name]) | {name}
    for depth, level in reversed(list(enumerate(LEVELS))):
        base = name.removesuffix(level) if level else name
        if name.endswith(level) and base in CYCLES:
            above = CYCLES[CYCLES.index(base) :]
            return frozenset(cycle + wider for cycle in above for wider in LEVELS[depth:])
    return frozenset({name})
