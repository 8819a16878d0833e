"""Processes of ours that are a fault: each carries the mark of its fault, so that just these are found."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from refute.interpreter import python
from refute.nemesis.process.undo import VERBS as PROCESS_VERBS
from refute.nemesis.process.undo import handle_of
from refute.nemesis.undo import Handle, Undo, UndoVerb
from refute.system.process_table import processes_with_mark

NAME = "REFUTE_FAULT"
"""Environment variable with the mark; its value is `RUN/FAULT`."""


def start_marked(
    module: str, arguments: Sequence[str], mark: str, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start a module of ours as a process that carries the mark. Raises OSError."""
    return subprocess.Popen(
        python("-m", module, *arguments),
        env={**os.environ, **environment, NAME: mark},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def end_marked(mark: str, files: Iterable[Path]) -> Undo:
    """How to undo it: end whoever carries the mark, and remove the files that they wrote."""
    return Undo("end-marked", {"mark": mark, "files": [str(file) for file in files]})


def _end(handle: Handle) -> None:
    for process in processes_with_mark(NAME, handle["mark"]):
        PROCESS_VERBS["end"].undo(handle_of(process, []))
    for file in handle["files"]:
        Path(file).unlink(missing_ok=True)


def _left(handle: Handle) -> str | None:
    left = [f"pid {process.pid}" for process in processes_with_mark(NAME, handle["mark"])]
    left += [file for file in handle["files"] if Path(file).exists()]
    return f"still there: {', '.join(left)}" if left else None


VERBS = {"end-marked": UndoVerb(_end, _left)}
