"""Operators on effects that must be there once: repeated, missing, or called failed although there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from dataclasses import replace
from random import Random

from refute.checkers.exact_counts import Request, requests
from refute.checkers.exactly_once import objects_of
from refute.checkers.kinds import CONSUMING, effect_end, is_collection, is_number
from refute.checkers.observation import Observation, element_name, write_name
from refute.checkers.planted.ground import NEW_PROCESS, Ground, fresh_value, shuffled
from refute.checkers.planted.operator import Operator, Planting, always, model_in
from refute.history import Operation, Outcome

PLACES_AN_OBJECT = 8
"""How many places one object offers at the most, so that no object takes every turn."""
_HANDING = CONSUMING - {"drain", "poll"}


def _read_objects(ground: Ground, rng: Random) -> Iterator[tuple[list[Request], Observation]]:
    """Requests of each object with one of its final reads."""
    consuming = any(o.kind in ground.known.consuming for o in ground.history.operations)
    writes = [o for o in ground.history.operations if o.kind in ground.known.accumulating]
    for key, operations in shuffled(objects_of(writes, set(ground.final.by_key), consuming).items(), rng):
        if consuming and any(o.kind in ground.known.consuming for o in ground.history.operations):
            continue
        seen = ground.final.of(None if key is None else operations[0].key)
        readable = [o for o in seen.values() if o.operation not in ground.final.whole_maps.values()]
        if readable:
            yield requests(operations, by_key=key is None), rng.choice(readable)


def repeated_elements(ground: Ground, rng: Random) -> Iterator[Planting]:
    """An element is in a final read once more than it was asked for."""
    id_field = ground.options.get("id_field")
    for found, observation in _read_objects(ground, rng):
        if not isinstance(observation.value, list | tuple):
            continue
        rows = any(isinstance(element, dict) for element in observation.value)
        asked: dict[Hashable, int] = defaultdict(int)
        for request in found:
            asked[write_name(request.attempts[0], rows, id_field)] += 1
        read = observation.operation
        for element in shuffled(observation.value, rng)[:PLACES_AN_OBJECT]:
            copies = [element] * asked[element_name(element, id_field)]
            doubled = replace(read, output=[*observation.value, *copies])
            yield Planting(
                ground.copy({read.index: doubled}),
                (doubled,),
                f"the effect {element!r} is there once more than it was asked for",
            )


def _counters(
    ground: Ground, rng: Random
) -> Iterator[tuple[Observation, list[tuple[Request, int]], int, int]]:
    """Counters that only grow: a final read, the amounts, and the least and most that it may be."""
    start = ground.options.get("initial", 0)
    for found, observation in _read_objects(ground, rng):
        amounts = []
        for request in found:
            asked = {1 if o.input is None else o.input for o in request.attempts}
            amount = asked.pop()
            if asked or not isinstance(amount, int) or amount < 0:
                break
            amounts.append((request, amount))
        else:
            if not is_number(observation.value) or not is_number(start):
                continue
            at = observation.operation.invoked_ns
            least = start + sum(amount * request.bounds(at)[0] for request, amount in amounts)
            most = start + sum(amount * request.bounds(at)[1] for request, amount in amounts)
            yield observation, amounts, least, most


def repeated_amounts(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A counter ends above all that was asked for: one request counted twice, the unknown ones too."""
    for observation, amounts, _, most in _counters(ground, rng):
        read = observation.operation
        sure = [(r, amount) for r, amount in amounts if amount and r.bounds(read.invoked_ns)[0]]
        for request, amount in shuffled(sure, rng)[:PLACES_AN_OBJECT]:
            doubled = replace(read, output=most + amount)
            yield Planting(
                ground.copy({read.index: doubled}),
                (*request.attempts, doubled),
                f"the request for {amount!r} counts twice: the final read returns {most + amount!r}",
            )


