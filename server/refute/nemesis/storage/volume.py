"""The file system of one node: ext4 in an image file, or memory where the user is not root."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from refute.nemesis.errors import FaultUnavailableError, NemesisError
from refute.nemesis.storage.namespace import Namespace
from refute.nemesis.waiting import within
from refute.system.process_table import ProcessId

IMAGE_BYTES = 1 << 30
MEMORY_BYTES = 256 << 20

_SHUTDOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN, of linux/fs/ext4/ext4.h
_NO_LOG_FLUSH = (2).to_bytes(4, "little")
_PROBE_BYTES = 4096
_BUSY_FOR_S = 10.0
_SYNCED, _UNSYNCED = "synced", "unsynced"


@dataclass(frozen=True, slots=True)
class Volume:
    """A mounted file system in a namespace of ours; `image` is None where it is memory.

    The node's data are in `data`; beside them, in `own`, is what we write to find out what becomes of it.
    """

    namespace: Namespace
    mount: Path
    image: Path | None

    @classmethod
    def create(cls, namespace: Namespace, mount: Path, image: Path | None) -> Self:
        """Make it, mount it. Raises FaultUnavailableError where this machine cannot."""
        volume = cls(namespace, mount, image)
        try:
            mount.mkdir(parents=True, exist_ok=True)
            if image is not None:
                image.parent.mkdir(parents=True, exist_ok=True)
                _make_image(image)
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
        image = handle["image"]
        return cls(namespace, Path(handle["mount"]), None if image is None else Path(image))

    def handle(self) -> dict[str, Any]:
        """As it stands in the ledger."""
        holder = self.namespace.holder
        return {
            "holder": [holder.pid, holder.started],
            "own_users": self.namespace.own_users,
            "mount": str(self.mount),
            "image": None if self.image is None else str(self.image),
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
        if self.image is None:
            what = ("-t", "tmpfs", "-o", f"size={MEMORY_BYTES},mode=700", "refute")
        else:
            what = ("-t", "ext4", "-o", "loop,errors=remount-ro", str(self.image))
        self.namespace.run("mount", *what, str(self.mount))

    def detach(self) -> None:
        """Unmount it, and see its loop device go. Raises NemesisError where somebody holds it."""
        deadline = time.monotonic() + _BUSY_FOR_S
        while self.is_mounted():
            try:
                self.namespace.run("umount", str(self.mount))
            except NemesisError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
        if self.image is not None:
            wait_until_detached(self.image)

    def is_mounted(self) -> bool:
        """Whether the mount point is one."""
        try:
            return self.root.stat().st_dev != self.root.parent.stat().st_dev
        except OSError:
            return False

    def device(self) -> int:
        """The number of its device."""
        return self.root.stat().st_dev

    def shut_down(self) -> None:
        """Drop everything that is not on the disk yet, at once; from now on every write fails.

        The shutdown ioctl of ext4, without a flush of its journal. Raises NemesisError.
        """
        handle = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(handle, _SHUTDOWN, _NO_LOG_FLUSH)
        except OSError as error:
            raise NemesisError(f"the file system cannot be shut down: {error.strerror}") from error
        finally:
            os.close(handle)

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


def loops_of(image: Path) -> list[str]:
    """The loop devices that are backed by this file."""
    found = []
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        with suppress(OSError):
            if backing.read_text().strip().removesuffix(" (deleted)") == str(image):
                found.append(backing.parent.parent.name)
    return found


def wait_until_detached(image: Path) -> None:
    """Until no loop device is backed by this file. Raises NemesisError."""
    if not within(_BUSY_FOR_S, lambda: not loops_of(image)):
        raise NemesisError(f"{', '.join(loops_of(image))} still holds {image}")


def _make_image(image: Path) -> None:
    maker = shutil.which("mkfs.ext4", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if maker is None:
        raise FaultUnavailableError("mkfs.ext4 is not installed", hint="it is in the package e2fsprogs")
    with image.open("xb") as file:
        file.truncate(IMAGE_BYTES)
    options = "lazy_itable_init=1,lazy_journal_init=1,nodiscard"
    done = subprocess.run(
        [maker, "-q", "-F", "-m", "0", "-E", options, str(image)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise NemesisError(f"mkfs.ext4: {done.stderr.strip()[-200:]}")


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
