"""Prefix: all reads of a growing log are beginnings of one and the same sequence."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable
from typing import Any

from refute.checkers.judgement import Judgement
from refute.checkers.kinds import effect_end, kinds
from refute.checkers.observation import element_name, observations, write_name
from refute.checkers.result import Budget, Result
from refute.history import History, Operation, Outcome, hashable, recorded


def check(
    history: History,
    *,
    budget: Budget,
    real_time: bool = False,
    id_field: str | None = None,
    write_kinds: object = (),
    read_kinds: object = (),
) -> Result:
    """Whether of any two reads of one log one is a beginning of the other.

    It is enough to hold each read against the longest. With `real_time`, an element acknowledged
    before another was asked for must also stand before it. Anomalies: `not-a-prefix`,
    `duplicate-element`, `real-time-order`. O(elements read).
    """
    known = kinds(write_kinds, read_kinds)
    judgement = Judgement("prefix", "each read against the longest")
    reads: dict[Hashable, list[tuple[Operation, list[Any]]]] = defaultdict(list)
    writes: dict[Hashable, list[Operation]] = defaultdict(list)
    used: list[Operation] = []
    for operation in history.operations:
        if operation.kind in known.accumulating:
            writes[hashable(operation.key)].append(operation)
            used.append(operation)
        elif operation.kind in known.reading and operation.outcome is Outcome.OK:
            used.append(operation)
            for seen in observations(operation):
                if isinstance(seen.value, list | tuple):
                    reads[hashable(seen.key)].append((operation, list(seen.value)))
                elif seen.value is None:
                    reads[hashable(seen.key)].append((operation, []))
                else:
                    judgement.cannot("a read returned no list")
    for key, found in reads.items():
        whole, longest = max(found, key=lambda read: len(read[1]))
        names = [element_name(element, id_field) for element in longest]
        if len(found) > 1 and longest:
            judgement.judged += len(found)
        for read, values in found:
            if values == longest[: len(values)]:
                continue
            place = next(n for n, (a, b) in enumerate(zip(values, longest, strict=False)) if a != b)
            sentence = f"at place {place} one read has {values[place]!r} and another {longest[place]!r}"
            judgement.found("not-a-prefix", sentence, (read, whole), key=key, place=place)
        if len(set(names)) < len(names):
            twice = Counter(names).most_common(1)[0][0]
            judgement.found("duplicate-element", f"a read has {recorded(twice)!r} twice", (whole,), key=key)
        if real_time:
            _judge_real_time(judgement, history, whole, longest, writes[key], id_field)
    return judgement.result(used, nothing="no log with elements was read twice", keys=len(reads))


def _judge_real_time(
    judgement: Judgement,
    history: History,
    whole: Operation,
    longest: list[Any],
    writes: list[Operation],
    id_field: str | None,
) -> None:
    if history.clock == "wall":
        judgement.cannot("wall clocks do not say which element was acknowledged first")
        return
    rows = any(isinstance(element, dict) for element in longest)
    makers: dict[Hashable, list[Operation]] = defaultdict(list)
    for write in writes:
        makers[write_name(write, rows, id_field)].append(write)
    latest: Operation | None = None
    for element in longest:
        found = makers.get(element_name(element, id_field), [])
        if len(found) != 1:
            continue
        if latest is not None and effect_end(found[0]) < latest.invoked_ns:
            order = f"{element!r} was acknowledged before {latest.input!r} was asked for"
            sentence = f"{order}, and stands after it"
            judgement.found("real-time-order", sentence, (found[0], latest, whole))
        if latest is None or found[0].invoked_ns > latest.invoked_ns:
            latest = found[0]
