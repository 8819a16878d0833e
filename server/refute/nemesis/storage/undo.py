"""Undo verbs of the storage plane."""

from __future__ import annotations

from pathlib import Path

from refute.nemesis.process.undo import VERBS as PROCESS_VERBS
from refute.nemesis.storage.volume import Volume, loops_of, within
from refute.nemesis.storage.volumes import remove_image
from refute.nemesis.undo import Handle, UndoVerb

_DETACHED_WITHIN_S = 5.0


def _remount(handle: Handle) -> None:
    volume = Volume.of_handle(handle)
    if not volume.namespace.alive or volume.try_to_write() == "ok":
        return
    if handle["node"]:
        PROCESS_VERBS["end"].undo({"leader": handle["node"], "members": []})
    volume.detach()
    volume.attach()


def _takes_no_writes(handle: Handle) -> str | None:
    volume = Volume.of_handle(handle)
    if not volume.namespace.alive:
        return None
    found = volume.try_to_write()
    return None if found == "ok" else f"a write to {volume.mount} fails: {found}"


def _remove_image(handle: Handle) -> None:
    remove_image(Path(handle["image"]))


def _image_left(handle: Handle) -> str | None:
    # Its loop device goes with the last process that sees the mount, a moment later.
    image = Path(handle["image"])
    if not within(_DETACHED_WITHIN_S, lambda: not loops_of(image)):
        return f"{', '.join(loops_of(image))} still holds {image}"
    return f"{image} is still there" if image.exists() else None


VERBS = {
    "remount": UndoVerb(_remount, _takes_no_writes),
    "remove-image": UndoVerb(_remove_image, _image_left),
}
