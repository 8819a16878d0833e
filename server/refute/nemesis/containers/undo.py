"""Undo verbs of the docker plane: let a container go on, connect it again, remove what carries our label."""

from __future__ import annotations

from refute.nemesis.containers.engine import Engine, GoneError
from refute.nemesis.undo import Handle, UndoVerb


def _go_on(handle: Handle) -> None:
    if _is_paused(handle):
        Engine(handle["engine"]).change(handle["container"], handle["label"], "unpause")


def _still_paused(handle: Handle) -> str | None:
    return f"container {handle['container'][:12]} is still paused" if _is_paused(handle) else None


def _is_paused(handle: Handle) -> bool:
    try:
        found = Engine(handle["engine"]).inspect(handle["container"])
    except GoneError:
        return False
    return found is not None and found["State"]["Status"] == "paused"


def _connect(handle: Handle) -> None:
    if _still_disconnected(handle):
        more = {"EndpointConfig": handle["endpoint"]}
        Engine(handle["engine"]).network(
            handle["container"], handle["label"], handle["network"], "connect", more
        )


def _still_disconnected(handle: Handle) -> str | None:
    try:
        found = Engine(handle["engine"]).inspect(handle["container"])
    except GoneError:
        return None
    if found is None or handle["network"] in found["NetworkSettings"]["Networks"]:
        return None
    return f"container {handle['container'][:12]} is still off the network {handle['network']}"


def _remove(handle: Handle) -> None:
    try:
        Engine(handle["engine"]).remove(handle["label"])
    except GoneError:
        return


def _still_there(handle: Handle) -> str | None:
    try:
        there = Engine(handle["engine"]).container(handle["label"])
    except GoneError:
        return None
    return f"the container of {handle['label']} is still there" if there else None


VERBS = {
    "unpause-container": UndoVerb(_go_on, _still_paused),
    "connect-container": UndoVerb(_connect, _still_disconnected),
    "remove-container": UndoVerb(_remove, _still_there),
}
