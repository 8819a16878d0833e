"""Undo verbs of the storage plane."""

from __future__ import annotations

from pathlib import Path

from refute.nemesis.errors import NemesisError
from refute.nemesis.preload.file_calls_page import FileCallsPage
from refute.nemesis.process.undo import VERBS as PROCESS_VERBS
from refute.nemesis.storage.damaged_files import remove_copies
from refute.nemesis.storage.ext4_image import loops_of, remove_image
from refute.nemesis.storage.refused_writes import empty, filler_of
from refute.nemesis.storage.tracer import detach, still_attached
from refute.nemesis.storage.volume import Volume
from refute.nemesis.undo import Handle, UndoVerb
from refute.nemesis.waiting import within

_DETACHED_WITHIN_S = 5.0
_HOLDER_ENDS_WITHIN_S = 1.0


def _remount(handle: Handle) -> None:
    volume = Volume.of_handle(handle)
    if not volume.namespace.alive or not volume.broken():
        return
    if handle["node"]:
        PROCESS_VERBS["end"].undo({"leader": handle["node"], "members": []})
    try:
        volume.detach()
        volume.attach()
    except NemesisError:
        if not _goes(volume):
            raise


def _takes_no_writes(handle: Handle) -> str | None:
    volume = Volume.of_handle(handle)
    if not volume.namespace.alive:
        return None
    found = volume.broken()
    return f"a write to {volume.mount} fails: {found}" if found and not _goes(volume) else None


def _goes(volume: Volume) -> bool:
    # The holder ends with its owner, maybe just now: its namespace goes, and the mounts in it do. What it
    # sees of files is gone a moment before it is.
    return within(_HOLDER_ENDS_WITHIN_S, lambda: not volume.namespace.alive)


def _remove_image(handle: Handle) -> None:
    remove_image(Path(handle["image"]))


def _image_left(handle: Handle) -> str | None:
    # Its loop device goes with the last process that sees the mount, a moment later.
    image = Path(handle["image"])
    if not within(_DETACHED_WITHIN_S, lambda: not loops_of(image)):
        return f"{', '.join(loops_of(image))} still holds {image}"
    return f"{image} is still there" if image.exists() else None


def _empty(handle: Handle) -> None:
    volume = Volume.of_handle(handle)
    if volume.namespace.alive:
        empty(volume)


def _still_full(handle: Handle) -> str | None:
    volume = Volume.of_handle(handle)
    if volume.namespace.alive and filler_of(volume).exists():
        return f"{volume.mount} is still filled"
    return None


def _let_through(handle: Handle) -> None:
    page = FileCallsPage(Path(handle["page"]))
    if page.path.exists():  # with the directory of the run went the page, and its nodes end with the run
        page.let_through()


def _still_struck(handle: Handle) -> str | None:
    page = FileCallsPage(Path(handle["page"]))
    on = page.path.exists() and page.setting().on
    return f"calls of {handle['node']} are still struck" if on else None


VERBS = {
    "detach": UndoVerb(
        lambda handle: detach(handle["mark"]),
        lambda handle: still_attached(handle["mark"]),
    ),
    "empty": UndoVerb(_empty, _still_full),
    "let-through": UndoVerb(_let_through, _still_struck),
    "remount": UndoVerb(_remount, _takes_no_writes),
    "remove-copies": UndoVerb(
        lambda handle: remove_copies(Path(handle["folder"])),
        lambda handle: f"{handle['folder']} is still there" if Path(handle["folder"]).exists() else None,
    ),
    "remove-image": UndoVerb(_remove_image, _image_left),
}
