"""Long fork: two readers must not see two writes to two objects in opposite orders.

Parallel snapshot isolation allows it, snapshot isolation does not. Sovran, Power, Aguilera, Li,
"Transactional Storage for Geo-replicated Systems" (2011).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping
from itertools import pairwise
from typing import Any

from refute.checkers.judgement import Judgement
from refute.checkers.kinds import kinds
from refute.checkers.result import Budget, Result
from refute.history import History, Operation, Outcome, hashable

View = frozenset[Hashable]


def check(history: History, *, budget: Budget, write_kinds: object = (), read_kinds: object = ()) -> Result:
    """Whether the reads of each group of keys, each written once, can be put in one order.

    A read is a transaction of reads only, or a read that returns a map. A key that is written once
    is either not there yet or there; reads of the same keys must therefore be contained in one
    another. Keys that are written twice are left out, and make the answer unknown. O(n log n).
    """
    known = kinds(write_kinds, read_kinds)
    judgement = Judgement("long-fork", "reads of one group of keys form a chain")
    writers: dict[Hashable, list[Operation]] = defaultdict(list)
    groups: dict[View, list[tuple[Operation, View, Mapping[Hashable, Any]]]] = defaultdict(list)
    used: list[Operation] = []
    for operation in history.operations:
        steps = _steps(operation, known.replacing, known.reading)
        if steps is None:
            continue
        used.append(operation)
        for function, key, _ in steps:
            if function == "w" and operation.outcome is not Outcome.FAIL:
                writers[hashable(key)].append(operation)
        if operation.outcome is Outcome.OK and steps and all(function == "r" for function, _, _ in steps):
            values = {hashable(key): value for _, key, value in steps}
            if len(values) > 1:
                seen = frozenset(key for key, value in values.items() if value is not None)
                groups[frozenset(values)].append((operation, seen, values))
    for group, reads in groups.items():
        twice = [key for key in group if len(writers[key]) > 1]
        if twice:
            judgement.cannot("a key was written more than once, so that what is missing is not older")
            continue
        if len(reads) > 1:
            judgement.judged += len(reads)
        ordered = sorted(reads, key=lambda read: len(read[1]))
        for (one, smaller, _), (other, larger, _) in pairwise(ordered):
            if not smaller <= larger:
                left, right = next(iter(smaller - larger)), next(iter(larger - smaller))
                proof = (*writers[left], *writers[right], one, other)
                sentence = (
                    f"one read saw {left} without {right}, another saw {right} without {left}: "
                    "the two writes have no order"
                )
                judgement.found("long-fork", sentence, proof)
    return judgement.result(used, nothing="no two reads of one group of keys", keys=len(writers))


def _steps(
    operation: Operation, replacing: frozenset[str], reading: frozenset[str]
) -> list[tuple[str, Any, Any]] | None:
    if operation.kind in ("txn", "transaction"):
        done = operation.outcome is Outcome.OK and operation.output is not None
        return [
            ("r" if f == "r" else "w", key, value)
            for f, key, value in (operation.output if done else operation.input or ())
        ]
    if operation.kind in replacing:
        return [("w", operation.key, operation.input)]
    if operation.kind in reading and isinstance(operation.output, Mapping):
        return [("r", key, value) for key, value in operation.output.items()]
    return None
