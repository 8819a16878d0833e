"""What the reads of a history say about each object, and which of them durability is judged by."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from refute.checkers.catalog import CheckerError
from refute.checkers.kinds import Kinds, effect_end
from refute.history import History, Operation, Outcome, Phase, hashable

ROW_NAMES = ("idempotency_key", "key", "id")
"""The fields by which a row is recognised where the caller names none."""


class Observation(NamedTuple):
    """One object as one successful read saw it."""

    operation: Operation
    key: Any
    value: Any


def observations(operation: Operation) -> list[Observation]:
    """What a successful read says: of its key, or of each key where it returned a whole map.

    A read without a key that returns `{"a": 1, "b": 2}` is a read of `a` and one of `b`.
    """
    if operation.key is None and isinstance(operation.output, Mapping):
        return [Observation(operation, key, value) for key, value in operation.output.items()]
    return [Observation(operation, operation.key, operation.output)]


@dataclass(frozen=True)
class FinalReads:
    """The last successful final read of each object on each node.

    `by_key` maps a `hashable` key to a node to what it saw. `silent` maps a `hashable` key to the nodes
    that were asked in the final phase and never answered. `superseded` counts earlier final reads.
    `whole_maps` are final reads that returned every key of a node at once.
    """

    by_key: Mapping[Hashable, Mapping[str | None, Observation]]
    silent: Mapping[Hashable, frozenset[str | None]]
    superseded: int = 0
    whole_maps: Mapping[str | None, Operation] = field(default_factory=dict)
    reads: tuple[Operation, ...] = ()

    def of(self, key: Any) -> dict[str | None, Observation]:
        """The last final read of one object by node; a whole map without the key says that it is absent."""
        frozen_key = hashable(key)
        seen = dict(self.by_key.get(frozen_key, {}))
        for node, operation in self.whole_maps.items():
            if node not in seen or seen[node].operation.invoked_ns < operation.invoked_ns:
                held = {hashable(name): value for name, value in operation.output.items()}
                seen[node] = Observation(operation, key, held.get(frozen_key))
        return seen

    def silent_nodes(self, key: Any) -> frozenset[str | None]:
        """Nodes whose final reads of the object all failed."""
        asked = self.silent.get(hashable(key), frozenset()) | self.silent.get(None, frozenset())
        return asked - set(self.of(key))


def final_reads(history: History, kinds: Kinds, final: str) -> FinalReads:
    """Finds the reads that durability is judged by.

    `final` is `phase` (reads of the final phase) or `last` (reads that began after every
    acknowledged write of the history had completed, for histories that know no phases).
    Consuming reads are never among them: what they returned is gone. Raises CheckerError.
    """
    if final not in ("phase", "last"):
        raise CheckerError(f"final must be phase or last, not {final!r}")
    last_write = max(
        (effect_end(o) for o in history.operations if o.outcome is Outcome.OK and kinds.writes(o)), default=0
    )
    chosen: list[Operation] = []
    for operation in history.operations:
        if operation.kind not in kinds.reading:
            continue
        if (operation.phase is Phase.FINAL) if final == "phase" else operation.invoked_ns > last_write:
            chosen.append(operation)
    by_key: dict[Hashable, dict[str | None, Observation]] = defaultdict(dict)
    asked: dict[Hashable, set[str | None]] = defaultdict(set)
    whole_maps: dict[str | None, Operation] = {}
    superseded = 0
    for operation in chosen:
        if operation.outcome is not Outcome.OK:
            asked[hashable(operation.key)].add(operation.node)
            continue
        if operation.key is None and isinstance(operation.output, Mapping):
            superseded += operation.node in whole_maps
            whole_maps[operation.node] = operation
            continue
        seen = by_key[hashable(operation.key)]
        superseded += operation.node in seen
        seen[operation.node] = Observation(operation, operation.key, operation.output)
    return FinalReads(
        dict(by_key),
        {key: frozenset(nodes) for key, nodes in asked.items()},
        superseded,
        whole_maps,
        tuple(chosen),
    )


def consumed_elements(operations: Iterable[Operation], kinds: Kinds) -> list[tuple[Operation, Any]]:
    """Every element that a successful consuming read returned, with the read; an empty answer gives none."""
    found: list[tuple[Operation, Any]] = []
    for operation in operations:
        if (
            operation.kind not in kinds.consuming
            or operation.outcome is not Outcome.OK
            or operation.output is None
        ):
            continue
        if operation.kind in ("drain", "poll") and isinstance(operation.output, list | tuple):
            found.extend((operation, element) for element in operation.output)
        else:
            found.append((operation, operation.output))
    return found


def element_name(element: Any, id_field: str | None) -> Hashable:
    """By what an element of a collection is recognised: a row by its id field, anything else by itself."""
    if isinstance(element, Mapping):
        for name in (id_field,) if id_field else ROW_NAMES:
            if name in element:
                return hashable(element[name])
    return hashable(element)


def write_name(operation: Operation, rows: bool, id_field: str | None) -> Hashable:
    """By what the element that a write adds is recognised, in collections of rows or of plain values."""
    names = (id_field,) if id_field else ROW_NAMES
    if isinstance(operation.input, Mapping) and any(name in operation.input for name in names):
        return element_name(operation.input, id_field)
    if rows or operation.input is None:
        name = operation.extra.get("idempotency_key", operation.key)
        return hashable(operation.input if name is None else name)
    return hashable(operation.input)


def element_names(elements: Collection[Any], id_field: str | None) -> list[Hashable]:
    """`element_name` of each; at the speed of the interpreter's own loops where all are plain."""
    if set(map(type, elements)) <= {int, str}:
        return list(elements)
    return [element_name(element, id_field) for element in elements]
