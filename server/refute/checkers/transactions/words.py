"""Transactions, values and cycles in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from refute.history import Operation

_WIDTH = 60


def named(operation: Operation) -> str:
    """A transaction as a person finds it again: `T` and the index of its operation."""
    return f"T{operation.index}"


def listed(operations: Sequence[Operation], count: int) -> str:
    """The names of the first transactions of `count`, and how many more there are."""
    names = [named(operation) for operation in operations[:5]]
    return ", ".join(names) + (f" and {count - len(names)} more" if count > len(names) else "")


def shown(value: Any) -> str:
    """A value in the notation of the field, `[1 2 3]` for a list, its middle left out where long."""
    if isinstance(value, (list, tuple)):
        items = [shown(item) for item in value]
        if len(items) > 12:
            items = [*items[:4], f"...{len(items) - 8} more...", *items[-4:]]
        return f"[{' '.join(items)}]"
    text = "nil" if value is None else str(value)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."
