"""Why one list-append transaction depends on another, in words, looked up for the few that are shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from refute.checkers.transactions.append_columns import AppendColumns, hashable
from refute.checkers.transactions.graph import RW, WR
from refute.checkers.transactions.version_order import VersionOrder
from refute.checkers.transactions.words import named, shown
from refute.history import Operation


class AppendReasons:
    """Finds the key and the elements behind an edge of the graph."""

    def __init__(self, columns: AppendColumns, order: VersionOrder) -> None:
        self._columns, self._order = columns, order
        self._numbers = {key: number for number, key in enumerate(columns.keys)}

    def __call__(self, first: Operation, kind: int, second: Operation) -> tuple[str, str]:
        """A clause about the two transactions, and a label for the edge."""
        if kind == WR:
            return self._read(first, second)
        if kind == RW:
            return self._anti(first, second)
        return self._write(first, second)

    def _appends(self, operation: Operation) -> Iterator[tuple[int, Any]]:
        for function, key, value in operation.input if operation.input is not None else operation.output:
            if function == "append":
                yield self._numbers[hashable(key)], hashable(value)

    def _reads(self, operation: Operation) -> Iterator[tuple[int, list[Any]]]:
        for function, key, value in operation.output or ():
            if function == "r":
                yield self._numbers[hashable(key)], [hashable(item) for item in value or ()]

    def _place(self, key: int, value: Any) -> int:
        """The place of an element in the order of its key; past the end where nobody saw it."""
        order = self._order.longest[key]
        return order.index(value) if value in order else len(order)

    def _write(self, first: Operation, second: Operation) -> tuple[str, str]:
        pairs = [
            (self._place(key, after) - self._place(key, value), key, value, after)
            for key, value in self._appends(first)
            for other, after in self._appends(second)
            if key == other and self._order.sound[key] and self._place(key, value) < self._place(key, after)
        ]
        _, key, value, after = min(pairs, key=lambda pair: pair[0])
        name = shown(self._columns.keys[key])
        return (
            f"{named(first)} appended {shown(value)} to {name} before {named(second)} appended "
            f"{shown(after)}",
            f"key {name}: {shown(value)} before {shown(after)}",
        )

    def _read(self, first: Operation, second: Operation) -> tuple[str, str]:
        written = set(self._appends(first))
        key, value, last = next(
            (key, value, item)
            for key, value in self._reads(second)
            for item in reversed(value)
            if self._order.sound[key] and (key, item) in written
        )
        name = shown(self._columns.keys[key])
        return (
            f"{named(second)} read {name}={shown(value)} with {shown(last)} that {named(first)} appended",
            f"key {name}: read {shown(last)}",
        )

    def _anti(self, first: Operation, second: Operation) -> tuple[str, str]:
        missed = [
            (self._place(key, item), key, value, item)
            for key, value in self._reads(first)
            for other, item in self._appends(second)
            if key == other and self._order.sound[key] and self._place(key, item) >= len(value)
        ]
        _, key, value, item = min(missed, key=lambda case: case[0])
        name = shown(self._columns.keys[key])
        return (
            f"{named(first)} read {name}={shown(value)} without {shown(item)} that {named(second)} appended",
            f"key {name}: missed {shown(item)}",
        )
