"""How a live system shows operations, output and logs: bounded, and saying what was left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from refute.history import Operation
from refute.run.live_record import LiveError
from refute.session.files import plain
from refute.system.command import CommandResult

_MOST_LOG_BYTES = 1_000_000
_LONGEST_LOG_LINE = 1_000
_MOST_OUTPUT = 4_000


def shown_operation(operation: Operation) -> dict[str, Any]:
    """Everything that was recorded of it, as plain data; `took_ms` is None while it is open."""
    completed = operation.completed_ns
    shown = {
        "index": operation.index,
        "process": str(operation.process),
        "kind": operation.kind,
        "key": operation.key,
        "input": operation.input,
        "output": operation.output,
        "outcome": operation.outcome.value,
        "error": operation.error,
        "node": operation.node,
        "epoch": operation.epoch,
        "took_ms": None if completed is None else round((completed - operation.invoked_ns) / 1e6, 3),
        "extra": dict(operation.extra),
    }
    return {key: plain(value) for key, value in shown.items()}


def shown_command(result: CommandResult) -> dict[str, Any]:
    """What a command did; of what it said the middle is cut out where it said much."""
    return {
        "argv": list(result.argv),
        "exit_code": result.exit_code,
        "output": _without_middle(result.output),
        "errors": _without_middle(result.errors),
        "took_s": round(result.took_s, 3),
    }


def end_of_log(path: Path, lines: int) -> dict[str, Any]:
    """The last lines of a log, and how many before them were left out. Raises LiveError.

    No more than its last megabyte is read: `more_before` says that there is something before it.
    """
    try:
        with path.open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(max(0, size - _MOST_LOG_BYTES))
            text = stream.read().decode(errors="replace").splitlines()
    except OSError as error:
        raise LiveError(f"the log cannot be read: {error.strerror}", where=path) from error
    return {
        "path": str(path),
        "lines": [line[:_LONGEST_LOG_LINE] for line in text[-lines:]],
        "left_out": max(0, len(text) - lines),
        "more_before": size > _MOST_LOG_BYTES,
    }


def _without_middle(text: str) -> str:
    if len(text) <= _MOST_OUTPUT:
        return text
    half = _MOST_OUTPUT // 2
    return f"{text[:half]}\n[{len(text) - _MOST_OUTPUT} characters left out]\n{text[-half:]}"
