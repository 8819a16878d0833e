"""Anomalies of list-append that need no graph: what single reads saw that they must not have seen."""

from __future__ import annotations

import numpy as np

from refute.checkers.transactions.append_columns import AppendColumns
from refute.checkers.transactions.findings import Findings
from refute.checkers.transactions.graph import Column
from refute.checkers.transactions.timeline import FAIL
from refute.checkers.transactions.version_order import VersionOrder
from refute.checkers.transactions.words import listed, named, shown

_MEMBERS = 10  # of the transactions that updated one version, so many are shown: two prove it


def judge_reads(columns: AppendColumns, order: VersionOrder, findings: Findings, *, gaps: str) -> None:
    """Finds G1a, G1b, garbage reads, lost and dirty updates, appends out of their transaction's order.

    O(n) in reads and elements seen, with one sort of the appends.

    `gaps` says why some writes may be missing in the record; then a value that nobody wrote is a
    doubt and no anomaly.
    """
    if not columns.append_value and not columns.read_lists:
        return
    place_key = np.repeat(np.arange(len(order.length)), order.length)
    unwritten = np.flatnonzero(order.appends < 0)
    outcome = np.frombuffer(columns.outcome, np.uint8)
    append_txn = np.array(columns.append_txn, np.int64)
    txn = np.full(len(order.appends), -1)
    written = order.appends >= 0
    txn[written] = append_txn[order.appends[written]]
    failed = np.flatnonzero(written)[outcome[txn[written]] == FAIL]
    first_reader = _first_readers(columns, order, place_key, np.concatenate([unwritten, failed]))
    for place in unwritten.tolist():
        _garbage(columns, findings, first_reader[place], _element(order, place_key, place), gaps)
    for place in failed.tolist():
        _aborted(columns, findings, first_reader[place], int(order.appends[place]))
        _dirty(columns, order, findings, place, int(place_key[place]))
    for read in order.stray:
        key = columns.read_key[read]
        known = set(order.longest[key])
        for value in columns.read_lists[read]:
            append = columns.writer[key].get(value, -1)
            if value in known:
                continue
            if append < 0:
                _garbage(columns, findings, read, value, gaps)
            elif columns.outcome[columns.append_txn[append]] == FAIL:
                _aborted(columns, findings, read, append)
    _intermediate(columns, findings)
    _own_orders(columns, order, findings)
    _lost_updates(columns, order, findings)


def _element(order: VersionOrder, place_key: Column, place: int) -> object:
    key = int(place_key[place])
    return order.longest[key][place - int(order.start[key])]


def _first_readers(
    columns: AppendColumns,
    order: VersionOrder,
    place_key: Column,
    places: Column,
) -> dict[int, int]:
    """For each place of interest the first read that saw it."""
    wanted: dict[int, list[int]] = {}
    for place in places.tolist():
        wanted.setdefault(int(place_key[place]), []).append(place)
    found: dict[int, int] = {}
    if not wanted:
        return found
    stray = set(order.stray)
    for read, key in enumerate(columns.read_key):
        if key in wanted and read not in stray:
            for place in wanted[key]:
                if place not in found and order.size[read] > place - order.start[key]:
                    found[place] = read
    return found


def _garbage(columns: AppendColumns, findings: Findings, read: int, value: object, gaps: str) -> None:
    operation = columns.operations[columns.read_txn[read]]
    key = columns.keys[columns.read_key[read]]
    sentence = (
        f"{named(operation)} read {shown(key)}={shown(columns.read_lists[read])}, but nobody appended "
        f"{shown(value)}"
    )
    if gaps:
        findings.ignored["elements read that no readable transaction appended"] += 1
        doubt = f"elements were read whose append is not in the record ({gaps})"
        if doubt not in findings.doubts:
            findings.doubts.append(doubt)
    elif findings.wants("garbage-read"):
        findings.show("garbage-read", sentence + ".", [operation], {"key": key, "value": value})


def _aborted(columns: AppendColumns, findings: Findings, read: int, append: int) -> None:
    if not findings.wants("G1a"):
        return
    reader = columns.operations[columns.read_txn[read]]
    writer = columns.operations[columns.append_txn[append]]
    key = columns.keys[columns.append_key[append]]
    findings.show(
        "G1a",
        f"{named(reader)} read {shown(key)}={shown(columns.read_lists[read])} with "
        f"{shown(columns.append_value[append])}, which {named(writer)} appended and then failed: an "
        "aborted read or a mislabelled error.",
        [writer, reader],
        {
            "key": key,
            "value": columns.append_value[append],
            "edges": [[writer.index, reader.index, "wr", ""]],
        },
    )


