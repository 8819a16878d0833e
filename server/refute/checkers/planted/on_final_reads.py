"""Operators on the final reads: an acknowledged write is gone from all of them, or from one replica."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

from refute.checkers.durability import objects_of
from refute.checkers.exact_counts import requests
from refute.checkers.kinds import effect_end, is_collection, is_number, written
from refute.checkers.observation import Observation, consumed_elements, element_name, write_name
from refute.checkers.planted.ground import Ground, Plot, shuffled
from refute.checkers.planted.operator import Operator, Planting, always, model_in, option_in
from refute.history import Operation, Outcome, hashable

Seen = dict[str | None, Observation]
PLACES_AN_OBJECT = 8
"""How many places one object offers at the most, so that no object takes every turn."""


def _objects(ground: Ground, rng: Random) -> Iterator[tuple[Plot, Seen]]:
    """Objects with the last final read of each node; those read as one whole map are left alone."""
    for operations in shuffled(objects_of(ground.history, ground.known, ground.final).values(), rng):
        keys = {hashable(o.key) for o in operations if ground.known.writes(o)}
        key = operations[0].key if len(keys) == 1 else None
        seen = ground.final.of(key) or ground.final.of(None)
        if seen and not any(o.operation in ground.final.whole_maps.values() for o in seen.values()):
            yield Plot(hashable(key), operations, ground.known, ground.options.get("initial")), seen


def _rewritten(seen: Seen, value: Any) -> dict[int, Operation]:
    return {o.operation.index: replace(o.operation, output=value) for o in seen.values()}


def lost_values(ground: Ground, rng: Random) -> Iterator[Planting]:
    """Every final read of an object shows a value that an acknowledged write had replaced."""
    for plot, seen in _objects(ground, rng):
        if not plot.only_replaced or ground.history.clock == "wall":
            continue
        first = min(o.operation.invoked_ns for o in seen.values())
        for newer in shuffled(plot.acknowledged_before(first), rng)[:PLACES_AN_OBJECT]:
            older = plot.sole_before(newer.invoked_ns)
            if older:
                old = rng.choice(older)
                changed = _rewritten(seen, written(old))
                yield Planting(
                    ground.copy(changed),
                    (old, newer, *changed.values()),
                    f"the final reads show {written(old)!r}; {written(newer)!r} is lost",
                )


def _collections(ground: Ground, rng: Random) -> Iterator[tuple[Plot, Seen, list[Operation]]]:
    """Objects read as collections, with the acknowledged adds that nothing can have removed."""
    for plot, seen in _objects(ground, rng):
        if not any(is_collection(o.value) for o in seen.values()) or _may_shrink(plot, ground):
            continue
        first = min(o.operation.invoked_ns for o in seen.values())
        added = [o for o in plot.operations if o.kind in ground.known.accumulating and effect_end(o) < first]
        if added:
            yield plot, seen, added


def _may_shrink(plot: Plot, ground: Ground) -> bool:
    shrinking = ground.known.removing | ground.known.replacing | ground.known.consuming
    return any(o.kind in shrinking for o in plot.operations)


def without(value: Any, write: Operation, id_field: Any) -> Any:
    """A collection without the element that a write added, all copies of it."""
    rows = any(isinstance(element, dict) for element in value)
    name = write_name(write, rows, id_field)
    return [element for element in value if element_name(element, id_field) != name]


def _shrunk(ground: Ground, seen: Seen, write: Operation) -> dict[int, Operation]:
    changed = {}
    for observation in seen.values():
        if is_collection(observation.value):
            left = without(observation.value, write, ground.options.get("id_field"))
            if len(left) < len(observation.value):
                operation = observation.operation
                changed[operation.index] = replace(operation, output=left)
    return changed


def lost_elements(ground: Ground, rng: Random) -> Iterator[Planting]:
    """An acknowledged element is in no final read."""
    for _, seen, added in _collections(ground, rng):
        for write in shuffled(added, rng)[:PLACES_AN_OBJECT]:
            changed = _shrunk(ground, seen, write)
            if changed:
                yield Planting(
                    ground.copy(changed),
                    (write, *changed.values()),
                    f"the acknowledged {write.input!r} is in no final read",
                )


def missing_on_a_replica(ground: Ground, rng: Random) -> Iterator[Planting]:
    """An acknowledged element is missing in the final read of one node only."""
    for _, seen, added in _collections(ground, rng):
        if len(seen) < 2:
            continue
        for write in shuffled(added, rng)[:PLACES_AN_OBJECT]:
            node = rng.choice(sorted(seen, key=str))
            changed = _shrunk(ground, {node: seen[node]}, write)
            if changed:
                yield Planting(
                    ground.copy(changed),
                    (write, *changed.values()),
                    f"the acknowledged {write.input!r} is removed from the replica {node}",
                )


def lost_amounts(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A counter ends below what had been acknowledged."""
    for plot, seen in _objects(ground, rng):
        adds = [o for o in plot.operations if ground.known.writes(o)]
        asked = {r: r.attempts[0].input for r in requests(adds, by_key=False)}
        amounts = {r: 1 if amount is None else amount for r, amount in asked.items()}
        counting = all(o.kind in ("add", "increment", "incr") for o in adds)
        values = [o.value for o in seen.values()]
        if not adds or not counting or not all(map(is_number, [*amounts.values(), *values])):
            continue
        first = min(o.operation.invoked_ns for o in seen.values())
        sure = [(r, amount) for r, amount in amounts.items() if amount and r.bounds(first)[0]]
        if min(amounts.values()) < 0:
            continue
        total = (ground.options.get("initial") or 0) + sum(amount for _, amount in sure)
        for lost, amount in shuffled(sure, rng)[:PLACES_AN_OBJECT]:
            changed = _rewritten(seen, total - amount)
            yield Planting(
                ground.copy(changed),
                (*lost.attempts, *changed.values()),
                f"the final reads show {total - amount!r}: an acknowledged {amount!r} is lost",
            )


