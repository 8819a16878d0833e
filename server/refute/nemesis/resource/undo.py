"""Undo verbs of the resource plane: limits are taken off, groups dissolved, neighbours ended."""

from __future__ import annotations

from pathlib import Path

from refute.nemesis.process.undo import VERBS as PROCESS_VERBS
from refute.nemesis.process.undo import handle_of
from refute.nemesis.resource.cgroups import Group
from refute.nemesis.resource.descriptors import restore, still_lowered
from refute.nemesis.resource.limits import LIMITS
from refute.nemesis.resource.noise import NAME
from refute.nemesis.undo import Handle, UndoVerb
from refute.system.process_table import processes_with_mark


def _group(handle: Handle) -> Group:
    return Group(handle["version"], Path(handle["group"]))


def _lift(handle: Handle) -> None:
    if _group(handle).path.is_dir():
        LIMITS[handle["limit"]].lift(_group(handle))


def _still_limited(handle: Handle) -> str | None:
    if not _group(handle).path.is_dir():
        return None
    said = LIMITS[handle["limit"]].said(_group(handle))
    return None if said == "none" else f"{handle['node']}: {handle['limit']} is still limited: {said}"


def _dissolve(handle: Handle) -> None:
    _group(handle).dissolve(Path(handle["back"]))


def _still_there(handle: Handle) -> str | None:
    return f"the control group {handle['group']} is still there" if _group(handle).path.exists() else None


def _end_noise(handle: Handle) -> None:
    for process in processes_with_mark(NAME, handle["mark"]):
        PROCESS_VERBS["end"].undo(handle_of(process, []))
    for file in handle["files"]:
        Path(file).unlink(missing_ok=True)


def _still_noisy(handle: Handle) -> str | None:
    left = [f"pid {process.pid}" for process in processes_with_mark(NAME, handle["mark"])]
    left += [file for file in handle["files"] if Path(file).exists()]
    return f"neighbours are left: {', '.join(left)}" if left else None


VERBS = {
    "lift-limit": UndoVerb(_lift, _still_limited),
    "dissolve-group": UndoVerb(_dissolve, _still_there),
    "restore-descriptors": UndoVerb(restore, still_lowered),
    "end-noise": UndoVerb(_end_noise, _still_noisy),
}
