"""Reads the files of a folder that is no repository, or whose history cannot be read."""

from __future__ import annotations

import hashlib
import os
import stat
from collections import Counter
from pathlib import Path

from refute.repository.source_file import (
    MOST_BYTES_A_FILE,
    MOST_BYTES_IN_ALL,
    MOST_FILES,
    SourceFile,
    shown_path,
)

_SKIPPED_FOLDERS = frozenset({".git", ".hg", ".svn", "node_modules", ".venv", "__pycache__"})


def files_of_folder(root: Path) -> tuple[list[SourceFile], dict[str, int]]:
    """The regular files below `root`, and how many of what kind were left out."""
    files: list[SourceFile] = []
    left_out: Counter[str] = Counter()
    total = 0
    for directory, folders, names in os.walk(root, followlinks=False):
        left_out["skipped folders"] += sum(name in _SKIPPED_FOLDERS for name in folders)
        links = [name for name in folders if (Path(directory) / name).is_symlink()]
        left_out["symbolic links"] += len(links)
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS and name not in links)
        for name in sorted(names):
            place = Path(directory) / name
            if place.is_symlink():
                left_out["symbolic links"] += 1
                continue
            if len(files) >= MOST_FILES or total > MOST_BYTES_IN_ALL:
                left_out["files beyond the limit"] += 1
                continue
            data = read_plainly(place)
            if data is None:
                left_out["unreadable or over 1.5 MB"] += 1
                continue
            total += len(data)
            blob = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
            on_disk = place.relative_to(root).as_posix()
            path = shown_path(os.fsencode(on_disk))
            files.append(SourceFile(path, blob, len(data), on_disk=on_disk if on_disk != path else ""))
    return files, {reason: count for reason, count in left_out.items() if count}


def read_plainly(place: Path) -> bytes | None:
    """The bytes of a regular file of bearable size, else None; a link put there meanwhile is not followed."""
    try:
        handle = os.open(place, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return None
    with os.fdopen(handle, "rb") as opened:
        about = os.fstat(opened.fileno())
        if not stat.S_ISREG(about.st_mode) or about.st_size > MOST_BYTES_A_FILE:
            return None
        return opened.read(MOST_BYTES_A_FILE + 1)
