"""What read committed, read atomic and causal consistency demand of the commit order, edge by edge.

A history satisfies a level where session order, what was read from whom, and these edges have no cycle.
The axioms are those of Biswas and Enea, "On the Complexity of Checking Transactional Consistency"
(2019); the small sets of edges that suffice are those of Moldrup and Pavlogiannis, "AWDIT: An Optimal
Weak Database Isolation Tester" (2025).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from refute.checkers.spending import BudgetSpentError, Meter
from refute.checkers.transactions.register_columns import INITIAL, RegisterColumns
from refute.checkers.transactions.timeline import INFO, OK

_METER_EVERY = 1024

# (first, then, reader, key): `first` must commit before `then`, because `reader` read the key from `then`.
Demand = tuple[int, int, int, int]


@dataclass(slots=True)
class ExternalReads:
    """What transactions read from others and wrote for others, on keys that can be told apart.

    `reads[t]` are (key, writer) in the order of the reads; a writer may be INITIAL. `writes[t]` are
    the keys that t wrote. `unrepeatable` are (transaction, key) with reads from two transactions;
    `selfless` are (transaction, version read) that contradict the transaction's own writes.
    """

    reads: list[list[tuple[int, int]]]
    writes: list[frozenset[int]]
    unrepeatable: list[tuple[int, int]] = field(default_factory=list)
    selfless: list[tuple[int, int]] = field(default_factory=list)


def external_reads(columns: RegisterColumns) -> ExternalReads:
    """Separates reads of others from reads of one's own writes, O(n)."""
    outcome = columns.timeline.outcome
    found = ExternalReads([], [])
    for txn, micro in enumerate(columns.micro):
        reads: list[tuple[int, int]] = []
        own: dict[int, int] = {}
        seen: dict[int, int] = {}
        for is_write, version in micro:
            key = columns.key[version]
            if key in columns.ambiguous:
                continue
            if is_write:
                own[key] = version
            elif outcome[txn] == OK:
                writer = columns.writer[version]
                if key in own or writer == txn:
                    if own.get(key) != version:
                        found.selfless.append((txn, version))
                    continue
                if writer >= INITIAL and (writer < 0 or outcome[writer] <= INFO):
                    reads.append((key, writer))
                    if seen.setdefault(key, writer) != writer:
                        found.unrepeatable.append((txn, key))
        found.reads.append(reads)
        found.writes.append(frozenset(own))
    return found


def read_committed_demands(external: ExternalReads, meter: Meter) -> Iterator[Demand]:
    """Who was seen by an earlier read and wrote the key of a later one precedes the later one's writer.

    Going through the reads backwards, the two nearest later writers of a key are all that is needed.
    O(n^(3/2)): of the keys written by the one seen and the keys read, the smaller set is walked.
    """
    for txn, reads in enumerate(external.reads):
        if not txn % _METER_EVERY:
            meter.check()
        first_from: dict[int, int] = {}
        for place, (_, writer) in enumerate(reads):
            first_from.setdefault(writer, place)
        later: dict[int, tuple[int, int | None]] = {}
        for place in range(len(reads) - 1, -1, -1):
            key, writer = reads[place]
            if writer != INITIAL and first_from[writer] == place:
                written = external.writes[writer]
                few, many = (written, later) if len(written) < len(later) else (later, written)
                for other in few:
                    if other in many:
                        nearest, next_one = later[other]
                        then = nearest if nearest != writer else next_one
                        if then is not None:
                            yield writer, then, txn, other
            nearest_two = later.get(key)
            if nearest_two is None:
                later[key] = (writer, None)
            elif nearest_two[0] != writer:
                later[key] = (writer, nearest_two[0])


