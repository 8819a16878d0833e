"""A volume in user space: a process of ours serves it through /dev/fuse, so that no root is needed."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from refute.interpreter import python
from refute.nemesis.errors import FaultUnavailableError, NemesisError
from refute.nemesis.ledger import MARK
from refute.nemesis.marked import NAME, end_marked
from refute.nemesis.storage.namespace import Namespace
from refute.nemesis.storage.user_space.file_system import ASKED, CUT
from refute.nemesis.undo import Undo
from refute.nemesis.waiting import within

_DEVICE = "/dev/fuse"
_RELEASED_WITHIN_S = 10.0


@dataclass(frozen=True, slots=True)
class UserSpace:
    """What is on its disk is in a folder; the process that serves it carries the mark, `RUN/VOLUME`."""

    name: ClassVar[str] = "fuse"
    needs_root: ClassVar[bool] = False

    backing: Path
    mark: str

    @classmethod
    def at(cls, folder: Path, name: str, mark: str) -> Self:
        """`NAME.disk` in the folder."""
        return cls(folder / f"{name}.disk", mark)

    @classmethod
    def of_handle(cls, handle: Mapping[str, Any]) -> Self:
        """The one that a handle names."""
        return cls(Path(handle["backing"]), handle["mark"])

    def handle(self) -> Mapping[str, Any]:
        """Its folder and its mark."""
        return {"backing": str(self.backing), "mark": self.mark}

    def undos(self) -> Sequence[Undo]:
        """Who serves it is ended before its folder is removed."""
        return (Undo("remove-copies", {"folder": str(self.backing)}), end_marked(self.mark, []))

    def make(self) -> None:
        """An empty folder."""
        if not os.access(_DEVICE, os.R_OK | os.W_OK):
            why = "may not be opened by this user" if Path(_DEVICE).exists() else "is not there"
            raise FaultUnavailableError(f"{_DEVICE} {why}")
        self.backing.mkdir(parents=True)

    def attach(self, namespace: Namespace, mount: Path) -> None:
        """Start the process that serves it; returns when it is mounted.

        It ends with the process that holds the namespace, whoever started it.
        """
        shared = () if namespace.own_users else ("allow_other",)  # nodes may run as another user
        namespace.run(
            *python("-m", "refute.nemesis.storage.user_space"),
            *(str(self.backing), str(mount), str(namespace.holder.pid), *shared),
            environment={MARK: self.mark.partition("/")[0], NAME: self.mark},
        )

    def wait_until_released(self) -> None:
        """Until the process that served it has written everything and ended."""
        if not within(_RELEASED_WITHIN_S, lambda: not _is_locked(self.backing / "lock")):
            raise NemesisError(f"{self.backing} is still served")

    def shut_down(self, root: Path) -> None:
        """Ask it to lose what it has not written."""
        try:
            os.setxattr(root, CUT, b"")
        except OSError as error:
            raise NemesisError(f"the file system cannot be shut down: {error.strerror}") from error

    def counts(self, root: Path) -> Mapping[str, int]:
        """Requests, and bytes and names that were dropped."""
        with suppress(OSError, ValueError):
            return dict(json.loads(os.getxattr(root, ASKED)))
        return {}


def _is_locked(lock: Path) -> bool:
    try:
        handle = os.open(lock, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False
