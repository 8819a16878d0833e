"""The file system of one node, mounted in a namespace of ours."""

from __future__ import annotations

import ctypes
import errno
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from refute.nemesis.errors import FaultUnavailableError, NemesisError
from refute.nemesis.storage.media import MEDIA
from refute.nemesis.storage.medium import Medium
from refute.nemesis.storage.namespace import Namespace
from refute.system.process_table import ProcessId

_PROBE_BYTES = 4096
_BUSY_FOR_S = 10.0
_SERVED_BY_NOBODY = (errno.ENOTCONN, errno.ECONNABORTED)  # it is mounted, but who served it is gone
_SYNCED, _UNSYNCED = "synced", "unsynced"


@dataclass(frozen=True, slots=True)
class Volume:
    """A mounted file system in a namespace of ours.

    The node's data are in `data`; beside them, in `own`, is what we write to find out what becomes of it.
    """

    namespace: Namespace
    mount: Path
    medium: Medium

    @classmethod
    def create(cls, namespace: Namespace, mount: Path, medium: Medium) -> Self:
        """Make it, mount it. Raises FaultUnavailableError where this machine cannot."""
        volume = cls(namespace, mount, medium)
        try:
            mount.mkdir(parents=True, exist_ok=True)
            medium.make()
            volume.attach()
            for folder in (volume.data, volume.own):
                namespace.outside(folder).mkdir()
            volume.write_unsynced(b"")
            volume.write_synced(b"")
            _sync_folder(volume.root)
        except (NemesisError, OSError) as error:
            raise FaultUnavailableError(f"no file system for {mount}: {error}") from error
        return volume

    @classmethod
    def of_handle(cls, handle: Mapping[str, Any]) -> Self:
        """The one that `handle` in a ledger names."""
        namespace = Namespace(ProcessId(*handle["holder"]), handle["own_users"])
        medium = MEDIA[handle["medium"]].of_handle(handle)
        return cls(namespace, Path(handle["mount"]), medium)

    def handle(self) -> dict[str, Any]:
        """As it stands in the ledger."""
        holder = self.namespace.holder
        return {
            "holder": [holder.pid, holder.started],
            "own_users": self.namespace.own_users,
            "mount": str(self.mount),
            "medium": self.medium.name,
            **self.medium.handle(),
        }

    @property
    def data(self) -> Path:
        """The node's data directory, as the node sees it."""
        return self.mount / "data"

    @property
    def own(self) -> Path:
        """The directory of our probes."""
        return self.mount / "refute"

    @property
    def marker(self) -> Path:
        """A file that is there exactly while the volume is mounted."""
        return self.own / _SYNCED

    @property
    def root(self) -> Path:
        """The mount point, as seen from outside the namespace."""
        return self.namespace.outside(self.mount)

    def attach(self) -> None:
        """Mount it; a journal that is not clean is replayed. Raises NemesisError."""
        self.medium.attach(self.namespace, self.mount)

    def detach(self) -> None:
        """Unmount it, and see go what carried it. Raises NemesisError where somebody holds it."""
        deadline = time.monotonic() + _BUSY_FOR_S
        while self.is_mounted():
            try:
                self.namespace.run("umount", str(self.mount))
            except NemesisError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
        self.medium.wait_until_released()

    def is_mounted(self) -> bool:
        """Whether the mount point is one."""
        try:
            return self.root.stat().st_dev != self.root.parent.stat().st_dev
        except OSError as error:
            return error.errno in _SERVED_BY_NOBODY

    def device(self) -> int:
        """The number of its device."""
        return self.root.stat().st_dev

    def shut_down(self) -> None:
        """Drop everything that is not on the disk yet, at once; from now on every write fails.

        Raises NemesisError.
        """
        self.medium.shut_down(self.root)

    def counts(self) -> Mapping[str, int]:
        """What its medium has counted since it was mounted; empty where it counts nothing."""
        return self.medium.counts(self.root)

    def sync(self) -> None:
        """Wait until everything that was written to it is on the disk."""
        handle = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            if ctypes.CDLL(None, use_errno=True).syncfs(handle) != 0:
                raise OSError(ctypes.get_errno(), "syncfs failed")
        finally:
            os.close(handle)

    def write_synced(self, token: bytes) -> None:
        """Write a probe and sync it: in place, so that no other file's data are written with it."""
        self._write_in_place(_SYNCED, token, sync=True)

    def write_unsynced(self, token: bytes) -> None:
        """Write a probe as the careless do: without a sync."""
        self._write_in_place(_UNSYNCED, token, sync=False)

    def what_is_there(self, token: bytes) -> str:
        """What became of the two probes: `synced probe there, unsynced probe gone`."""
        synced, unsynced = (_holds(self._probe(name), token) for name in (_SYNCED, _UNSYNCED))
        return f"synced probe {synced}, unsynced probe {unsynced}"

    def try_to_write(self, more_than: int = 0) -> str:
        """`ok`, or the name of the error that a write of a little more than so many bytes meets."""
        probe = self._probe("write")
        try:
            handle = os.open(probe, os.O_WRONLY | os.O_CREAT, 0o600)
            try:
                os.posix_fallocate(handle, 0, more_than + 16 * _PROBE_BYTES)
                os.pwrite(handle, b"." * _PROBE_BYTES, 0)
            finally:
                os.close(handle)
        except OSError as error:
            return errno.errorcode.get(error.errno or 0, str(error.errno))
        finally:
            with suppress(OSError):
                probe.unlink()
        return "ok"

    def broken(self) -> str | None:
        """The error with which it refuses writes until it is mounted again; a full one is not broken."""
        found = self.try_to_write()
        return None if found in ("ok", "ENOSPC") else found

    def free_bytes(self) -> int:
        """What can still be written."""
        found = os.statvfs(self.root)
        return found.f_bavail * found.f_frsize

    def _write_in_place(self, name: str, token: bytes, *, sync: bool) -> None:
        # What is there already needs no space, so that it can be written on a full disk too.
        handle = os.open(self._probe(name), os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.pwrite(handle, token.ljust(_PROBE_BYTES, b"."), 0)
            if sync:
                os.fdatasync(handle)
        finally:
            os.close(handle)

    def _probe(self, name: str) -> Path:
        return self.namespace.outside(self.own / name)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _holds(path: Path, token: bytes) -> str:
    try:
        return "there" if path.read_bytes().startswith(token) else "gone"
    except FileNotFoundError:
        return "gone"
    except OSError as error:
        return f"unreadable ({error.strerror})"
