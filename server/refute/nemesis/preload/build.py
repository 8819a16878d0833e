"""The preload shims as libraries, built by this machine's C compiler, and where a node can load them from."""

from __future__ import annotations

import shutil
from pathlib import Path

from refute.nemesis.compiled import built_library
from refute.nemesis.errors import NemesisError

SOURCE = Path(__file__).with_name("shim.c")
FILE_CALLS_SOURCE = Path(__file__).with_name("file_calls.c")


def built_shim() -> Path:
    """The shim of clocks as a shared library. Raises FaultUnavailableError where it cannot be built."""
    return built_library(SOURCE, "the preload shim", "-ldl", "-lpthread")


def built_file_shim() -> Path:
    """The shim of writes and syncs as a shared library. Raises FaultUnavailableError as above."""
    return built_library(FILE_CALLS_SOURCE, "the preload shim of files", "-ldl", "-lpthread")


def loadable(library: Path, folder: Path) -> Path:
    """Where a node can load a library from, whatever user it becomes; the loader splits names at blanks.

    It is copied into the folder where that has a fit name. Raises NemesisError where there is no place.
    """
    for place in (folder / library.name, library):
        if " " not in str(place) and ":" not in str(place):
            if place != library:
                shutil.copyfile(library, place)
                place.chmod(0o755)
            return place
    raise NemesisError(
        "the loader takes no library from a folder with a blank or a colon in its name",
        where=folder,
        hint="put the session elsewhere, or set REFUTE_CACHE",
    )
