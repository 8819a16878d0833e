"""FIFO per partition: each consumer is handed the elements of a partition in the order they were sent in."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from refute.checkers.judgement import Judgement
from refute.checkers.kinds import Kinds, effect_end, is_collection, kinds
from refute.checkers.observation import consumed_elements, element_name, write_name
from refute.checkers.result import Budget, Result
from refute.history import History, Operation, Outcome, hashable


def check(
    history: History,
    *,
    budget: Budget,
    per_producer: bool = False,
    id_field: str | None = None,
    write_kinds: object = (),
    read_kinds: object = (),
) -> Result:
    """Whether no consumer is handed an element after one that was certainly sent later.

    The partition is the key, or `extra.partition`. One element was sent before another where it was
    acknowledged before the other was sent; with `per_producer` (and always where clocks differ) only
    elements of one process are compared. An element that is delivered again counts at its first
    delivery. Anomaly: `reordered`. O(n).
    """
    known = kinds(write_kinds, read_kinds)
    judgement = Judgement("fifo-per-partition", "the latest send seen so far, by partition and consumer")
    sends: dict[Hashable, dict[Hashable, list[Operation]]] = defaultdict(lambda: defaultdict(list))
    used: list[Operation] = []
    for operation in history.operations:
        if operation.kind in known.accumulating:
            used.append(operation)
            sends[_partition(operation)][write_name(operation, False, id_field)].append(operation)
    alone = per_producer or history.clock == "wall"
    latest: dict[tuple[Hashable, ...], Operation] = {}
    seen: set[tuple[Hashable, ...]] = set()
    repeated = 0
    for receive, partition, element in _deliveries(history, known):
        if not used or used[-1] is not receive:
            used.append(receive)
        name = element_name(element, id_field)
        if (receive.process, partition, name) in seen:
            repeated += 1
            continue
        seen.add((receive.process, partition, name))
        found = sends.get(partition, {}).get(name, [])
        if len(found) != 1:
            judgement.ignored["elements that nobody sent, or several did"] += 1
            continue
        send = found[0]
        place = (receive.process, partition, send.process if alone else None)
        before = latest.get(place)
        if before is not None:
            judgement.judged += 1
            if effect_end(send) < before.invoked_ns:
                sentence = (
                    f"process {receive.process} was handed {element!r} after {before.input!r}, "
                    "although it had been sent before"
                )
                judgement.found("reordered", sentence, (send, before, receive), key=partition)
        if before is None or send.invoked_ns > before.invoked_ns:
            latest[place] = send
    if alone:
        judgement.assumptions.append("only elements of one producer have an order")
    nothing = "no consumer was handed two elements of one partition"
    return judgement.result(used, nothing=nothing, keys=len(sends), details={"redelivered": repeated})


def _partition(operation: Operation) -> Hashable:
    return hashable(operation.extra.get("partition", operation.key))


def _deliveries(history: History, known: Kinds) -> Iterator[tuple[Operation, Hashable, Any]]:
    for operation in history.operations:
        if operation.outcome is not Outcome.OK or operation.kind not in known.consuming:
            continue
        if isinstance(operation.output, Mapping) and operation.kind in ("poll", "drain"):
            for partition, elements in operation.output.items():
                for element in elements if is_collection(elements) else ():
                    yield operation, hashable(partition), element
        else:
            for _, element in consumed_elements([operation], known):
                yield operation, _partition(operation), element
