"""Whole files on disk: written at once or not at all, read with a clear error, and their digests."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
import os
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any

from refute.session.errors import SessionError

_MOST_A_SECOND = 1000


def write_text(path: Path, text: str) -> None:
    """Replaces the file in one step, so that a reader or a crash sees the old text or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(path)
    except OSError as error:
        raise SessionError(f"cannot write: {error.strerror}", where=path) from None


def fresh_folder(parent: Path) -> Path:
    """Makes a folder in `parent` that is named by the time in UTC, to the second, and is nobody else's.

    Raises SessionError where that second has a thousand of them, OSError where none can be made.
    """
    stamp = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%SZ")
    parent.mkdir(parents=True, exist_ok=True)
    for number in range(_MOST_A_SECOND):
        folder = parent / (f"{stamp}-{number}" if number else stamp)
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise SessionError(f"there are {_MOST_A_SECOND} folders of this second already", where=parent)


def write_json(path: Path, document: Any) -> None:
    """Replaces the file with the document as indented JSON."""
    write_text(path, json.dumps(plain(document), indent=2, ensure_ascii=False, default=str) + "\n")


def read_json(path: Path) -> Any:
    """The document in the file. Raises SessionError where it is missing or damaged."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SessionError(f"cannot read: {error.strerror}", where=path) from None
    except ValueError as error:
        raise SessionError(f"not JSON: {error}", where=path) from None


def digest(path: Path) -> str:
    """The SHA-256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def plain(value: Any) -> Any:
    """The value as JSON knows it: dataclasses as objects, enumerations as their values, tuples as lists."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    return value
