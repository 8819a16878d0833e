"""A history as columns: one array a field, so that a million operations are cheap to keep and to sort."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, overload

from refute.history.operation import Operation, Outcome, Phase
from refute.history.stand_ins import hashable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

OPEN = 2**63 - 1
"""Completion time of an operation that has none: later than every other time."""

OUTCOMES: tuple[Outcome, ...] = (Outcome.OK, Outcome.FAIL, Outcome.INFO)
PHASES: tuple[Phase, ...] = (Phase.BASELINE, Phase.MAIN, Phase.FINAL)
OK, FAIL, INFO = range(3)

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Codes(dict[Hashable, int]):
    """Small integers for the distinct values of a column, in the order in which they were first seen.

    Looking up an integer, a string or None makes up its code if it is new; other values go through `of`.
    """

    __slots__ = ("values_seen",)

    def __init__(self) -> None:
        super().__init__()
        self.values_seen: list[Any] = []

    def __missing__(self, value: Hashable) -> int:
        code = self[value] = len(self.values_seen)
        self.values_seen.append(value)
        return code

    def of(self, value: Any) -> int:
        """The code of any value."""
        known = hashable(value)
        code = self.get(known)
        if code is None:
            code = self[known] = len(self.values_seen)
            self.values_seen.append(value)
        return code

    def encode(self, values: Sequence[Any]) -> list[int]:
        """The codes of many values."""
        if set(map(type, values)) <= {int, str, type(None)}:
            return [self[value] for value in values]
        return [self.of(value) for value in values]


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """The fields of all operations, sorted by invocation; row `i` is operation `i`.

    `process`, `kind`, `key`, `node` and `error` hold codes into the tables beside them (node and
    error: -1 for none). `outcome` and `phase` index OUTCOMES and PHASES. Times are nanoseconds and
    `completed` is OPEN where no completion was recorded. `extra` has only the rows that carry any.
    """

    process: NDArray[np.int32]
    processes: list[Any]
    kind: NDArray[np.int32]
    kinds: list[str]
    key: NDArray[np.int32]
    keys: list[Any]
    input: list[Any]
    output: list[Any]
    outcome: NDArray[np.int8]
    invoked: NDArray[np.int64]
    completed: NDArray[np.int64]
    error: NDArray[np.int32]
    errors: list[str]
    node: NDArray[np.int32]
    nodes: list[str]
    epoch: NDArray[np.int32]
    phase: NDArray[np.int8]
    extra: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    index: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.input)

    def operation(self, row: int) -> Operation:
        """Row `row` as an Operation."""
        completed = int(self.completed[row])
        error, node = int(self.error[row]), int(self.node[row])
        return Operation(
            row if self.index is None else int(self.index[row]),
            self.processes[self.process[row]],
            self.kinds[self.kind[row]],
            self.keys[self.key[row]],
            self.input[row],
            self.output[row],
            OUTCOMES[self.outcome[row]],
            int(self.invoked[row]),
            None if completed == OPEN else completed,
            None if error < 0 else self.errors[error],
            None if node < 0 else self.nodes[node],
            int(self.epoch[row]),
            PHASES[self.phase[row]],
            self.extra.get(row, _NOTHING),
        )


class OperationTable(Sequence[Operation]):
    """Columns that look like a sequence of operations; each one is made when it is asked for."""

    __slots__ = ("columns",)

    def __init__(self, columns: Columns) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns)

    @overload
    def __getitem__(self, index: int) -> Operation: ...
    @overload
    def __getitem__(self, index: slice) -> list[Operation]: ...
    def __getitem__(self, index: int | slice) -> Operation | list[Operation]:
        """One operation, or a list of them for a slice."""
        if isinstance(index, slice):
            return [self.columns.operation(row) for row in range(*index.indices(len(self)))]
        size = len(self)
        if not -size <= index < size:
            raise IndexError(index)
        return self.columns.operation(index % size)

    def __iter__(self) -> Iterator[Operation]:
        rows = self.columns.operation
        return (rows(row) for row in range(len(self)))

    def __eq__(self, other: object) -> bool:
        """Equal to any sequence that holds equal operations."""
        if not isinstance(other, Sequence) or isinstance(other, (str, bytes)):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"OperationTable({len(self)} operations)"


def columns_of(operations: Iterable[Operation]) -> Columns:
    """The columns of operations that are in memory already, in the order given. Linear."""
    import numpy as np

    if isinstance(operations, OperationTable):
        return operations.columns
    rows = list(operations)
    process, kind, key, error, node = Codes(), Codes(), Codes(), Codes(), Codes()
    outcome = {value: code for code, value in enumerate(OUTCOMES)}
    phase = {value: code for code, value in enumerate(PHASES)}
    return Columns(
        process=np.array(process.encode([op.process for op in rows]), dtype=np.int32),
        processes=process.values_seen,
        kind=np.array(kind.encode([op.kind for op in rows]), dtype=np.int32),
        kinds=kind.values_seen,
        key=np.array(key.encode([op.key for op in rows]), dtype=np.int32),
        keys=key.values_seen,
        input=[op.input for op in rows],
        output=[op.output for op in rows],
        outcome=np.array([outcome[op.outcome] for op in rows], dtype=np.int8),
        invoked=np.array([op.invoked_ns for op in rows], dtype=np.int64),
        completed=np.array(
            [OPEN if op.completed_ns is None else op.completed_ns for op in rows], dtype=np.int64
        ),
        error=np.array([-1 if op.error is None else error.of(op.error) for op in rows], dtype=np.int32),
        errors=error.values_seen,
        node=np.array([-1 if op.node is None else node.of(op.node) for op in rows], dtype=np.int32),
        nodes=node.values_seen,
        epoch=np.array([op.epoch for op in rows], dtype=np.int32),
        phase=np.array([phase[op.phase] for op in rows], dtype=np.int8),
        extra={row: op.extra for row, op in enumerate(rows) if op.extra},
        index=np.array([op.index for op in rows], dtype=np.int64),
    )