def read_atomic_demands(
    columns: RegisterColumns, external: ExternalReads, meter: Meter, *, sessions: bool = True
) -> Iterator[Demand]:
    """Who precedes a reader in its session, or was read by it, precedes those it read the same keys from.

    Needs repeatable reads. Of a session only the last writer of the key; without `sessions` every
    transaction is one of its own. O(n^(3/2)).
    """
    last_writer: dict[tuple[int, int], int] = {}
    outcome = columns.timeline.outcome
    chain = columns.timeline.chains() if sessions else list(range(len(outcome)))
    for txn, reads in enumerate(external.reads):
        if not txn % _METER_EVERY:
            meter.check()
        if outcome[txn] != OK:
            continue
        of_key = dict(reads)
        for key, then in of_key.items():
            first = last_writer.get((chain[txn], key))
            if first is not None and first != then:
                yield first, then, txn, key
        for writer in set(of_key.values()) - {INITIAL}:
            written = external.writes[writer]
            few, many = (written, of_key) if len(written) < len(of_key) else (of_key, written)
            for key in few:
                if key in many and of_key[key] != writer:
                    yield writer, of_key[key], txn, key
        for key in external.writes[txn]:
            last_writer[chain[txn], key] = txn


def causal_demands(columns: RegisterColumns, external: ExternalReads, meter: Meter) -> Iterator[Demand]:
    """Who wrote a key and causally precedes a reader precedes the one that it read the key from.

    Causal order is kept as vector clocks; of each session only the last writer of the key that precedes
    the reader is needed. O(n k log n) for k sessions. Unknown transactions are the last of nothing: what
    is known of them is kept apart, as bit sets. Needs an acyclic causal order.
    """
    order, preceding = _causal_order(columns, external)
    outcome, operations = columns.timeline.outcome, columns.timeline.operations
    chain = columns.timeline.chains()
    sessions: dict[int, int] = {}
    for txn in range(len(operations)):
        if outcome[txn] == OK:
            sessions.setdefault(chain[txn], len(sessions))
    if len(operations) * len(sessions) > 400_000_000:
        raise BudgetSpentError(f"{len(sessions):,} sessions are too many for vector clocks")
    clock = np.full((len(operations), len(sessions)), -1, np.int32)
    unknown: dict[int, int] = {}  # by transaction: bits of the unknown ones that causally precede it
    writers: dict[int, dict[int, list[int]]] = {}
    unknown_writers: dict[int, int] = {}
    for txn, written in enumerate(external.writes):
        for key in written:
            if outcome[txn] == OK:
                session = sessions[chain[txn]]
                writers.setdefault(key, {}).setdefault(session, []).append(txn)
            elif outcome[txn] == INFO:
                unknown_writers[key] = unknown_writers.get(key, 0) | 1 << txn
    for count, txn in enumerate(order):
        if not count % _METER_EVERY:
            meter.check()
        row = clock[txn]
        bits = 0
        for before in preceding[txn]:
            np.maximum(row, clock[before], out=row)
            bits |= unknown.get(before, 0)
            if outcome[before] == OK:
                session = sessions[chain[before]]
                row[session] = max(row[session], before)
            else:
                bits |= 1 << before
        if bits:
            unknown[txn] = bits
        if not external.reads[txn]:
            continue
        seen = row.tolist()
        for key, then in dict(external.reads[txn]).items():
            for session, members in writers.get(key, {}).items():
                place = bisect_right(members, seen[session])
                if place and members[place - 1] != then:
                    yield members[place - 1], then, txn, key
            some = bits & unknown_writers.get(key, 0)
            while some:
                low = some & -some
                first = low.bit_length() - 1
                if first != then:
                    yield first, then, txn, key
                some ^= low


def _causal_order(columns: RegisterColumns, external: ExternalReads) -> tuple[list[int], list[list[int]]]:
    """A topological order of session order and reads-from, and who directly precedes each transaction."""
    count = len(columns.timeline.operations)
    preceding: list[list[int]] = [[] for _ in range(count)]
    following: list[list[int]] = [[] for _ in range(count)]
    for source, target in zip(columns.timeline.session_source, columns.timeline.session_target, strict=True):
        preceding[target].append(source)
        following[source].append(target)
    for reader, reads in enumerate(external.reads):
        for writer in {writer for _, writer in reads} - {INITIAL}:
            preceding[reader].append(writer)
            following[writer].append(reader)
    missing = [len(before) for before in preceding]
    order = [txn for txn in range(count) if not missing[txn]]
    for txn in order:
        for later in following[txn]:
            missing[later] -= 1
            if not missing[later]:
                order.append(later)
    return order, preceding
