"""Transactions over several keys whose values name their writers: constraints on one order in real time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from refute.checkers.linearizable.containers import members
from refute.checkers.linearizable.log import offset_told, reads_all
from refute.checkers.linearizable.model import Call
from refute.checkers.linearizable.search import NEVER, Timed
from refute.checkers.minimal import SHRINK, minimise
from refute.checkers.real_time import interval_reduction
from refute.checkers.transactions.register_order import Edge, Refuted, RegisterOrder
from refute.checkers.transactions.schedule import Read

MOST = 20_000
"""The closure of so many transactions takes 100 MB."""
_MOST_EXPLAINED = 60  # of a proof with the writes that it saw: more is read by nobody
_EMPTY: tuple[Hashable, ...] = (None, ("seq",))
_START = -1
"""Who left the value that a key has before its first write."""


class _OddError(Exception):
    """Transactions that no order allows, whatever else there is."""

    def __init__(self, *rows: int) -> None:
        super().__init__()
        self.rows = rows


@dataclass(slots=True)
class _Key:
    """One key: who wrote each value last in a transaction, and for lists in which order, as reads show."""

    writers: dict[int, None] = field(default_factory=dict)
    last: dict[Hashable, int] = field(default_factory=dict)
    passing: dict[Hashable, int] = field(default_factory=dict)
    elements: dict[Hashable, int] = field(default_factory=dict)
    pieces: dict[int, list[Hashable]] = field(default_factory=dict)
    chain: list[int] = field(default_factory=list)
    shown_by: int | None = None


@dataclass(slots=True)
class _Question:
    """Transactions by row, the keys, and who read what whom left of which key."""

    calls: dict[int, Timed]
    keys: dict[Hashable, _Key]
    reads: list[tuple[int, Hashable, int]]

    def order(self, rows: Iterable[int]) -> tuple[list[int], RegisterOrder]:
        """What is asked of these transactions alone: what they read of others is left aside."""
        chosen = sorted(rows)
        node = {row: number for number, row in enumerate(chosen)}
        ends = ((self.calls[row].start, self.calls[row].end, node[row]) for row in chosen)
        known: list[Edge] = list(
            interval_reduction([(start, None if end == NEVER else end, one) for start, end, one in ends])
        )
        writers: list[list[int]] = []
        places: dict[Hashable, int] = {}
        for name, key in self.keys.items():
            chain = [node[row] for row in key.chain if row in node]
            known += pairwise(chain)
            places[name] = len(writers)
            writers.append([node[row] for row in key.writers if row in node])
            if chain:
                known += [(chain[-1], one) for one in set(writers[-1]).difference(chain)]
        reads: list[Read] = []
        for reader, name, writer in self.reads:
            if reader not in node:
                continue
            if writer == _START:
                some = writers[places[name]] if name in places else ()
                known += [(node[reader], one) for one in some if one != node[reader]]
            elif writer in node:
                reads.append(Read(node[reader], places[name], node[writer]))
        hint = [call.start if call.end == NEVER else call.start + call.end >> 1
                for call in map(self.calls.__getitem__, chosen)]  # fmt: skip
        return chosen, RegisterOrder(len(chosen), known, writers, reads, hint)


def refuted(calls: Sequence[Timed], check: Callable[[], None]) -> list[Timed] | None:
    """Transactions that have no order, none where all have one; None where values do not name their writers.

    They do where nothing is written or appended to a key twice, and no key is both written and appended
    to. A read of a list shows in which order was appended; what no read shows came after them all. An
    unknown transaction happened if something of it was seen, and else may be left out.
    """
    if len(calls) > MOST:
        return None
    keys = _keys(calls)
    if keys is None:
        return None
    by_row = {timed.row: timed for timed in calls}
    try:
        question = _question(by_row, keys)
    except _OddError as odd:
        return [by_row[row] for row in odd.rows]
    chosen, order = question.order(question.calls)
    found = order.solve(check)
    if not isinstance(found, Refuted):
        return []
    return _few(question, [chosen[number] for number in found.nodes], by_row, check)


def log_refuted(calls: Sequence[Timed], check: Callable[[], None]) -> list[Timed] | None:
    """The same for a log that is read whole, as transactions of one append or one read of a list.

    None as well where offsets were told or asked for.
    """
    by_row = {timed.row: timed for timed in calls}
    plain: list[Timed] = []
    for timed in calls:
        call = timed.call
        if call.kind == "append" and offset_told(call) is None:
            micro = ("append", None, call.input)
        elif reads_all(call):
            micro = ("r", None, ("seq", *members(call.output)))
        else:
            return None
        plain.append(replace(timed, call=Call("txn", (micro,), None, call.known)))
    found = refuted(plain, check)
    return None if found is None else [by_row[timed.row] for timed in found]


def _keys(calls: Sequence[Timed]) -> dict[Hashable, _Key] | None:
    """Who wrote what, or None where a value does not tell."""
    keys: dict[Hashable, _Key] = defaultdict(_Key)
    for timed in calls:
        latest: dict[Hashable, Hashable] = {}
        for name, key, value in timed.call.input:
            if name == "r":
                continue
            entry = keys[key]
            told = value in entry.elements or value in entry.last or value in entry.passing
            if told or value in _EMPTY or (entry.last if name == "append" else entry.elements):
                return None
            if key in latest and name == "w":
                entry.passing[latest[key]] = timed.row
                del entry.last[latest[key]]
            (entry.elements if name == "append" else entry.last)[value] = timed.row
            if name == "append":
                entry.pieces.setdefault(timed.row, []).append(value)
            entry.writers[timed.row] = None
            latest[key] = value
    return dict(keys)


def _question(by_row: dict[int, Timed], keys: dict[Hashable, _Key]) -> _Question:
    """Reads with their writers, and the order of what was appended. Raises _OddError."""
    lists: dict[Hashable, tuple[tuple[Hashable, ...], int]] = {}
    reads: list[tuple[int, Hashable, int]] = []
    for row, timed in by_row.items():
        if timed.call.known:
            for key, value in _from_outside(timed, keys):
                if isinstance(value, tuple) and key in keys and keys[key].elements and value[:1] == ("seq",):
                    writer = _appender(row, value[1:], keys[key], lists.get(key))
                    if len(value) - 1 > len(lists.get(key, ((), 0))[0]):
                        lists[key] = (value[1:], row)
                else:
                    writer = _writer(row, value, keys.get(key))
                reads.append((row, key, writer))
    for key, (shown, row) in lists.items():
        keys[key].chain, keys[key].shown_by = _chain(shown, keys[key], row), row
    seen = {writer for _, _, writer in reads} | {row for key in keys.values() for row in key.chain}
    happened = {row: one for row, one in by_row.items() if one.end != NEVER or row in seen}
    for entry in keys.values():
        entry.writers = {row: None for row in entry.writers if row in happened}
    return _Question(happened, keys, list(dict.fromkeys(reads)))


def _from_outside(timed: Timed, keys: dict[Hashable, _Key]) -> list[tuple[Hashable, Hashable]]:
    """What a transaction saw of others, key by key; what it wrote itself must show in what it reads then."""
    outside: dict[Hashable, Hashable] = {}
    own: dict[Hashable, list[Hashable]] = {}
    for name, key, value in timed.call.input:
        if name == "w":
            own[key] = [value]
        elif name == "append":
            own.setdefault(key, []).append(value)
        elif key in own and not keys[key].elements:
            if value != own[key][-1]:
                raise _OddError(timed.row)
        else:
            mine = tuple(own.get(key, ()))
            if mine:
                listed = isinstance(value, tuple) and value[:1] == ("seq",) and len(value) > len(mine)
                if not listed or value[-len(mine) :] != mine:
                    raise _OddError(timed.row)
                value = value[: len(value) - len(mine)]
            plain = None if value in _EMPTY else value
            if outside.setdefault(key, plain) != plain:
                raise _OddError(timed.row)
    return list(outside.items())


def _writer(row: int, value: Hashable, key: _Key | None) -> int:
    """Who left that value in a register."""
    if value is None:
        return _START
    if key is None or (value not in key.last and value not in key.passing):
        raise _OddError(row)
    if value in key.passing:
        raise _OddError(*sorted({key.passing[value], row}))
    if key.last[value] == row:
        raise _OddError(row)  # it saw its own write before it made it
    return key.last[value]


def _appender(
    row: int, shown: tuple[Hashable, ...], key: _Key, longest: tuple[tuple[Hashable, ...], int] | None
) -> int:
    """Whose append a list ends with; two lists of a key must begin alike, and show all of a transaction."""
    if len(set(shown)) < len(shown) or any(one not in key.elements for one in shown):
        raise _OddError(row)
    if longest is not None:
        other, reader = longest
        both = min(len(shown), len(other))
        if shown[:both] != other[:both]:
            raise _OddError(*sorted({row, reader}))
    writer = key.elements[shown[-1]]
    whole = key.pieces[writer]
    if writer == row or list(shown[-len(whole) :]) != whole:
        raise _OddError(*sorted({row, writer}))
    return writer


def _chain(shown: tuple[Hashable, ...], key: _Key, reader: int) -> list[int]:
    """The transactions in the order in which they appended; each of them in one piece."""
    chain: list[int] = []
    place = 0
    while place < len(shown):
        owner = key.elements[shown[place]]
        piece = key.pieces[owner]
        if list(shown[place : place + len(piece)]) != piece:
            raise _OddError(*sorted({owner, reader, *(key.elements[one] for one in shown)}))
        chain.append(owner)
        place += len(piece)
    return chain


def _observer(question: _Question, row: int) -> int:
    """Who saw that an unknown transaction happened."""
    for reader, _, writer in question.reads:
        if writer == row:
            return reader
    return next(
        key.shown_by for key in question.keys.values() if row in key.chain and key.shown_by is not None
    )


def _few(
    question: _Question, rows: list[int], by_row: dict[int, Timed], check: Callable[[], None]
) -> list[Timed]:
    """Few transactions that still have no order, with those whose writes they saw if those are few."""

    def fails(some: Sequence[int]) -> bool:
        return isinstance(question.order(some)[1].solve(check), Refuted)

    few = set(minimise(sorted(rows), fails, SHRINK))
    for key in question.keys.values():
        if key.shown_by is not None and len(few.intersection(key.writers)) > 1:
            few.add(key.shown_by)  # it shows the order of what was appended
    few |= {_observer(question, row) for row in few if question.calls[row].end == NEVER}
    sources: dict[int, set[int]] = defaultdict(set)
    for reader, name, writer in question.reads:
        chain = question.keys[name].chain if name in question.keys else []
        sources[reader] |= set(chain[: chain.index(writer) + 1]) if writer in chain else {writer} - {_START}
    whole, todo = set(few), list(few)
    while todo and len(whole) <= _MOST_EXPLAINED:
        further = sources[todo.pop()] - whole
        whole |= further
        todo += further
    return [by_row[row] for row in sorted(few if todo else whole)]
