"""What damage does to one file: a torn tail, flipped bits, a loss, an earlier version; how it is proven."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

from refute.nemesis.errors import NemesisError
from refute.plan.units import byte_count

GONE = "gone"
_CHUNK = 1 << 20
_SECOND_NS = 1_000_000_000


def digest_of(path: Path) -> str:
    """SHA-256 of a file, or `gone`."""
    found = hashlib.sha256()
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return GONE
    with os.fdopen(handle, "rb") as file:
        while chunk := file.read(_CHUNK):
            found.update(chunk)
    return found.hexdigest()


def copy_of(path: Path, into: Path) -> None:
    """Copy what a file holds."""
    into.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as source, into.open("wb") as target:
        while chunk := source.read(_CHUNK):
            target.write(chunk)


def damage(
    path: Path, kind: str, parameters: Mapping[str, Any], rng: Random, earlier: Path | None
) -> dict[str, Any]:
    """Damage a file, and have it on the disk when the call returns; what was done exactly.

    Raises NemesisError where there is nothing to damage.
    """
    match kind:
        case "torn-tail":
            done = _tear(path, byte_count(parameters.get("bytes", "100B")))
        case "bit-flip":
            done = _flip(path, int(parameters.get("count", 1)), rng)
        case "lost-file":
            path.unlink()
            done = {}
        case _:
            assert earlier is not None, "an earlier version was looked for"
            put_back(earlier, path)
            done = {"bytes": path.lstat().st_size}
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return done


def put_back(copy: Path, path: Path) -> None:
    """Give a file the content of a copy; owner and mode stay where it is there."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "wb") as target, copy.open("rb") as source:
        while chunk := source.read(_CHUNK):
            target.write(chunk)
        target.flush()
        os.fsync(target.fileno())


def mark_unread(path: Path) -> int | None:
    """Set a file's time of access before that of its change, so that the next read shows; that time (ns).

    None where there is no file. A file system that is mounted with noatime never shows a read.
    """
    try:
        changed_ns = path.lstat().st_mtime_ns
        os.utime(path, ns=(changed_ns - _SECOND_NS, changed_ns), follow_symlinks=False)
        return path.lstat().st_atime_ns
    except FileNotFoundError:
        return None


def was_read(path: Path, unread_ns: int | None) -> bool:
    """Whether a file was read since `mark_unread`; one that was gone, whether it is there again."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return unread_ns is None or status.st_atime_ns > unread_ns


def _tear(path: Path, count: int) -> dict[str, Any]:
    handle = _open(path)
    try:
        size = os.fstat(handle).st_size
        os.ftruncate(handle, max(0, size - count))
        os.fsync(handle)
    finally:
        os.close(handle)
    return {"from_bytes": size, "to_bytes": max(0, size - count)}


def _flip(path: Path, count: int, rng: Random) -> dict[str, Any]:
    handle = _open(path)
    try:
        size = os.fstat(handle).st_size
        bits = sorted(rng.sample(range(size * 8), min(count, size * 8)))
        for bit in bits:
            place, mask = bit // 8, 1 << bit % 8
            os.pwrite(handle, bytes([os.pread(handle, 1, place)[0] ^ mask]), place)
        os.fsync(handle)
    finally:
        os.close(handle)
    return {"bits": bits[:20]}


def _open(path: Path) -> int:
    handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    if os.fstat(handle).st_size == 0:
        os.close(handle)
        raise NemesisError(f"{path.name} is empty: there is nothing to damage")
    return handle