def _dirty(columns: AppendColumns, order: VersionOrder, findings: Findings, place: int, key: int) -> None:
    """A committed element behind a failed one: it was written on top of an aborted version."""
    if not order.sound[key]:
        return
    failed = int(order.appends[place])
    for later in range(place + 1, int(order.start[key] + order.length[key])):
        append = int(order.appends[later])
        if append < 0 or columns.outcome[columns.append_txn[append]] == FAIL:
            continue
        if findings.wants("dirty-update"):
            first = columns.operations[columns.append_txn[failed]]
            second = columns.operations[columns.append_txn[append]]
            name = columns.keys[key]
            findings.show(
                "dirty-update",
                f"{named(second)} appended {shown(columns.append_value[append])} to {shown(name)} behind "
                f"{shown(columns.append_value[failed])}, which {named(first)} appended and then failed.",
                [first, second],
                {"key": name, "edges": [[first.index, second.index, "ww", f"key {shown(name)}"]]},
            )
        return


def _intermediate(columns: AppendColumns, findings: Findings) -> None:
    """G1b: a read that ends with an element that another transaction was not done with."""
    if all(columns.append_final):
        return
    final = columns.append_final
    for txn, key, value in zip(columns.read_txn, columns.read_key, columns.read_lists, strict=True):
        if not len(value) or key in columns.ambiguous:
            continue
        append = columns.writer[key].get(value[-1], -1)
        if append < 0 or final[append] or columns.append_txn[append] == txn:
            continue
        if columns.outcome[columns.append_txn[append]] == FAIL or not findings.wants("G1b"):
            continue
        reader = columns.operations[txn]
        writer = columns.operations[columns.append_txn[append]]
        name = columns.keys[key]
        findings.show(
            "G1b",
            f"{named(reader)} read {shown(name)}={shown(value)}, whose last element {shown(value[-1])} "
            f"{named(writer)} appended before it appended more to {shown(name)}.",
            [writer, reader],
            {"key": name, "edges": [[writer.index, reader.index, "wr", f"key {shown(name)}"]]},
        )


def _own_orders(columns: AppendColumns, order: VersionOrder, findings: Findings) -> None:
    """A read with what a transaction appended later, before or without what the same one appended first."""
    if all(columns.append_final):
        return
    place = np.full(len(columns.append_value), np.iinfo(np.int64).max)
    seen = np.flatnonzero(order.appends >= 0)
    place[order.appends[seen]] = seen
    txn, key = np.array(columns.append_txn, np.int64), np.array(columns.append_key, np.int64)
    own = np.lexsort((key, txn))  # stable: the order of a transaction's appends to a key is kept
    first, second = own[:-1], own[1:]
    wrong = (txn[first] == txn[second]) & (key[first] == key[second]) & (place[second] < place[first])
    wrong &= order.sound[key[first]]
    wrong &= np.frombuffer(columns.outcome, np.uint8)[txn[first]] != FAIL
    for one, two in zip(first[wrong].tolist(), second[wrong].tolist(), strict=True):
        if not findings.wants("incompatible-order"):
            continue
        number = int(key[one])
        at = int(place[two] - order.start[number])
        read = next(r for r, k in enumerate(columns.read_key) if k == number and order.size[r] > at)
        reader = columns.operations[columns.read_txn[read]]
        writer = columns.operations[columns.append_txn[one]]
        name, earlier = columns.keys[number], shown(columns.append_value[one])
        without = (
            f"before {earlier}"
            if place[one] - order.start[number] < order.size[read]
            else f"and not {earlier}"
        )
        findings.show(
            "incompatible-order",
            f"{named(reader)} read {shown(name)}={shown(columns.read_lists[read])}, with "
            f"{shown(columns.append_value[two])} {without}, though {named(writer)} appended {earlier} first.",
            [writer] if writer is reader else [writer, reader],
            {"key": name},
        )


def _lost_updates(columns: AppendColumns, order: VersionOrder, findings: Findings) -> None:
    """Committed transactions that read the same version of a key and then appended to it."""
    if not columns.updates:
        return
    reads = np.array(columns.updates, np.int64)
    keys = np.array(columns.read_key, np.int64)[reads]
    keep = order.sound[keys]
    reads, keys = reads[keep], keys[keep]
    version = order.start[keys] + keys + order.size[reads]  # a different number for each (key, size)
    _, which, many = np.unique(version, return_inverse=True, return_counts=True)
    clashing = reads[many[which] > 1]
    groups: dict[tuple[int, int], list[int]] = {}
    for read in clashing.tolist():
        groups.setdefault((columns.read_key[read], int(order.size[read])), []).append(read)
    for (key, _), members in groups.items():
        if not findings.wants("lost-update"):
            continue
        operations = [columns.operations[columns.read_txn[read]] for read in members[:_MEMBERS]]
        name = columns.keys[key]
        findings.show(
            "lost-update",
            f"{listed(operations, len(members))} all read {shown(name)}="
            f"{shown(columns.read_lists[members[0]])} and then appended to it: none but the first may.",
            operations,
            {"key": name, "transactions": len(members)},
        )
