"""Processes of ours that use CPU or disk: `python -m refute.nemesis.resource.noise LOAD FILE`."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

_CHUNK = 1 << 20
_FILE_BYTES = 64 << 20


def main(load: str, file: Path) -> None:
    """Make the load until somebody ends us, or whoever started us is gone."""
    parent = os.getppid()
    if load == "disk":
        _write(file, parent)
    while os.getppid() == parent:
        sum(range(1_000_000))


def _write(file: Path, parent: int) -> None:
    chunk = os.urandom(_CHUNK)
    with file.open("wb", buffering=0) as output, suppress(OSError):
        while os.getppid() == parent:
            output.write(chunk)
            os.fsync(output.fileno())
            if output.tell() >= _FILE_BYTES:
                output.seek(0)
    file.unlink(missing_ok=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
