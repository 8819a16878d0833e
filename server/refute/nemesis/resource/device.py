"""Which device holds a directory, and what processes have read from and written to devices."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from refute.nemesis.errors import NemesisError


def device_of(folder: Path) -> str:
    """`major:minor` of the whole disk that holds a directory. Raises NemesisError where it is on no disk."""
    while not folder.exists():
        folder = folder.parent
    number = folder.stat().st_dev
    entry = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    if not entry.exists():
        raise NemesisError("it is on a file system without a block device of its own", where=folder)
    if (entry / "partition").exists():
        entry = entry.resolve().parent
    return (entry / "dev").read_text().strip()


def moved_bytes(pids: Iterable[int]) -> int | None:
    """Bytes that these processes had read from and written to devices; None where none is left."""
    found = [bytes_ for bytes_ in map(_moved_by, pids) if bytes_ is not None]
    return sum(found) if found else None


def _moved_by(pid: int) -> int | None:
    with suppress(OSError, ValueError):
        fields = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
        return int(fields["read_bytes"]) + int(fields["write_bytes"])
    return None