def missing_amounts(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A counter ends below what was acknowledged."""
    for observation, amounts, least, _ in _counters(ground, rng):
        read = observation.operation
        sure = [(r, amount) for r, amount in amounts if amount and r.bounds(read.invoked_ns)[0]]
        for request, amount in shuffled(sure, rng)[:PLACES_AN_OBJECT]:
            short = replace(read, output=least - amount)
            yield Planting(
                ground.copy({read.index: short}),
                (*request.attempts, short),
                f"the acknowledged {amount!r} is not counted: the final read returns {least - amount!r}",
            )


def seen_timeouts_called_failures(ground: Ground, rng: Random) -> Iterator[Planting]:
    """A request of unknown outcome whose element is there is said to have failed."""
    id_field = ground.options.get("id_field")
    for found, observation in _read_objects(ground, rng):
        if not is_collection(observation.value):
            continue
        rows = any(isinstance(element, dict) for element in observation.value)
        held = {element_name(element, id_field) for element in observation.value}
        by_name: dict[Hashable, list[Request]] = defaultdict(list)
        for request in found:
            by_name[write_name(request.attempts[0], rows, id_field)].append(request)
        for name, sharers in shuffled(by_name.items(), rng):
            attempts = [attempt for request in sharers for attempt in request.attempts]
            if name not in held or any(o.outcome is Outcome.OK for o in attempts):
                continue
            changed = {o.index: replace(o, outcome=Outcome.FAIL) for o in attempts}
            yield Planting(
                ground.copy(changed),
                (*changed.values(), observation.operation),
                f"the unknown request for {name!r} is called failed, although its effect is there",
            )


def repeated_deliveries(ground: Ground, rng: Random) -> Iterator[Planting]:
    """An element that was enqueued once is handed out a second time."""
    writes: dict[object, list[Operation]] = defaultdict(list)
    for operation in ground.history.operations:
        if operation.kind in ground.known.accumulating:
            writes[write_name(operation, False, None)].append(operation)
    taking = [o for o in ground.history.operations if o.kind in _HANDING and o.outcome is Outcome.OK]
    for first in shuffled((o for o in taking if o.output is not None), rng):
        makers = writes.get(write_name(replace(first, input=first.output), False, None), [])
        if len(makers) != 1 or effect_end(first) > 2**61:
            continue
        start = effect_end(first) + 1
        again = replace(
            first, index=ground.next_index, process=NEW_PROCESS, invoked_ns=start, completed_ns=start + 1
        )
        yield Planting(
            ground.with_added(again),
            (makers[0], first, again),
            f"{first.output!r}, which was enqueued once, is handed out twice",
        )


def invented_deliveries(ground: Ground, rng: Random) -> Iterator[Planting]:
    """An element is handed out that nobody enqueued."""
    taken = [o.input for o in ground.history.operations if o.kind in ground.known.accumulating]
    taking = [o for o in ground.history.operations if o.kind in _HANDING and o.outcome is Outcome.OK]
    usable = [o for o in taking if o.output is not None and not isinstance(o.output, dict)]
    for first in shuffled(usable, rng)[:PLACES_AN_OBJECT]:
        invented = replace(first, output=fresh_value(first.output, taken))
        yield Planting(
            ground.with_changed(invented),
            (invented,),
            f"{invented.output!r} is handed out, which nobody enqueued",
        )


_ONCE = {"exactly-once": always}

OPERATORS = (
    Operator(
        "repeated-element",
        "duplicate an effect in a final read",
        "a final read that shows a list of effects",
        _ONCE,
        repeated_elements,
    ),
    Operator(
        "repeated-amount",
        "count an effect twice",
        "a counter with acknowledged adds of one sign and a final read",
        _ONCE,
        repeated_amounts,
    ),
    Operator(
        "missing-amount",
        "leave an acknowledged effect out of a counter",
        "a counter with acknowledged adds of one sign and a final read",
        _ONCE,
        missing_amounts,
    ),
    Operator(
        "seen-timeout-called-failure",
        "swallow a timeout whose effect was seen",
        "a request of unknown outcome whose effect a final read shows",
        _ONCE,
        seen_timeouts_called_failures,
    ),
    Operator(
        "repeated-delivery",
        "hand an element out twice",
        "an element that was enqueued once and handed out",
        _ONCE | {"linearizable": model_in("queue", "stack", "priority-queue")},
        repeated_deliveries,
    ),
    Operator(
        "invented-delivery",
        "hand out what nobody enqueued",
        "a dequeue that returned an element",
        _ONCE | {"no-phantom": always, "linearizable": model_in("queue", "stack", "priority-queue")},
        invented_deliveries,
    ),
)
