"""The event log that a run writes, `history.jsonl`: one line for an invocation, one for a completion."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from refute.history.error import HistoryError
from refute.history.operation import Outcome, Phase

HEADER = {"refute": "history", "version": 1, "clock": "monotonic"}


def _line(event: Mapping[str, Any]) -> bytes:
    import orjson

    try:
        return orjson.dumps(event, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # integers past 64 bits, keys that are not strings, bytes: slower and still exact
        return (json.dumps(event, separators=(",", ":"), default=str) + "\n").encode()


class HistoryWriter:
    """Appends events to a history file; use it as a context manager, from any number of threads.

    Every event is one `write` of one whole line to a descriptor opened for appending, and an
    invocation is in the file before the caller gets its id, thus before it is sent. A process that
    is killed loses at most the end of the line that it was writing, and no completion can stand in
    the file whose invocation does not. (Losing an invocation would be worse than losing time: a
    read of the value that it wrote would look like a value out of nowhere.)

    Raises HistoryError where the file cannot be written or an id is completed twice.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, clock: Literal["monotonic", "wall"] = "monotonic"
    ) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._ids = count()
        self._open: dict[int, int | str] = {}
        self._busy: set[int | str] = set()
        try:
            self._descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        except FileExistsError:
            raise HistoryError("the history file exists already", where=self.path) from None
        except OSError as error:
            raise HistoryError(f"cannot write: {error.strerror}", where=self.path) from None
        self._write(_line({**HEADER, "clock": clock}))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file; operations that are still open stay open and will be read as `info`."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def invoke(
        self,
        process: int | str,
        kind: str,
        *,
        key: Any = None,
        input: Any = None,  # noqa: A002 - the field's name everywhere
        node: str | None = None,
        epoch: int = 0,
        phase: Phase = Phase.MAIN,
        extra: Mapping[str, Any] | None = None,
        time_ns: int | None = None,
    ) -> int:
        """Records that an operation is about to be sent; returns the id to complete it with.

        Raises HistoryError where this process has an operation in flight already.
        """
        with self._lock:
            if process in self._busy:
                raise HistoryError(f"process {process!r} has an operation in flight already", where=self.path)
            identity = next(self._ids)
            event: dict[str, Any] = {"event": "invoke", "id": identity, "process": process, "kind": kind}
            if key is not None:
                event["key"] = key
            if input is not None:
                event["input"] = input
            event["time_ns"] = time.monotonic_ns() if time_ns is None else time_ns
            if node is not None:
                event["node"] = node
            if epoch:
                event["epoch"] = epoch
            if phase is not Phase.MAIN:
                event["phase"] = phase.value
            if extra:
                event["extra"] = dict(extra)
            self._write(_line(event))
            self._open[identity] = process
            self._busy.add(process)
        return identity

    def complete(
        self,
        identity: int,
        outcome: Outcome,
        *,
        output: Any = None,
        error: str | None = None,
        extra: Mapping[str, Any] | None = None,
        time_ns: int | None = None,
    ) -> None:
        """Records what came back; `extra` joins that of the invocation.

        Raises HistoryError where that id is not open.
        """
        with self._lock:
            process = self._open.pop(identity, None)
            if process is None:
                raise HistoryError(f"operation {identity} is not open", where=self.path)
            self._busy.discard(process)
            event: dict[str, Any] = {"event": outcome.value, "id": identity}
            if output is not None:
                event["output"] = output
            if error is not None:
                event["error"] = error
            if extra:
                event["extra"] = dict(extra)
            event["time_ns"] = time.monotonic_ns() if time_ns is None else time_ns
            self._write(_line(event))

    def _write(self, line: bytes) -> None:
        view = memoryview(line)
        while view:
            try:
                view = view[os.write(self._descriptor, view) :]
            except OSError as error:
                raise HistoryError(f"cannot write: {error.strerror}", where=self.path) from None
