"""A history of list-append transactions in columns: one pass over the operations.

Everything here is about single transactions: who appended what, who read what, and whether a
transaction agrees with itself. What follows from comparing transactions is in `list_append`.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from refute.checkers.spending import Meter
from refute.checkers.transactions.findings import Findings
from refute.checkers.transactions.timeline import CODES, FAIL, OK, Timeline, shape_fault
from refute.checkers.transactions.words import named, shown
from refute.history import History, Operation

_METER_EVERY = 4096


@dataclass(slots=True)
class AppendColumns:
    """Transactions by number (their place here), keys by number, appends by number.

    `read_lists[i]` is the list that transaction `read_txn[i]` read of key `read_key[i]`. An append
    is final where its transaction did not append to that key again. `updates` holds, for each
    committed transaction that read a key before it appended to it, the number of that read.
    """

    timeline: Timeline = field(default_factory=Timeline)
    keys: list[Any] = field(default_factory=list)
    append_txn: array[int] = field(default_factory=lambda: array("i"))
    append_key: array[int] = field(default_factory=lambda: array("i"))
    append_value: list[Any] = field(default_factory=list)
    append_final: bytearray = field(default_factory=bytearray)
    writer: list[dict[Any, int]] = field(default_factory=list)
    read_txn: array[int] = field(default_factory=lambda: array("i"))
    read_key: array[int] = field(default_factory=lambda: array("i"))
    read_lists: list[list[Any]] = field(default_factory=list)
    updates: array[int] = field(default_factory=lambda: array("i"))
    ambiguous: dict[int, tuple[int, int]] = field(default_factory=dict)  # key -> two equal appends
    retried: int = 0
    null_reads: int = 0

    @property
    def operations(self) -> list[Operation]:
        """The transactions by number."""
        return self.timeline.operations

    @property
    def outcome(self) -> bytearray:
        """Their outcomes by number."""
        return self.timeline.outcome


@dataclass(frozen=True, slots=True)
class Truth:
    """True or false as an answer of a database, which 1 and 0 are not, though Python takes them for equal."""

    holds: bool

    def __str__(self) -> str:
        return "true" if self.holds else "false"


def hashable(value: Any) -> Any:
    """The value as one that can be a key of a dict: lists become tuples, maps sorted pairs, bools a Truth."""
    if isinstance(value, bool):
        return Truth(value)
    if isinstance(value, (list, tuple)):
        return tuple(hashable(item) for item in value)
    if isinstance(value, dict):
        return tuple(sorted(((key, hashable(item)) for key, item in value.items()), key=repr))
    if isinstance(value, set):
        return frozenset(hashable(item) for item in value)
    return value


def append_columns(history: History, findings: Findings, meter: Meter, *, plain: bool) -> AppendColumns:
    """Reads every transaction once, O(micro-operations + length of what they read).

    A transaction whose shape cannot be read is left out and counted, and is a doubt. The internal
    anomaly and duplicate appends are found here. `plain` says that keys and values can be hashed as
    they are; raises TypeError where that is not so, or where a bool would be taken for a number.
    """
    columns = AppendColumns()
    key_numbers: dict[Any, int] = {}
    timeline = columns.timeline
    append_txn, append_key = columns.append_txn, columns.append_key
    append_value, append_final = columns.append_value, columns.append_final
    read_txn, read_key, read_lists = columns.read_txn, columns.read_key, columns.read_lists
    writer, updates = columns.writer, columns.updates
    malformed: list[str] = []

    for operation in history.operations:
        if operation.kind != "txn":
            findings.ignored[f"kind {operation.kind}"] += 1
            continue
        code = CODES[operation.outcome]
        if not len(timeline.operations) % _METER_EVERY:
            meter.check()
        answered = operation.output if code == OK and operation.output is not None else operation.input
        why = shape_fault(operation, code, "append", (list, tuple))
        if why is not None:
            findings.ignored["malformed transactions"] += 1
            malformed.append(f"{named(operation)}: {why}")
            continue
        txn = timeline.add(operation, code)
        committed = code == OK

        known: dict[int, list[Any]] = {}  # what the transaction must read next, whole
        tails: dict[int, list[Any]] = {}  # its own appends to a key that it has not read yet
        last_append: dict[int, int] = {}
        first_read: dict[int, int] = {}
        for function, key, value in answered:
            if not plain:
                key = hashable(key)
            elif key is True or key is False:
                raise TypeError("a bool among the keys")
            number = key_numbers.get(key, -1)
            if number < 0:
                number = key_numbers[key] = len(columns.keys)
                columns.keys.append(key)
                writer.append({})
            if function == "append":
                if not plain:
                    value = hashable(value)
                elif value is True or value is False:
                    raise TypeError("a bool among the values")
                append = len(append_value)
                append_txn.append(txn)
                append_key.append(number)
                append_value.append(value)
                append_final.append(1)
                other = writer[number].setdefault(value, append)
                if other != append:
                    _repeated(columns, append, other)
                earlier = last_append.get(number, -1)
                if earlier >= 0:
                    append_final[earlier] = 0
                elif committed and number in first_read:
                    updates.append(first_read[number])
                last_append[number] = append
                if committed:
                    if number in known:
                        if value in known[number]:
                            _foreseen(findings, operation, key, value)
                        known[number] = [*known[number], value]
                    else:
                        tails.setdefault(number, []).append(value)
            elif committed:
                if value is None:
                    columns.null_reads += 1
                    value = []
                elif not plain:
                    value = [hashable(item) for item in value]
                elif bool in map(type, value):
                    raise TypeError("a bool among the values")
                elif type(value) is not list:
                    value = list(value)
                if number in known:
                    if value != known[number]:
                        _internal(findings, operation, key, value, known[number], whole=True)
                elif number in tails and value[-len(tails[number]) :] != tails[number]:
                    _internal(findings, operation, key, value, tails[number], whole=False)
                if number not in last_append and number not in first_read:
                    first_read[number] = len(read_lists)
                known[number] = value
                read_txn.append(txn)
                read_key.append(number)
                read_lists.append(value)

    if malformed:
        findings.doubts.append(
            f"{len(malformed)} transactions have a shape that cannot be read, the first: {malformed[0]}"
        )
    findings.assumptions += timeline.remarks()
    return columns


def _repeated(columns: AppendColumns, append: int, other: int) -> None:
    """Two appends of one value to one key: a failed one did not happen, so the other one stands."""
    key = columns.append_key[append]
    if columns.outcome[columns.append_txn[append]] == FAIL:
        columns.retried += 1
    elif columns.outcome[columns.append_txn[other]] == FAIL:
        columns.retried += 1
        columns.writer[key][columns.append_value[append]] = append
    else:
        columns.ambiguous.setdefault(key, (other, append))


def _foreseen(findings: Findings, operation: Operation, key: Any, value: Any) -> None:
    if findings.wants("internal"):
        findings.show(
            "internal",
            f"{named(operation)} read {shown(value)} in {shown(key)} before it appended it itself.",
            [operation],
            {"key": key, "value": value},
        )


def _internal(
    findings: Findings,
    operation: Operation,
    key: Any,
    value: Sequence[Any],
    expected: Sequence[Any],
    *,
    whole: bool,
) -> None:
    if not findings.wants("internal"):
        return
    must = f"be {shown(expected)}" if whole else f"end with its own appends {shown(expected)}"
    findings.show(
        "internal",
        f"{named(operation)} read {shown(key)}={shown(value)}, yet by what it had read and written itself "
        f"the answer must {must}.",
        [operation],
        {"key": key, "read": list(value), "expected": list(expected)},
    )
