"""Sequential consistency where each answer names its write: constraints on one order of all operations."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from refute.checkers.linearizable.registers import UNKNOWN, Register
from refute.checkers.linearizable.search import NEVER, Timed
from refute.checkers.linearizable.sources import looks, observed, produced
from refute.checkers.transactions.register_order import Refuted, RegisterOrder
from refute.checkers.transactions.schedule import Read

Thread = list[tuple[int, Timed]]
"""The calls of one process in its order, each with the code of its key."""
MOST = 20_000
"""The closure of so many operations takes 100 MB."""

_Named = tuple[int, Any]
"""A key and a value of it."""


@dataclass(frozen=True, slots=True)
class _Labels:
    """Who wrote each value of each key, and what the keys held at first."""

    writer: dict[_Named, Timed]
    initial: Any


def unexplained(model: Register, threads: Sequence[Thread]) -> Timed | None:
    """A call that saw what nobody wrote, if there is one (and nothing was appended)."""
    calls = [item for thread in threads for item in thread]
    if model.initial is UNKNOWN or any(timed.call.kind == "append" for _, timed in calls):
        return None
    written = {(key, produced(timed)) for key, timed in calls}
    at_first = {(model.initial,)} | ({("",), (("seq",),)} if model.name == "kv" else set())
    for key, timed in calls:
        seen = observed(timed)
        if seen is not None and seen not in at_first and (key, seen) not in written:
            return timed
    return None


def refuted(model: Register, threads: Sequence[Thread], check: Callable[[], None]) -> list[Timed] | None:
    """Calls that have no order, none where all have one; None where values do not name their writes.

    They do where those written to a key differ from each other and from what it held at first, every
    answer tells what was seen, and there are not too many calls.
    """
    labels = _labels(model, threads)
    if labels is None:
        return None
    return _refuted(labels, threads, check)


def _labels(model: Register, threads: Sequence[Thread]) -> _Labels | None:
    if model.initial is UNKNOWN or sum(map(len, threads)) > MOST:
        return None
    writer: dict[_Named, Timed] = {}
    for thread in threads:
        for key, timed in thread:
            value, seen = produced(timed), observed(timed)
            blind = timed.call.kind == "append" or (looks(timed) and seen is None)
            empty = model.name == "kv" and seen is not None and seen[0] in ("", ("seq",))
            if blind or empty:
                return None
            if value is not None:
                if value == (model.initial,) or (key, value) in writer:
                    return None
                writer[key, value] = timed
    return _Labels(writer, (model.initial,))


def _live(labels: _Labels, threads: Sequence[Thread]) -> set[int]:
    """The rows of what happened: what was answered, and unknown writes of which something was seen."""
    found: set[int] = set()
    todo = [(key, timed) for thread in threads for key, timed in thread if timed.end != NEVER]
    while todo:
        key, timed = todo.pop()
        if timed.row in found:
            continue
        found.add(timed.row)
        seen = _saw(timed)
        source = None if seen is None else labels.writer.get((key, seen))
        if source is not None:
            todo.append((key, source))
    return found


def _saw(timed: Timed) -> Any:
    """What a call that happened saw; an unknown compare-and-set that happened saw what it expected."""
    if timed.call.kind == "cas" and not timed.call.known:
        return (timed.call.input[0],)
    return observed(timed)


def _refuted(labels: _Labels, threads: Sequence[Thread], check: Callable[[], None]) -> list[Timed]:
    live = _live(labels, threads)
    calls = [(key, timed) for thread in threads for key, timed in thread if timed.row in live]
    node = {timed.row: number for number, (_, timed) in enumerate(calls)}
    writers: dict[int, list[int]] = {}
    for key, timed in calls:
        if produced(timed) is not None:
            writers.setdefault(key, []).append(node[timed.row])
    places = {key: place for place, key in enumerate(writers)}
    known: list[tuple[int, int]] = []
    for thread in threads:
        last: int | None = None
        for _, timed in thread:
            if timed.row in node:
                if last is not None:
                    known.append((last, node[timed.row]))
                if timed.end != NEVER:  # an unknown one may happen after what follows it
                    last = node[timed.row]
    reads: list[Read] = []
    for key, timed in calls:
        seen, reader = _saw(timed), node[timed.row]
        source = None if seen is None else labels.writer.get((key, seen))
        if source is not None:
            reads.append(Read(reader, places[key], node[source.row]))
        elif seen == labels.initial:
            known += [(reader, other) for other in writers.get(key, ()) if other != reader]
        elif seen is not None:
            return _forced(key, timed, calls)
    hint = [timed.start if timed.end == NEVER else timed.start + timed.end >> 1 for _, timed in calls]
    order = RegisterOrder(len(calls), known, list(writers.values()), reads, hint).solve(check)
    if not isinstance(order, Refuted):
        return []
    blamed = [timed for number in order.nodes for timed in _forced(*calls[number], calls)]
    return sorted(set(blamed), key=lambda timed: timed.row)


def _forced(key: int, strange: Timed, calls: Sequence[tuple[int, Timed]]) -> list[Timed]:
    """The call; if it is unknown, with the fewest who saw that it happened, the last of them answered.

    Unknown compare-and-sets can see each other in a circle, so who was passed already is left out.
    """
    came_from: dict[int, Timed] = {}
    todo = deque([strange])
    while todo[0].end == NEVER:
        last = todo.popleft()
        left = produced(last)
        for other, timed in calls:
            if other == key and _saw(timed) == left and timed.row not in came_from and timed is not strange:
                came_from[timed.row] = last
                todo.append(timed)
    chain = [todo[0]]
    while chain[-1] is not strange:
        chain.append(came_from[chain[-1].row])
    return chain[::-1]


def closed(model: Register, threads: Sequence[Thread], some: Sequence[Timed]) -> list[Thread]:
    """These calls with the writes that they saw, process by process."""
    labels = _labels(model, threads)
    assert labels is not None
    rows = {timed.row for timed in some}
    chosen = [[item for item in thread if item[1].row in rows] for thread in threads]
    kept = _live(labels, chosen)
    return [[item for item in thread if item[1].row in kept] for thread in threads]
