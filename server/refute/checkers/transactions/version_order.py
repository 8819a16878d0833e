"""The order of the versions of every key of a list-append history, as its reads show it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

import numpy as np

from refute.checkers.transactions.append_columns import AppendColumns
from refute.checkers.transactions.findings import Findings
from refute.checkers.transactions.graph import RW, WR, WW, Column, Dependencies, DependencyBuilder
from refute.checkers.transactions.timeline import FAIL, OK
from refute.checkers.transactions.words import named, shown


@dataclass(slots=True)
class VersionOrder:
    """The longest read of each key, element by element, all keys in one column.

    `appends[start[k] + i]` is the number of the append of the element at place i of key k, -1 where
    nobody is known to have appended it; `length[k]` elements of the key were seen. `size[r]` is how
    many elements read r saw. A key is `sound` where its reads agree about the order and no value in
    it is repeated or ambiguous. `stray` are the reads that disagree with the longest one.
    """

    longest: list[list[Any]]
    appends: Column
    start: Column
    length: Column
    size: Column
    sound: Column
    stray: list[int]


def version_order(columns: AppendColumns, findings: Findings) -> VersionOrder:
    """Merges the reads of every key; finds incompatible orders and duplicate elements.

    O(total length of the reads), in comparisons of whole lists.
    """
    keys = len(columns.keys)
    longest: list[list[Any]] = [[]] * keys
    by_whom = [-1] * keys
    reads = columns.read_lists
    for number, (key, value) in enumerate(zip(columns.read_key, reads, strict=True)):
        if len(value) > len(longest[key]):
            longest[key], by_whom[key] = value, number
    sound = np.ones(keys, bool)
    sound[list(columns.ambiguous)] = False
    for key, value in enumerate(longest):
        if len(set(value)) != len(value):
            sound[key] = False
            _duplicate(columns, findings, by_whom[key])
    stray: list[int] = []
    for number, (key, value) in enumerate(zip(columns.read_key, reads, strict=True)):
        order = longest[key]
        if value is not order and order[: len(value)] != value:
            sound[key] = False
            stray.append(number)
            if len(set(value)) != len(value):
                _duplicate(columns, findings, number)
            else:
                _incompatible(columns, findings, number, by_whom[key])
    length = np.fromiter(map(len, longest), np.int64, keys)
    start = np.cumsum(length) - length
    lookups = (
        [writer.get(value, -1) for value in order]
        for order, writer in zip(longest, columns.writer, strict=True)
    )
    appends = np.fromiter(chain.from_iterable(lookups), np.int64, int(length.sum()))
    size = np.fromiter(map(len, reads), np.int64, len(reads))
    return VersionOrder(longest, appends, start, length, size, sound, stray)


def _duplicate(columns: AppendColumns, findings: Findings, read: int) -> None:
    if not findings.wants("duplicate-elements"):
        return
    operation = columns.operations[columns.read_txn[read]]
    value = columns.read_lists[read]
    twice = next(item for place, item in enumerate(value) if item in value[:place])
    key = columns.keys[columns.read_key[read]]
    findings.show(
        "duplicate-elements",
        f"{named(operation)} read {shown(key)}={shown(value)}, with {shown(twice)} more than once.",
        [operation],
        {"key": key, "element": twice},
    )


def _incompatible(columns: AppendColumns, findings: Findings, read: int, other: int) -> None:
    # Of two reads of which neither begins with the other, one saw a version that is in no order of
    # the committed versions; so the others cannot be judged on this key.
    findings.undecided.add("G0")
    if not findings.wants("incompatible-order"):
        return
    first, second = (columns.operations[columns.read_txn[number]] for number in (read, other))
    key = shown(columns.keys[columns.read_key[read]])
    findings.show(
        "incompatible-order",
        f"{named(first)} read {key}={shown(columns.read_lists[read])} and {named(second)} read "
        f"{key}={shown(columns.read_lists[other])}; neither begins with the other.",
        [first] if first is second else [first, second],
        {"key": columns.keys[columns.read_key[read]]},
    )


def append_dependencies(
    columns: AppendColumns, order: VersionOrder, *, real_time: bool
) -> tuple[Dependencies, list[list[int]]]:
    """The graph of dependencies between transactions that happened, on sound keys only.

    An unknown transaction happened if one of its appends was read. An append that happened and was
    not seen by the longest read comes after every element of that read: so it depends on the last
    one, and all that read up to the end precede it. Comes with the groups of transactions that wrote
    to one key in an order that nothing shows. O(n log n).
    """
    count = len(columns.operations)
    outcome = columns.timeline.outcomes()
    append_txn = np.frombuffer(columns.append_txn, np.int32) if columns.append_txn else np.empty(0, np.int32)
    append_key = np.frombuffer(columns.append_key, np.int32) if columns.append_key else np.empty(0, np.int32)
    read_txn = np.frombuffer(columns.read_txn, np.int32) if columns.read_txn else np.empty(0, np.int32)
    read_key = np.frombuffer(columns.read_key, np.int32) if columns.read_key else np.empty(0, np.int32)

    seen = order.appends[order.appends >= 0]
    happened = outcome == OK
    happened[append_txn[seen][outcome[append_txn[seen]] != FAIL]] = True

    # The elements that count, in order: appended by a transaction that happened.
    place_txn = (
        np.where(order.appends >= 0, append_txn[order.appends], -1) if len(append_txn) else order.appends
    )
    place_key = np.repeat(np.arange(len(order.length)), order.length)
    counts = (place_txn >= 0) & order.sound[place_key]
    counts[counts] &= outcome[place_txn[counts]] != FAIL
    before = np.concatenate([[0], np.cumsum(counts)])  # how many of those stand before a place
    writer, writer_key = place_txn[counts], place_key[counts]

    builder = DependencyBuilder(count)
    following = writer_key[1:] == writer_key[:-1]
    builder.add(writer[:-1][following], writer[1:][following], WW)

    valid = order.sound[read_key]
    reader, key = read_txn[valid], read_key[valid]
    low, high = before[order.start[key]], before[order.start[key] + order.length[key]]
    middle = before[order.start[key] + order.size[valid]]
    some = middle > low
    builder.add(writer[middle[some] - 1], reader[some], WR)
    more = middle < high
    builder.add(reader[more], writer[middle[more]], RW)

    unordered: list[list[int]] = []
    unseen = happened[append_txn] & order.sound[append_key]
    unseen[seen] = False
    late = np.flatnonzero(unseen)
    if len(late):
        late = late[np.argsort(append_key[late], kind="stable")]
        last_reader, last_key = reader[~more], key[~more]
        by_key = np.argsort(last_key, kind="stable")
        last_reader, last_key = last_reader[by_key], last_key[by_key]
        for number, members in _groups(append_key[late]):
            targets = list(dict.fromkeys(append_txn[late[members]].tolist()))
            if len(targets) > 1:
                unordered.append(targets)
            ends = slice(*np.searchsorted(last_key, [number, number + 1]))
            builder.fan(last_reader[ends].tolist(), targets, RW)
            bound = before[order.start[number] + order.length[number]]
            if bound > before[order.start[number]]:
                builder.fan([int(writer[bound - 1])], targets, WW)

    columns.timeline.order(builder, happened, real_time=real_time)
    return builder.build(), unordered


def _groups(column: Column) -> Iterator[tuple[int, slice]]:
    """The runs of equal numbers in a sorted column."""
    cuts = [0, *(np.flatnonzero(np.diff(column)) + 1).tolist(), len(column)]
    for low, high in pairwise(cuts):
        yield int(column[low]), slice(low, high)
