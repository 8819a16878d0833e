"""The timeline of an attempt, `run.jsonl`: its phases, its steps, and what went wrong on the way."""

from __future__ import annotations

import json
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from refute.session.errors import SessionError

PHASES = (
    *("prepare", "start", "ready", "baseline", "workload", "heal", "quiesce", "final", "stop"),
    "end",
)


@dataclass(frozen=True, slots=True)
class Mark:
    """One line: `what` is `phase`, `step`, `trouble` or `diverged`; `text` is for people."""

    what: str
    name: str
    time_ns: int
    text: str = ""


class Timeline:
    """Appends marks, each in one write of one line; a context manager, usable from any thread."""

    def __init__(self, path: Path) -> None:
        self._lock = threading.Lock()
        try:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise SessionError(f"cannot write: {error.strerror}", where=path) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._descriptor)

    def mark(self, what: str, name: str, text: str = "") -> None:
        """Appends one mark with the time of now."""
        line: dict[str, Any] = {"what": what, "name": name, "time_ns": time.monotonic_ns()}
        if text:
            line["text"] = text
        with self._lock:
            os.write(self._descriptor, (json.dumps(line, ensure_ascii=False) + "\n").encode())


def read_timeline(path: Path) -> tuple[Mark, ...]:
    """The marks of an attempt; none where it did not get so far, and a cut last line is left out.

    Raises SessionError with `file:line` for anything else that is malformed.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except FileNotFoundError:
        return ()
    marks = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            read = json.loads(line)
            marks.append(Mark(read["what"], read["name"], read["time_ns"], read.get("text", "")))
        except (ValueError, KeyError, TypeError) as error:
            if number == len(lines):
                break
            raise SessionError(f"not a mark of a timeline: {error}", where=f"{path}:{number}") from None
    return tuple(marks)
