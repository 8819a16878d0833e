"""Undo verbs of the proxy plane: lift a fault from the links of a proxy host, remove its socket."""

from __future__ import annotations

from pathlib import Path

from refute.nemesis.proxy.control import Control
from refute.nemesis.undo import Handle, UndoVerb
from refute.system.process_table import ProcessId, is_alive


def _lift(handle: Handle) -> None:
    if not is_alive(ProcessId(*handle["host"])):
        return  # its connections, and with them whatever they held, went with it
    with Control(Path(handle["control"])) as control:
        control.ask("heal", fault=handle["fault"])


def _still_on(handle: Handle) -> str | None:
    if not is_alive(ProcessId(*handle["host"])):
        return None
    with Control(Path(handle["control"])) as control:
        on = control.ask("faults")["faults"]
    return f"{handle['fault']} is still on at the proxy host" if handle["fault"] in on else None


def _remove(handle: Handle) -> None:
    (Path(handle["folder"]) / "control").unlink(missing_ok=True)
    if Path(handle["folder"]).is_dir():
        Path(handle["folder"]).rmdir()


def _still_there(handle: Handle) -> str | None:
    return f"{handle['folder']} is still there" if Path(handle["folder"]).exists() else None


VERBS = {"lift": UndoVerb(_lift, _still_on), "remove-socket": UndoVerb(_remove, _still_there)}
