"""Undo verbs of the netns plane: take a fault out of a holder's network."""

from __future__ import annotations

from pathlib import Path

from refute.nemesis.errors import NemesisError
from refute.nemesis.proxy.control import Control
from refute.nemesis.undo import Handle, UndoVerb
from refute.system.process_table import ProcessId, is_alive


def _take(handle: Handle) -> None:
    if not is_alive(ProcessId(*handle["holder"])):
        return  # the kernel has removed its namespaces, and with them every rule and link
    with Control(Path(handle["control"]), "holder of the namespaces") as control:
        if left := control.ask("heal", fault=handle["fault"])["left"]:
            raise NemesisError(left)


def _still_on(handle: Handle) -> str | None:
    if not is_alive(ProcessId(*handle["holder"])):
        return None
    with Control(Path(handle["control"]), "holder of the namespaces") as control:
        left: str | None = control.ask("left", fault=handle["fault"])["left"]
    return left


VERBS = {"take-off": UndoVerb(_take, _still_on)}
