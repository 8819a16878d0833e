"""Waits for recorded operations: the trigger "an operation's return", for faults and for steps."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Self

from refute.history.operation import Operation
from refute.workload.error import WorkloadError
from refute.workload.recorder import Recorder

_FIELDS = ("kind", "outcome", "key", "node", "input", "output", "process", "error")


class OperationTrigger:
    """Counts the operations that complete from its creation on and match a pattern.

    The pattern is that of a plan: `{kind: write, outcome: ok, key: k, count: 3}`; the fields are those
    of an operation, `unknown` is another word for `info`, and fields of `extra` stand under `extra`.
    Use it as a context manager. Raises WorkloadError for a field that operations do not have.
    """

    def __init__(self, recorder: Recorder, pattern: Mapping[str, Any]) -> None:
        wanted = dict(pattern)
        count = wanted.pop("count", 1)
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            raise WorkloadError(f"count must be a whole number from 1 on, not {count!r}")
        extra = wanted.pop("extra", {})
        if unknown := sorted(set(wanted) - set(_FIELDS)):
            raise WorkloadError(
                f"operations have no field {unknown[0]!r}",
                hint=f"fields: {', '.join(_FIELDS)}, extra, count",
            )
        if wanted.get("outcome") == "unknown":
            wanted["outcome"] = "info"
        if wanted.get("outcome", "ok") not in ("ok", "fail", "info"):
            raise WorkloadError(f"outcome is ok, fail or unknown, not {wanted['outcome']!r}")
        self._wanted = wanted
        self._extra = dict(extra)
        self._missing = count
        self._lock = threading.Lock()
        self._done = threading.Event()
        self.operation: Operation | None = None
        """The operation that completed the count."""
        self._listening: AbstractContextManager[None] = recorder.listening(self._heard)

    def __enter__(self) -> Self:
        self._listening.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listening.__exit__(kind, error, trace)

    def wait(self, timeout_s: float, *, stop: threading.Event | None = None) -> Operation | None:
        """The operation that completed the count, or None after the time, or once `stop` is set."""
        limit = time.monotonic() + timeout_s
        while not self._done.is_set():
            left = limit - time.monotonic()
            if left <= 0 or (stop is not None and stop.is_set()):
                return None
            self._done.wait(left if stop is None else min(left, 0.05))
        return self.operation

    def _heard(self, operation: Operation) -> None:
        if self._done.is_set() or not self._matches(operation):
            return
        with self._lock:
            self._missing -= 1
            if self._missing == 0:
                self.operation = operation
                self._done.set()

    def _matches(self, operation: Operation) -> bool:
        return all(getattr(operation, name) == value for name, value in self._wanted.items()) and all(
            operation.extra.get(name) == value for name, value in self._extra.items()
        )
