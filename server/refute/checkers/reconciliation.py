"""Replica reconciliation: after everything settled, all nodes hold the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Any

from refute.checkers.judgement import Judgement
from refute.checkers.kinds import is_collection, kinds
from refute.checkers.observation import final_reads
from refute.checkers.result import Budget, Result
from refute.history import History, Operation, hashable

_ORDERED = frozenset({"append", "enqueue", "send", "push"})


def check(
    history: History,
    *,
    budget: Budget,
    final: str = "phase",
    ordered: bool | None = None,
    nodes: int = 2,
    write_kinds: object = (),
    read_kinds: object = (),
) -> Result:
    """Whether the last final reads of an object on all nodes are equal.

    Collections are compared with their order where `ordered` says so, by default where the object is
    appended to. Unknown where fewer than `nodes` nodes were read, where some node never answered, or
    where an object was read on some nodes only. O(what the final reads returned).
    """
    known = kinds(write_kinds, read_kinds)
    judgement = Judgement("replica-reconciliation", "last final reads compared node by node")
    reads = final_reads(history, known, final)
    appended = {hashable(o.key) for o in history.operations if o.kind in _ORDERED}
    keys: dict[Hashable, Any] = {}
    for seen in reads.by_key.values():
        for observation in seen.values():
            keys[hashable(observation.key)] = observation.key
    for operation in reads.whole_maps.values():
        keys |= {hashable(key): key for key in operation.output}
    everywhere = {node for name in keys for node in reads.of(keys[name])}
    for name, key in keys.items():
        seen = reads.of(key)
        keep_order = (name in appended or None in appended) if ordered is None else ordered
        values = {node: _comparable(o.value, keep_order) for node, o in seen.items()}
        groups: dict[Hashable, list[str | None]] = {}
        for node, value in values.items():
            groups.setdefault(value, []).append(node)
        if len(groups) > 1:
            judgement.judged += 1
            one, other = list(groups.values())[:2]
            first, second = seen[one[0]], seen[other[0]]
            label = "" if key is None else f" of {key}"
            judgement.found(
                "divergent-replicas",
                f"{one[0]} and {other[0]} disagree about the final value{label}: "
                f"{_short(first.value)} and {_short(second.value)}",
                (first.operation, second.operation),
                key=key,
                nodes={_short(seen[group[0]].value): list(map(str, group)) for group in groups.values()},
            )
        elif len(seen) < max(2, nodes):
            judgement.cannot(f"only {len(seen)} nodes were read at the end")
        elif reads.silent_nodes(key):
            silent = ", ".join(sorted(map(str, reads.silent_nodes(key))))
            judgement.cannot(f"no final read of {silent} succeeded")
        elif set(seen) != everywhere:
            judgement.cannot("an object was read at the end on some nodes only")
        else:
            judgement.judged += 1
    used: list[Operation] = list(reads.reads)
    judgement.ignored["superseded final reads"] = reads.superseded
    return judgement.result(used, nothing="there are no final reads", keys=len(keys))


def _comparable(value: Any, keep_order: bool) -> Hashable:
    if is_collection(value) and not keep_order:
        return frozenset(Counter(map(hashable, value)).items())
    return hashable(value)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
