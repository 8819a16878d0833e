"""Operators on what consumers of partitions are handed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import replace
from random import Random
from typing import Any, NamedTuple

from refute.checkers.kinds import effect_end
from refute.checkers.observation import element_name, write_name
from refute.checkers.planted.ground import Ground, shuffled
from refute.checkers.planted.operator import Operator, Planting, always
from refute.history import Operation, Outcome, hashable

PLACES = 12
"""How many places an operator looks at, as few copies are made of all that is offered."""


class _Delivery(NamedTuple):
    """One element that one consuming operation returned, at a place in its list."""

    operation: Operation
    place: int
    element: Any
    send: Operation


def swapped_deliveries(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A consumer is handed two elements of a partition in the order opposite to that of their sends."""
    sends: dict[tuple[Hashable, Hashable], list[Operation]] = defaultdict(list)
    for operation in ground.history.operations:
        if operation.kind in ground.known.accumulating:
            name = write_name(operation, False, ground.options.get("id_field"))
            sends[_partition(operation), name].append(operation)
    streams: dict[tuple[Hashable, ...], list[_Delivery]] = defaultdict(list)
    for operation in ground.history.operations:
        if operation.kind not in ground.known.consuming or operation.outcome is not Outcome.OK:
            continue
        listed = isinstance(operation.output, list | tuple) and operation.kind in ("poll", "drain")
        for place, element in enumerate(operation.output if listed else [operation.output]):
            name = element_name(element, ground.options.get("id_field"))
            found = sends.get((_partition(operation), name), [])
            if len(found) == 1:
                key = (operation.process, _partition(operation))
                streams[key].append(_Delivery(operation, place if listed else -1, element, found[0]))
    alone = ground.options.get("per_producer") or ground.history.clock == "wall"
    for stream in shuffled(streams.values(), rng):
        names = [hashable(delivery.element) for delivery in stream]
        if len(set(names)) < len(names):
            continue
        for at in shuffled(range(len(stream)), rng)[:PLACES]:
            for later in stream[at + 1 : at + 8]:
                first = stream[at]
                if alone and first.send.process != later.send.process:
                    continue
                if effect_end(first.send) < later.send.invoked_ns:
                    changed = _exchanged(first, later)
                    yield Planting(
                        ground.with_changed(*changed),
                        (first.send, later.send, *changed),
                        f"{later.element!r} is handed out before {first.element!r}, which was sent before it",
                    )
                    break


def _partition(operation: Operation) -> Hashable:
    return hashable(operation.extra.get("partition", operation.key))


def _put(operation: Operation, place: int, element: Any) -> Operation:
    if place < 0:
        return replace(operation, output=element)
    output = list(operation.output)
    output[place] = element
    return replace(operation, output=output)


def _exchanged(first: _Delivery, later: _Delivery) -> tuple[Operation, ...]:
    if first.operation is later.operation:
        both = _put(_put(first.operation, first.place, later.element), later.place, first.element)
        return (both,)
    return (
        _put(first.operation, first.place, later.element),
        _put(later.operation, later.place, first.element),
    )


OPERATORS = (
    Operator(
        "swapped-deliveries",
        "swap two deliveries",
        "a consumer that was handed two elements of one partition, sent one after the other",
        {"fifo-per-partition": always},
        swapped_deliveries,
    ),
)
