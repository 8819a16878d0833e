"""A log entry and its three encodings: on the wire and in both formats of the write-ahead log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Entry:
    """One position of the replicated log. A command of None is the mark that opens a leader's term."""

    index: int
    term: int
    time_ms: int
    command: dict[str, Any] | None
    request: str | None = None

    def to_wire(self) -> list[Any]:
        return [self.index, self.term, self.time_ms, self.command, self.request]

    @classmethod
    def from_wire(cls, fields: list[Any]) -> Entry:
        index, term, time_ms, command, request = fields
        return cls(int(index), int(term), int(time_ms), command, request)

    def to_record(self, wal_format: int) -> dict[str, Any]:
        record: dict[str, Any] = {"i": self.index, "t": self.term, "ms": self.time_ms, "c": self.command}
        if wal_format >= 2:
            record["r"] = self.request
        return record

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Entry:
        return cls(record["i"], record["t"], record["ms"], record["c"], record.get("r"))
