"""The order of the versions of registers, as far as it can be inferred, and the dependencies from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from refute.checkers.real_time import interval_reduction
from refute.checkers.spending import Meter
from refute.checkers.transactions.findings import Findings
from refute.checkers.transactions.graph import RW, WR, WW, Dependencies, DependencyBuilder, on_cycles
from refute.checkers.transactions.register_columns import RegisterColumns

_Before = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Inference:
    """From what the order of versions is inferred.

    `initial_state`: keys begin unwritten. `writes_follow_reads`: what a transaction writes comes after
    what it read of that key; this holds wherever circular information flow (G1c) is forbidden.
    `sequential_keys`: each process sees each key advance. `linearizable_keys`: each key is
    linearizable, so that real time orders its versions.
    """

    initial_state: bool = True
    writes_follow_reads: bool = True
    sequential_keys: bool = False
    linearizable_keys: bool = False

    def sentences(self) -> list[str]:
        """The assumptions in words."""
        return [
            sentence
            for holds, sentence in (
                (self.initial_state, "initial state: every key begins unwritten and reads as nil"),
                (self.writes_follow_reads, "writes follow reads: what a transaction writes to a key comes "
                 "after the version that it read of it (sound for read committed and stronger)"),
                (self.sequential_keys, "sequential keys: each process sees the versions of a key advance"),
                (self.linearizable_keys, "linearizable keys: real time orders the versions of each key"),
            )
            if holds
        ]  # fmt: skip


@dataclass(slots=True)
class RegisterDependencies:
    """The graph, and why each inferred pair of versions is ordered (`successors[v]` = {later: reason})."""

    graph: Dependencies
    successors: dict[int, dict[int, str]]


def register_dependencies(
    columns: RegisterColumns, inference: Inference, findings: Findings, meter: Meter, *, real_time: bool
) -> RegisterDependencies:
    """Infers versions orders, reports keys whose versions run in a circle, and builds the graph.

    Kingsbury and Alvaro 2020, section on inferring version orders of registers. O(n log n), with
    linearizable keys O(n c) for c transactions at once on one key.
    """
    successors: dict[int, dict[int, str]] = {}

    def before(first: int, second: int, why: str) -> None:
        if first != second and first >= 0 and second >= 0:
            successors.setdefault(first, {}).setdefault(second, why)

    if inference.writes_follow_reads:
        for _, seen, version in columns.updates:
            before(seen, version, "read")
    for version, later in enumerate(columns.replaced):
        before(version, later, "own")
    if inference.sequential_keys:
        _in_sessions(columns, before)
    if inference.linearizable_keys and real_time:
        _in_real_time(columns, before)
    meter.check()
    circular = _cyclic(columns, successors, findings)
    excluded = circular | set(columns.ambiguous)

    builder = DependencyBuilder(len(columns.timeline.operations))
    happened = columns.happened()
    usable = [
        writer < 0 or happened[writer] for writer in columns.writer
    ]  # a failed or unknown writer is no node
    flow = [
        (columns.writer[version], reader)
        for version, readers in enumerate(columns.readers)
        if readers
        and columns.writer[version] >= 0
        and usable[version]
        and columns.key[version] not in excluded
        for reader in readers
    ]
    builder.add([edge[0] for edge in flow], [edge[1] for edge in flow], WR)
    preceded = {later for following in successors.values() for later in following}
    roots: dict[int, list[int]] = {}
    if inference.initial_state:
        for version, writer in enumerate(columns.writer):
            if writer >= 0 and usable[version] and version not in preceded:
                roots.setdefault(columns.key[version], []).append(writer)
    meter.check()
    written: list[tuple[int, int]] = []
    anti: list[tuple[int, int]] = []
    for version, following in successors.items():
        if columns.key[version] in excluded:
            continue
        for later, why in following.items():
            writer = columns.writer[later]
            if writer < 0 or not usable[later]:
                continue
            # After a read the order of the writes is also a read dependency, so that needs no ww.
            if why not in ("read", "own") and columns.writer[version] >= 0 and usable[version]:
                written.append((columns.writer[version], writer))
            if len(following) == 1:
                anti.extend((reader, writer) for reader in columns.readers[version])
        if len(following) > 1:
            targets = [
                columns.writer[later] for later in following if columns.writer[later] >= 0 and usable[later]
            ]
            builder.fan(columns.readers[version], targets, RW)
    for key, targets in roots.items():
        if key not in excluded:
            builder.fan(columns.readers[columns.initial[key]], targets, RW)
    builder.add([edge[0] for edge in written], [edge[1] for edge in written], WW)
    builder.add([edge[0] for edge in anti], [edge[1] for edge in anti], RW)
    columns.timeline.order(builder, np.array(happened, bool), real_time=real_time)
    return RegisterDependencies(builder.build(), successors)


def _in_sessions(columns: RegisterColumns, before: _Before) -> None:
    last: dict[tuple[object, int], int] = {}
    for txn, key, first, final in columns.touched:
        place = (columns.timeline.operations[txn].process, key)
        if place in last:
            before(last[place], first, "session")
        last[place] = final


def _in_real_time(columns: RegisterColumns, before: _Before) -> None:
    by_key: dict[int, list[tuple[int, int | None, int]]] = {}
    for number, (txn, key, _, _) in enumerate(columns.touched):
        operation = columns.timeline.operations[txn]
        by_key.setdefault(key, []).append((operation.invoked_ns, operation.completed_ns, number))
    for touches in by_key.values():
        for earlier, later in interval_reduction(touches):
            before(columns.touched[earlier][3], columns.touched[later][2], "real time")


def _cyclic(columns: RegisterColumns, successors: dict[int, dict[int, str]], findings: Findings) -> set[int]:
    """The keys whose versions precede one another in a circle; nothing precedes the initial version."""
    circular: dict[int, list[int]] = {}
    pairs = [(first, later) for first, following in successors.items() for later in following]
    for _, later in pairs:
        if columns.writer[later] == -1:
            circular.setdefault(columns.key[later], [later])
    count = len(columns.value)
    source = np.array([first for first, _ in pairs], np.int64)
    target = np.array([later for _, later in pairs], np.int64)
    graph = Dependencies(count, count, source, target, np.zeros(len(pairs), np.int8))
    for place in np.flatnonzero(on_cycles(graph)).tolist():
        circular.setdefault(columns.key[pairs[place][0]], []).append(pairs[place][0])
    for key, versions in circular.items():
        if key in columns.ambiguous or not findings.wants("cyclic-versions"):
            continue
        members = set(versions)
        who = [
            columns.timeline.operations[txn]
            for txn in sorted(
                {reader for version in members for reader in columns.readers[version]}
                | {columns.writer[version] for version in members if columns.writer[version] >= 0}
            )
        ]
        findings.show(
            "cyclic-versions",
            f"The versions {', '.join(map(columns.named, sorted(members)))} precede one another in a circle "
            f"({', '.join(sorted({successors[v][w] for v in members for w in successors.get(v, ())}))}).",
            who,
            {"key": columns.keys[key]},
        )
    return set(circular)


def open_keys(columns: RegisterColumns, successors: dict[int, dict[int, str]]) -> int:
    """How many keys have versions of which the inference does not say which comes first.

    A key is settled where its versions form one chain, each the direct successor of the one before.
    """
    happened = columns.happened()
    live: dict[int, set[int]] = {}
    for version, writer in enumerate(columns.writer):
        if writer >= 0 and happened[writer]:
            live.setdefault(columns.key[version], set()).add(version)
    open_count = 0
    for versions in live.values():
        missing = Counter(later for v in versions for later in successors.get(v, ()) if later in versions)
        ready = [version for version in versions if not missing[version]]
        placed = 0
        while len(ready) == 1:
            version = ready.pop()
            placed += 1
            for later in successors.get(version, ()):
                if later in versions:
                    missing[later] -= 1
                    if not missing[later]:
                        ready.append(later)
        open_count += placed < len(versions)
    return open_count
