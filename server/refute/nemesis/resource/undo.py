"""Undo verbs of the resource plane: limits are taken off, groups dissolved."""

from __future__ import annotations

from pathlib import Path

from refute.nemesis.resource.cgroups import Group
from refute.nemesis.resource.descriptors import restore, still_lowered
from refute.nemesis.resource.limits import LIMITS
from refute.nemesis.undo import Handle, UndoVerb


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


VERBS = {
    "lift-limit": UndoVerb(_lift, _still_limited),
    "dissolve-group": UndoVerb(_dissolve, _still_there),
    "restore-descriptors": UndoVerb(restore, still_lowered),
}
