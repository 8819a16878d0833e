"""A history of register transactions in columns: versions by number, who wrote and who read each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from refute.checkers.spending import Meter
from refute.checkers.transactions.append_columns import hashable
from refute.checkers.transactions.findings import Findings
from refute.checkers.transactions.timeline import CODES, FAIL, INFO, OK, Timeline, shape_fault
from refute.checkers.transactions.words import named, shown
from refute.history import History, Operation

INITIAL, NOBODY = -1, -2  # writers that are no transactions
_METER_EVERY = 4096


@dataclass(slots=True)
class RegisterColumns:
    """Versions are numbered over all keys; `writer` is a transaction, INITIAL or NOBODY.

    `readers[v]` are the committed transactions that read version v, each once a read. `replaced[v]`
    is the version by which the same transaction overwrote v, -1 where it did not. `updates` are
    (transaction, version read, version then written) for committed transactions that read a key
    before they wrote it. `touched` lists, for each committed transaction and key, (transaction, key,
    first version, last version) of what it saw and wrote. `micro` are a transaction's
    micro-operations as (is a write, version), in their order.
    """

    timeline: Timeline = field(default_factory=Timeline)
    keys: list[Any] = field(default_factory=list)
    value: list[Any] = field(default_factory=list)
    key: list[int] = field(default_factory=list)
    writer: list[int] = field(default_factory=list)
    readers: list[list[int]] = field(default_factory=list)
    replaced: list[int] = field(default_factory=list)
    initial: list[int] = field(default_factory=list)  # by key: the version that nobody wrote
    updates: list[tuple[int, int, int]] = field(default_factory=list)
    touched: list[tuple[int, int, int, int]] = field(default_factory=list)
    micro: list[list[tuple[bool, int]]] = field(default_factory=list)
    ambiguous: dict[int, str] = field(default_factory=dict)  # by key: why its versions cannot be told apart
    retried: int = 0
    reads: int = 0
    writes: int = 0

    def happened(self) -> list[bool]:
        """By transaction: whether it committed, or is unknown and something of it was read."""
        found = [code == OK for code in self.timeline.outcome]
        for version, writer in enumerate(self.writer):
            if writer >= 0 and self.readers[version] and self.timeline.outcome[writer] == INFO:
                found[writer] = True
        return found

    def read_from(self, txn: int) -> set[int]:
        """The other transactions whose writes this one read."""
        found = {self.writer[version] for is_write, version in self.micro[txn] if not is_write}
        return {writer for writer in found if writer >= 0 and writer != txn}

    def named(self, version: int) -> str:
        """A version in words, `x=1`."""
        return f"{shown(self.keys[self.key[version]])}={shown(self.value[version])}"


def register_columns(history: History, findings: Findings, meter: Meter) -> RegisterColumns:
    """Reads every transaction, writes first so that a read finds its writer wherever that stands.

    What cannot be read is left out, counted, and a doubt. Finds the internal anomaly. O(n).
    """
    columns = RegisterColumns()
    versions: list[dict[Any, int]] = []
    numbers: dict[Any, int] = {}
    malformed: list[str] = []

    def key_of(key: Any) -> int:
        key = hashable(key)
        number = numbers.get(key, -1)
        if number < 0:
            number = numbers[key] = len(columns.keys)
            columns.keys.append(key)
            columns.initial.append(_version(columns, number, None, INITIAL))
            versions.append({None: columns.initial[number]})
        return number

    for operation in history.operations:
        if operation.kind != "txn":
            findings.ignored[f"kind {operation.kind}"] += 1
            continue
        if not len(columns.micro) % _METER_EVERY:
            meter.check()
        code = CODES[operation.outcome]
        why = shape_fault(operation, code, "w", object)
        if why is not None:
            findings.ignored["malformed transactions"] += 1
            malformed.append(f"{named(operation)}: {why}")
            continue
        txn = columns.timeline.add(operation, code)
        columns.micro.append([])
        written: dict[int, int] = {}
        for function, name, value in _answered(operation, code):
            key = key_of(name)
            if function == "w":
                columns.writes += 1
                version = _written(columns, versions[key], txn, key, hashable(value))
                if key in written and written[key] != version:
                    columns.replaced[written[key]] = version
                written[key] = version
    for txn, operation in enumerate(columns.timeline.operations):
        if not txn % _METER_EVERY:
            meter.check()
        _read(columns, versions, numbers, txn, operation, findings)
    if malformed:
        findings.doubts.append(
            f"{len(malformed)} transactions have a shape that cannot be read, the first: {malformed[0]}"
        )
    return columns


def _answered(operation: Operation, code: int) -> Any:
    return operation.output if code == OK and operation.output is not None else operation.input


def _version(columns: RegisterColumns, key: int, value: Any, writer: int) -> int:
    columns.value.append(value)
    columns.key.append(key)
    columns.writer.append(writer)
    columns.readers.append([])
    columns.replaced.append(-1)
    return len(columns.value) - 1


def _written(columns: RegisterColumns, versions: dict[Any, int], txn: int, key: int, value: Any) -> int:
    """The version that a write makes; where the value was written before, the key becomes ambiguous."""
    version = versions.get(value, -1)
    if version < 0:
        version = versions[value] = _version(columns, key, value, txn)
        return version
    other = columns.writer[version]
    outcome = columns.timeline.outcome
    if other == INITIAL:
        columns.ambiguous.setdefault(key, "nil was written, which is also what an unwritten key reads")
    elif other != txn and outcome[txn] == FAIL:
        columns.retried += 1
        return _version(columns, key, value, txn)
    elif other != txn and outcome[other] == FAIL:
        columns.retried += 1
        version = versions[value] = _version(columns, key, value, txn)
    else:
        first, second = (named(columns.timeline.operations[one]) for one in (other, txn))
        columns.ambiguous.setdefault(key, f"{shown(value)} was written by {first} and again by {second}")
    return version


def _read(
    columns: RegisterColumns,
    versions: list[dict[Any, int]],
    numbers: dict[Any, int],
    txn: int,
    operation: Operation,
    findings: Findings,
) -> None:
    code = columns.timeline.outcome[txn]
    current: dict[int, int] = {}  # what the transaction must see next, by key
    first: dict[int, int] = {}
    own: set[int] = set()
    for function, name, value in _answered(operation, code):
        key = numbers[hashable(name)]
        value = hashable(value)
        if function == "w":
            version = versions[key].get(value, -1)
            columns.micro[txn].append((True, version))
            if code == OK and key not in own and key in current:
                columns.updates.append((txn, current[key], version))
            own.add(key)
            current[key] = version
        elif code == OK:
            columns.reads += 1
            version = versions[key].get(value, -1)
            if version < 0:
                version = versions[key][value] = _version(columns, key, value, NOBODY)
            columns.micro[txn].append((False, version))
            columns.readers[version].append(txn)
            if key in current and current[key] != version:
                _internal(columns, findings, operation, version, f"must be {columns.named(current[key])}")
            elif columns.writer[version] == txn and key not in own:
                _internal(columns, findings, operation, version, "it wrote itself only later")
            current[key] = version
        else:
            continue
        first.setdefault(key, version)
    if code == OK:
        columns.touched.extend((txn, key, first[key], current[key]) for key in first)


def _internal(
    columns: RegisterColumns, findings: Findings, operation: Operation, version: int, why: str
) -> None:
    if columns.key[version] not in columns.ambiguous and findings.wants("internal"):
        findings.show(
            "internal",
            f"{named(operation)} read {columns.named(version)}, which by its own reads and writes {why}.",
            [operation],
            {"key": columns.keys[columns.key[version]]},
        )
