"""Writes small histories for tests: one call an operation, times in whole numbers."""

from __future__ import annotations

from typing import Any

from refute.history import History, Operation, Outcome, Phase


class Scribe:
    """Collects operations; `history()` sorts and numbers them."""

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []

    def __call__(
        self,
        process: int | str,
        kind: str,
        start: int,
        end: int | None,
        *,
        key: Any = None,
        value: Any = None,
        out: Any = None,
        outcome: str = "ok",
        node: str | None = None,
        final: bool = False,
        **extra: Any,
    ) -> Scribe:
        self._rows.append(
            {
                "process": process,
                "kind": kind,
                "key": key,
                "input": value,
                "output": out,
                "outcome": Outcome(outcome),
                "invoked_ns": start,
                "completed_ns": end,
                "node": node,
                "phase": Phase.FINAL if final else Phase.MAIN,
                "extra": extra,
            }
        )
        return self

    def history(self, clock: Any = "monotonic") -> History:
        rows = sorted(self._rows, key=lambda row: row["invoked_ns"])
        return History([Operation(index=index, **row) for index, row in enumerate(rows)], clock=clock)
