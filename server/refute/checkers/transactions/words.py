"""Transactions, values and cycles in words."""

from __future__ import annotations

from typing import Any

from refute.history import Operation

_WIDTH = 60


def named(operation: Operation) -> str:
    """A transaction as a person finds it again: `T` and the index of its operation."""
    return f"T{operation.index}"


def shown(value: Any) -> str:
    """A value in the notation of the field, `[1 2 3]` for a list, its middle left out where long."""
    if isinstance(value, (list, tuple)):
        items = [shown(item) for item in value]
        if len(items) > 12:
            items = [*items[:4], f"...{len(items) - 8} more...", *items[-4:]]
        return f"[{' '.join(items)}]"
    text = "nil" if value is None else str(value)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."
