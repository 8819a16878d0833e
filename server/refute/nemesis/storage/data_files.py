"""The files in a node's data directory, by their relative names; nothing outside of it is ever touched."""

from __future__ import annotations

import os
import stat
from fnmatch import fnmatch
from pathlib import Path

from refute.nemesis.errors import FaultInputError, NemesisError
from refute.nemesis.storage.volumes import Volumes
from refute.system.cluster import Cluster

_SHOWN = 8


class DataFiles:
    """Finds files of nodes, on their volumes or where they are without one."""

    def __init__(self, cluster: Cluster, volumes: Volumes | None) -> None:
        self._cluster = cluster
        self._volumes = volumes

    def as_seen(self, node: str) -> Path:
        """The data directory as the node sees it."""
        return self._cluster.data_directory(node)

    def folder(self, node: str) -> Path:
        """The data directory as this process reaches it. Never resolve it: it may be in a namespace."""
        seen = self.as_seen(node)
        return self._volumes.of[node].namespace.outside(seen) if self._volumes else seen

    def names(self, node: str) -> list[str]:
        """The regular files in the data directory, newest first, relative to it."""
        return regular_files(self.folder(node))

    def newest(self, node: str, pattern: str) -> str:
        """The newest file whose relative path, or whose name, matches a pattern such as `wal/*.log`.

        Raises FaultInputError for a pattern that leads outside, NemesisError where none matches.
        """
        if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
            raise FaultInputError(f"the pattern {pattern!r} leads out of the data directory", where=node)
        names = self.names(node)
        for name in names:
            if fnmatch(name, pattern) or fnmatch(Path(name).name, pattern):
                return name
        there = ", ".join(names[:_SHOWN]) or "none"
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        raise NemesisError(
            f"no file in its data directory matches {pattern!r}; there are: {there}{more}", where=node
        )


def regular_files(folder: Path) -> list[str]:
    """The regular files below a folder, newest first, as paths relative to it.

    Directories that are symlinks are not entered, and files that are symlinks are left out, so that none is
    outside.
    """
    found: list[tuple[float, str]] = []
    for parent, _, files in os.walk(folder):
        for name in files:
            path = Path(parent, name)
            try:
                status = path.lstat()
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode):
                found.append((status.st_mtime, path.relative_to(folder).as_posix()))
    return [name for _, name in sorted(found, reverse=True)]
