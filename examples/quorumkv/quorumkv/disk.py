"""Small durable files: a replacement is complete and on disk, or it did not happen."""

from __future__ import annotations

import fcntl
import json
import os
from pathlib import Path
from typing import Any


class DiskError(Exception):
    """The data directory cannot be used as it is."""


def sync_directory(path: Path) -> None:
    """A rename is durable only once its directory is."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_durably(path: Path, content: bytes) -> None:
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("wb") as out:
        out.write(content)
        out.flush()
        os.fsync(out.fileno())
    temporary.replace(path)
    sync_directory(path.parent)


def read_json(path: Path) -> Any:
    """What the file holds, or None if there is no such file."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise DiskError(f"{path} is not readable: {error}") from error


def claim_directory(path: Path) -> int:
    """Create the data directory if needed and lock it for this process; returns the lock's handle."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        handle = os.open(path / "lock", os.O_CREAT | os.O_RDWR, 0o644)
    except OSError as error:
        raise DiskError(f"cannot use data directory {path}: {error.strerror}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise DiskError(f"data directory {path} is in use by another process") from error
    return handle


class Ballot:
    """The current term and whom this node voted for in it; on disk before anybody is told."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "ballot.json"
        saved = read_json(self._path) or {"term": 0, "voted_for": None}
        self.term: int = saved["term"]
        self.voted_for: str | None = saved["voted_for"]

    def save(self, term: int, voted_for: str | None) -> None:
        replace_durably(self._path, json.dumps({"term": term, "voted_for": voted_for}).encode())
        self.term, self.voted_for = term, voted_for
