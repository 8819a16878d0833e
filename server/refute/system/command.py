"""Runs one command of the system under test to its end, or to its time limit."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from refute.system.errors import ClusterInputError


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What one of the system's own commands did. `exit_code` is None where it ran out of time."""

    argv: tuple[str, ...]
    exit_code: int | None
    output: str
    errors: str
    took_s: float


def run_words(argv: Sequence[str], cwd: Path, env: Mapping[str, str], timeout_s: float) -> CommandResult:
    """Run a command, killing all of it at the time limit. Raises ClusterInputError if it cannot start."""
    began = time.monotonic()
    try:
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        reason = "does not exist" if isinstance(error, FileNotFoundError) else error.strerror
        raise ClusterInputError(f"the command {argv[0]!r} {reason}") from error
    try:
        output, errors = process.communicate(timeout=timeout_s)
        code: int | None = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)  # not reaped yet, so the group is still its own
        output, errors = process.communicate()
        code = None
    return CommandResult(
        tuple(argv),
        code,
        output.decode(errors="replace"),
        errors.decode(errors="replace"),
        time.monotonic() - began,
    )
