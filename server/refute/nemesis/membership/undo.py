"""The undo verb of the membership plane: the opposite command, unless the members are those of before.

Where the owner died or hangs in the middle, its command still runs. It is waited for, and ended where it
takes too long, before the members are looked at: what it does later nobody would undo.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from refute.nemesis.errors import NemesisError
from refute.nemesis.marked import NAME
from refute.nemesis.process.undo import VERBS as PROCESS_VERBS
from refute.nemesis.process.undo import handle_of
from refute.nemesis.undo import Handle, UndoVerb
from refute.nemesis.waiting import within
from refute.system.command import run_words
from refute.system.process_table import ProcessId, is_alive, processes_with_mark

_TIMEOUT_S = 30.0
_SEEN_WITHIN_S = 10.0
_ENDS_WITHIN_S = 5.0
_WORKS_ON_FOR_S = 1.0


def _run(handle: Handle, which: str) -> tuple[int | None, str]:
    environment = {**os.environ, **handle["env"]}
    result = run_words(handle[which], Path(handle["cwd"]), environment, _TIMEOUT_S)
    return result.exit_code, (
        result.output if result.exit_code == 0 else result.errors or result.output
    ).strip()


def members(handle: Handle) -> str:
    """The members as the system lists them, one a line, in order. Raises NemesisError where it does not."""
    code, said = _run(handle, "list")
    if code != 0:
        raise NemesisError(f"the members cannot be listed (exit {code}): {said[-200:]}", where=handle["node"])
    return "\n".join(sorted(line.strip() for line in said.splitlines() if line.strip()))


def _gone(handle: Handle) -> bool:
    # With the last of its processes went the system, and nobody's membership is left to be undone.
    return not any(is_alive(ProcessId(*process)) for process in handle["nodes"])


def _see_the_command_end(handle: Handle) -> None:
    mark = handle["command"]
    if within(_ENDS_WITHIN_S, lambda: not processes_with_mark(NAME, mark), every_s=0.05):
        return
    for process in processes_with_mark(NAME, mark):
        PROCESS_VERBS["end"].undo(handle_of(process, []))
    # What it has asked for the system may still do, now that nobody waits for the answer.
    within(_WORKS_ON_FOR_S, lambda: members(handle) != handle["before"], every_s=0.1)


def _rejoin(handle: Handle) -> None:
    if _gone(handle):
        return
    _see_the_command_end(handle)
    if members(handle) == handle["before"]:
        return
    code, said = _run(handle, "undo")
    if code != 0:
        raise NemesisError(
            f"the command that undoes it failed (exit {code}): {said[-200:]}", where=handle["node"]
        )


def _still_changed(handle: Handle) -> str | None:
    deadline = time.monotonic() + _SEEN_WITHIN_S
    while not _gone(handle) and (now := members(handle)) != handle["before"]:
        if time.monotonic() > deadline:
            return f"the members are {now.split()}, not {handle['before'].split()}"
        time.sleep(0.1)
    return None


VERBS = {"rejoin": UndoVerb(_rejoin, _still_changed)}
