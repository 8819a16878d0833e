"""Mounts a file system in user space and serves it until it is unmounted.

`python -m refute.nemesis.storage.user_space BACKING MOUNT HOLDER [OPTION...]` returns when it is mounted; a
process of its own serves it then, until the process HOLDER ends. `BACKING` holds what is on the disk; where
another still serves that, it is waited for.
"""

from __future__ import annotations

import fcntl
import os
import resource
import select
import signal
import sys
import threading
from pathlib import Path

from refute.nemesis.storage.user_space.disk import Disk
from refute.nemesis.storage.user_space.file_system import FileSystem


def main(arguments: list[str]) -> int:
    """Mount and serve. Says on standard error why it cannot."""
    backing, mount, holder, *options = arguments
    try:
        import mfusepy
    except (ImportError, OSError) as error:  # OSError: the package is there, but not libfuse
        print(error, file=sys.stderr)  # noqa: T201
        return 69
    Path(backing).mkdir(parents=True, exist_ok=True)
    lock = os.open(Path(backing) / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)  # until the last of this process and its child has ended
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    disk = Disk(Path(backing), os.getuid(), os.getgid())
    try:
        watched = os.pidfd_open(int(holder))
    except ProcessLookupError:
        print("the namespace is gone", file=sys.stderr)  # noqa: T201
        return 69
    try:
        mfusepy.FUSE(
            FileSystem(disk, mfusepy.fuse_get_context, lambda: _end_with(watched)),
            mount,
            foreground=False,
            nothreads=True,
            fsname="refute",
            subtype="refute",
            **dict.fromkeys(("default_permissions", *options), True),
        )
    except RuntimeError as error:
        print(f"libfuse cannot mount it: error {error}", file=sys.stderr)  # noqa: T201
        return 69
    return 0


def _end_with(watched: int) -> None:
    # Then nobody is left to unmount it: it goes with the last process that sees it, and we are one of these.
    def watch() -> None:
        select.select([watched], [], [])
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=watch, name="holder", daemon=True).start()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
