"""Why one register transaction depends on another, in words, looked up for the few that are shown."""

from __future__ import annotations

from collections.abc import Iterator

from refute.checkers.transactions.graph import RW, WR
from refute.checkers.transactions.register_columns import INITIAL, RegisterColumns
from refute.checkers.transactions.words import named, shown
from refute.history import Operation


class RegisterReasons:
    """Finds the versions behind an edge of the graph."""

    def __init__(self, columns: RegisterColumns, successors: dict[int, dict[int, str]]) -> None:
        self._columns, self._successors = columns, successors
        self._number = {id(op): number for number, op in enumerate(columns.timeline.operations)}

    def _versions(self, operation: Operation, *, written: bool) -> list[int]:
        micro = self._columns.micro[self._number[id(operation)]]
        return [version for is_write, version in micro if is_write is written]

    def __call__(self, first: Operation, kind: int, second: Operation) -> tuple[str, str]:
        """A clause about the two transactions, and a label for the edge."""
        columns = self._columns
        if kind == WR:
            version = next(
                version
                for version in self._versions(second, written=False)
                if version in self._versions(first, written=True)
            )
            return (
                f"{named(second)} read {columns.named(version)} that {named(first)} wrote",
                f"key {shown(columns.keys[columns.key[version]])}: read {shown(columns.value[version])}",
            )
        before, after, why = next(self._pairs(first, second, read=kind == RW))
        key = shown(columns.keys[columns.key[before]])
        did = "read" if kind == RW else "wrote"
        return (
            f"{named(first)} {did} {columns.named(before)}, which {named(second)} replaced by "
            f"{columns.named(after)} ({why})",
            f"key {key}: {shown(columns.value[before])} before {shown(columns.value[after])}",
        )

    def _pairs(self, first: Operation, second: Operation, *, read: bool) -> Iterator[tuple[int, int, str]]:
        columns = self._columns
        for before in self._versions(first, written=not read):
            for after in self._versions(second, written=True):
                why = self._successors.get(before, {}).get(after)
                if why == "read":
                    yield before, after, f"{named(second)} had read it"
                elif why is not None:
                    yield before, after, f"by {why} order"
        for before in self._versions(first, written=not read):
            for after in self._versions(second, written=True):
                if columns.key[before] == columns.key[after] and columns.writer[before] == INITIAL:
                    yield before, after, "nothing comes before the initial state"
