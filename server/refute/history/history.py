"""A whole history: operations in the order of their invocations, and how complete the record is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from refute.history.columns import Columns, columns_of
from refute.history.fault import FaultEvent
from refute.history.operation import Operation


@dataclass(frozen=True, slots=True)
class Completeness:
    """What the record lacks.

    `open_operations` had no completion and are therefore `info`; `dropped_partial_line` is set
    where the file ended in the middle of a line; `unreadable_lines` are counted only where the
    caller asked to go on past them. `notes` are sentences for a person.
    """

    open_operations: int = 0
    dropped_partial_line: bool = False
    unreadable_lines: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class History:
    """Operations sorted by invocation, and the faults that were on meanwhile.

    `clock` says what the times are: `monotonic` (one clock for all processes), `wall` (several
    clocks: real-time order between processes is not evidence) or `index` (only the order of the
    lines is known, and that order is the real-time order).
    """

    operations: Sequence[Operation]
    faults: tuple[FaultEvent, ...] = ()
    completeness: Completeness = Completeness()
    clock: Literal["monotonic", "wall", "index"] = "monotonic"
    source: str = "memory"

    def __len__(self) -> int:
        return len(self.operations)

    @cached_property
    def columns(self) -> Columns:
        """The same operations as columns; made on first use unless the history was read from a file."""
        return columns_of(self.operations)
