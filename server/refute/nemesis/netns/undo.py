"""Undo verbs of the netns plane: take a fault out of a holder's network."""

from __future__ import annotations

import time
from pathlib import Path

from refute.nemesis.errors import NemesisError
from refute.nemesis.proxy.control import Control
from refute.nemesis.undo import Handle, UndoVerb
from refute.system.process_table import ProcessId, is_alive

_LEAVES_WITHIN_S = 1.0


def _take(handle: Handle) -> None:
    if left := _ask(handle, "heal"):
        raise NemesisError(left)


def _still_on(handle: Handle) -> str | None:
    return _ask(handle, "left")


def _ask(handle: Handle, do: str) -> str | None:
    holder = ProcessId(*handle["holder"])
    if not is_alive(holder):
        return None  # the kernel has removed its namespaces, and with them every rule and link
    try:
        with Control(Path(handle["control"]), "holder of the namespaces") as control:
            left: str | None = control.ask(do, fault=handle["fault"])["left"]
    except NemesisError:
        if not _ends(holder):
            raise
        return None  # it was about to leave when it was asked
    return left


def _ends(holder: ProcessId) -> bool:
    deadline = time.monotonic() + _LEAVES_WITHIN_S
    while is_alive(holder):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


VERBS = {"take-off": UndoVerb(_take, _still_on)}
