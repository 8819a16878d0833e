"""No phantom: whatever was read, somebody had asked to write."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

from refute.checkers.judgement import Judgement
from refute.checkers.kinds import Kinds, ended, is_collection, is_number, kinds, written
from refute.checkers.observation import (
    consumed_elements,
    element_name,
    element_names,
    observations,
    write_name,
)
from refute.checkers.result import Budget, Result
from refute.history import History, Operation, Outcome, hashable


def check(
    history: History,
    *,
    budget: Budget,
    initial: Any = None,
    id_field: str | None = None,
    write_kinds: object = (),
    read_kinds: object = (),
) -> Result:
    """Whether each value and element read was written: by a write that did not fail, and not later.

    Anomalies: `phantom` (nobody wrote it), `aborted-read` (only a write that is said to have failed
    did: an aborted read, or a mislabelled error), `future-read` (its write began after the read had
    ended). An absent value (None) and what `initial` names are never phantoms. Counters are passed
    over: their values are sums. Each value is judged at the first read to end. O(n + elements read).
    """
    known = kinds(write_kinds, read_kinds)
    judgement = Judgement("no-phantom", "values read against values written")
    writes: dict[Hashable, list[Operation]] = defaultdict(list)
    for operation in history.operations:
        if known.writes(operation):
            writes[hashable(operation.key)].append(operation)
    whole = [operation for found in writes.values() for operation in found]
    makers: dict[tuple[Hashable, bool], dict[Hashable, list[Operation]]] = {}
    fine: dict[tuple[Hashable, bool], set[Hashable]] = defaultdict(set)
    used = list(whole)
    start = {hashable(value) for value in (initial if is_collection(initial) else (initial,))}
    by_end = sorted(_values(history, known), key=lambda found: ended(found[0]))
    for read, key, values in by_end:
        used.append(read)
        own = writes.get(hashable(key), []) if hashable(key) in writes else whole
        if _is_count(read.output, own):
            judgement.ignored["reads of counters"] += 1
            continue
        if _is_text(read.output, own):
            judgement.cannot("appends to a text: judge it with the linearizable key-value map")
            continue
        rows = any(isinstance(value, Mapping) for value in values)
        place = (hashable(key) if own is not whole else None, rows)
        if place not in makers:
            makers[place] = _by_name(own, rows, id_field, known)
        judgement.judged += bool(values)
        names = element_names(values, id_field)
        new = set(names) - fine[place]
        fine[place] |= new
        for value, name in zip(values, names, strict=True) if new else ():
            if value is not None and hashable(value) not in start and name in new:
                new.discard(name)
                _judge(judgement, history, read, value, makers[place].get(name, []))
    return judgement.result(used, nothing="nothing was read", keys=len(writes))


def _values(history: History, known: Kinds) -> Iterator[tuple[Operation, Any, list[Any]]]:
    """Each successful read with its key and the values or elements that it returned."""
    for operation in history.operations:
        if operation.outcome is not Outcome.OK:
            continue
        if operation.kind in known.reading:
            for seen in observations(operation):
                yield operation, seen.key, list(seen.value) if is_collection(seen.value) else [seen.value]
        elif operation.kind in known.consuming:
            yield operation, operation.key, [element for _, element in consumed_elements([operation], known)]


def _is_count(value: Any, writes: list[Operation]) -> bool:
    adds = all(o.kind in ("add", "increment", "incr") for o in writes)
    return bool(writes) and adds and is_number(value)


def _is_text(value: Any, writes: list[Operation]) -> bool:
    return isinstance(value, str) and any(o.kind == "append" for o in writes)


def _by_name(
    writes: list[Operation], rows: bool, id_field: str | None, known: Kinds
) -> dict[Hashable, list[Operation]]:
    found: dict[Hashable, list[Operation]] = defaultdict(list)
    for write in writes:
        if write.kind in known.accumulating:
            found[write_name(write, rows, id_field)].append(write)
        else:
            value = written(write)
            for element in value if is_collection(value) else ():
                found[element_name(element, id_field)].append(write)
            found[element_name(value, id_field)].append(write)
    return found


def _judge(
    judgement: Judgement, history: History, read: Operation, value: Any, makers: list[Operation]
) -> None:
    possible = [maker for maker in makers if maker.outcome is not Outcome.FAIL]
    reader = f"{read.kind} of {read.key} by process {read.process}" if read.key is not None else read.kind
    if not makers:
        judgement.found("phantom", f"the {reader} returned {value!r}, which nobody wrote", (read,))
    elif not possible:
        sentence = f"the {reader} returned {value!r}, which only a write that is said to have failed wrote"
        judgement.found("aborted-read", sentence, (*makers, read))
    elif history.clock != "wall" and all(maker.invoked_ns > ended(read) for maker in possible):
        sentence = f"the {reader} returned {value!r} before anybody had begun to write it"
        judgement.found("future-read", sentence, (*possible, read))