def undelivered(ground: Ground, rng: Random) -> Iterator[Planting]:
    """More acknowledged elements are handed to nobody than unknown dequeues can explain."""
    for operations in shuffled(objects_of(ground.history, ground.known, ground.final).values(), rng):
        taking = [o for o in operations if o.kind in ground.known.consuming]
        unknown = [o for o in taking if o.outcome is Outcome.INFO]
        if not taking or any(o.kind in ("drain", "poll") for o in taking):
            continue
        if any(o.kind in ground.known.removing | ground.known.replacing for o in operations):
            continue
        end = max(taking, key=lambda operation: operation.invoked_ns)
        if end.outcome is not Outcome.OK or end.output is not None:
            continue
        acked = {
            write_name(o, False, None): o
            for o in operations
            if o.kind in ground.known.accumulating and effect_end(o) < end.invoked_ns
        }
        elements = consumed_elements(taking, ground.known)
        handed = [(o, acked[hashable(e)]) for o, e in elements if hashable(e) in acked]
        short = len(unknown) + 1
        if not short <= len(handed) <= 100 * short:
            continue
        for _ in range(PLACES_AN_OBJECT):
            chosen = rng.sample(handed, short)
            changed = {o.index: replace(o, output=None) for o, _ in chosen}
            yield Planting(
                ground.copy(changed),
                (*(write for _, write in chosen), *changed.values()),
                f"{short} acknowledged elements are handed to nobody; {len(unknown)} dequeues are unknown",
            )


def unseen_timeouts_called_successes(ground: Ground, rng: Random) -> Iterator[Planting]:
    """An unknown add that no final read shows is said to have been acknowledged."""
    for plot, seen in _objects(ground, rng):
        if not any(is_collection(o.value) for o in seen.values()) or _may_shrink(plot, ground):
            continue
        id_field = ground.options.get("id_field")
        held = {element_name(e, id_field) for o in seen.values() if is_collection(o.value) for e in o.value}
        rows = any(isinstance(e, dict) for o in seen.values() if is_collection(o.value) for e in o.value)
        names = [write_name(o, rows, id_field) for o in plot.operations if ground.known.writes(o)]
        first = min(o.operation.invoked_ns for o in seen.values())
        found = 0
        for write in shuffled(plot.operations, rng):
            if write.outcome is not Outcome.INFO or write.kind not in ground.known.accumulating:
                continue
            name = write_name(write, rows, id_field)
            end = write.completed_ns if write.completed_ns is not None else write.invoked_ns + 1
            if name in held or names.count(name) > 1 or end >= first:
                continue
            acknowledged = replace(write, outcome=Outcome.OK, completed_ns=end)
            yield Planting(
                ground.copy({write.index: acknowledged}),
                (acknowledged, *(o.operation for o in seen.values())),
                f"the unknown {write.input!r} is called acknowledged, although no final read shows it",
            )
            found += 1
            if found == PLACES_AN_OBJECT:
                break


_LOST = {"no-lost-acknowledged-write": always}
_LOST_OR_ONCE = _LOST | {"exactly-once": always}
_GROWING = {"g-set": always}

OPERATORS = (
    Operator(
        "lost-value",
        "drop an acknowledged write from the final reads",
        "two acknowledged writes of distinct values to one register, one after the other, and a final read",
        _LOST,
        lost_values,
    ),
    Operator(
        "lost-element",
        "drop an acknowledged element from the final reads",
        "an acknowledged element that nothing removes, and a final read that shows it",
        _LOST_OR_ONCE | _GROWING,
        lost_elements,
    ),
    Operator(
        "missing-on-a-replica",
        "remove a replica's entry",
        "final reads of at least two nodes that show an acknowledged element",
        {
            "no-lost-acknowledged-write": option_in("require", "every-node"),
            "exactly-once": always,
            "g-set": always,
            "replica-reconciliation": always,
        },
        missing_on_a_replica,
    ),
    Operator(
        "lost-amount",
        "drop an acknowledged add from the final value of a counter",
        "a counter with adds of one sign and a final read",
        _LOST,
        lost_amounts,
    ),
    Operator(
        "undelivered",
        "drop acknowledged elements from what a queue handed out",
        "a queue that ends empty, with more deliveries than dequeues of unknown outcome",
        _LOST | {"linearizable": model_in("queue", "stack", "priority-queue")},
        undelivered,
    ),
    Operator(
        "unseen-timeout-called-success",
        "swallow a timeout whose effect was not seen",
        "an add of unknown outcome that no final read shows",
        _LOST_OR_ONCE,
        unseen_timeouts_called_successes,
    ),
)
