"""The requests of the kernel, answered from a `Disk`; each method is one of libfuse's operations."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from refute.nemesis.storage.user_space.content import Content
from refute.nemesis.storage.user_space.disk import ORPHAN, ROOT, Disk, Inode
from refute.nemesis.storage.user_space.status import LONGEST_NAME, status_of, status_of_disk

ASKED = "user.refute"
"""Extended attribute of the root: what was counted, as JSON."""
CUT = "user.refute.cut"
"""Extended attribute of the root; setting it is the loss of power."""

_NOW, _KEEP = (1 << 30) - 1, (1 << 30) - 2  # UTIME_NOW and UTIME_OMIT, of linux/stat.h
_IN_PLACE = 0x01  # FALLOC_FL_KEEP_SIZE, of linux/falloc.h


@dataclass(frozen=True, slots=True)
class _Handle:
    inode: Inode
    synchronous: bool


class FileSystem:
    """Operations for one `Disk`.

    `caller` tells uid and gid of whoever asks; `mounted` is called in the process that serves the requests,
    before the first of them.
    """

    use_ns = True

    def __init__(
        self, disk: Disk, caller: Callable[[], tuple[int, int, int]], mounted: Callable[[], None]
    ) -> None:
        self._disk = disk
        self._caller = caller
        self._mounted = mounted
        self._open: dict[int, _Handle] = {}
        self._handles = 0

    # Names

    def getattr(self, path: str, handle: int | None = None) -> dict[str, Any]:
        """Status; that of the root can be had without power too, so that the mount is seen."""
        if path != "/":
            self._powered()
        inode = self._open[handle].inode if handle in self._open else self._at(path)
        return status_of(inode, self._folders_in(inode))

    def readdir(self, path: str, handle: int) -> list[tuple[str, dict[str, int], int]]:  # noqa: ARG002
        """All names at once."""
        self._powered()
        entries = self._at(path).entries.items()
        listed = [
            (name, {"st_ino": number, "st_mode": self._disk.inodes[number].mode}, 0)
            for name, number in entries
            if not name.startswith(ORPHAN)
        ]
        return [(".", {}, 0), ("..", {}, 0), *listed]

    def mknod(self, path: str, mode: int, device: int) -> int:
        """A file, fifo or socket."""
        self._make(path, mode, device=device)
        return 0

    def mkdir(self, path: str, mode: int) -> int:
        """A directory."""
        self._make(path, stat.S_IFDIR | mode)
        return 0

    def symlink(self, path: str, target: str) -> int:
        """A symlink at `path`."""
        self._make(path, stat.S_IFLNK | 0o777, target=target)
        return 0

    def link(self, path: str, there: str) -> int:
        """One more name of what is there."""
        self._powered()
        inode = self._at(there)
        parent, name = self._parent(path)
        self._disk.enter(parent, name, inode)
        return 0

    def readlink(self, path: str) -> str:
        """Where a symlink leads."""
        self._powered()
        return self._at(path).target

    def unlink(self, path: str) -> int:
        """Take a name away."""
        self._powered()
        parent, name = self._parent(path)
        self._at(path)
        self._disk.leave(parent, name)
        return 0

    def rmdir(self, path: str) -> int:
        """Remove an empty directory."""
        self._powered()
        if any(not name.startswith(ORPHAN) for name in self._at(path).entries):
            raise OSError(errno.ENOTEMPTY, path)
        parent, name = self._parent(path)
        self._disk.leave(parent, name)
        return 0

    def rename(self, old: str, new: str) -> int:
        """Rename; what has the new name loses it."""
        self._powered()
        inode = self._at(old)
        (parent, name), (its_parent, its_name) = self._parent(new), self._parent(old)
        if name in parent.entries:
            there = self._disk.inodes[parent.entries[name]]
            if there is inode:
                return 0
            if there.is_folder and any(not each.startswith(ORPHAN) for each in there.entries):
                raise OSError(errno.ENOTEMPTY, new)
            self._disk.leave(parent, name)
            self._disk.data_first(inode)
        self._disk.enter(parent, name, inode)
        self._disk.leave(its_parent, its_name)
        return 0

    # Status

    def chmod(self, path: str, mode: int) -> int:
        """Change the mode."""
        self._powered()
        inode = self._at(path)
        inode.mode = stat.S_IFMT(inode.mode) | stat.S_IMODE(mode)
        self._disk.change(inode)
        return 0

    def chown(self, path: str, uid: int, gid: int) -> int:
        """Change the owner; -1 keeps it."""
        self._powered()
        inode = self._at(path)
        inode.uid, inode.gid = inode.uid if uid == -1 else uid, inode.gid if gid == -1 else gid
        self._disk.change(inode)
        return 0

    def utimens(self, path: str, times: tuple[int, int] | None = None) -> int:
        """Set the times of access and change, in ns."""
        self._powered()
        inode = self._at(path)
        self._disk.touch(inode)
        now = inode.ctime
        atime, mtime = times or (_NOW, _NOW)
        inode.atime = {_NOW: now, _KEEP: inode.atime}.get(atime, atime)
        inode.mtime = {_NOW: now, _KEEP: inode.mtime}.get(mtime, mtime)
        return 0

    def statfs(self, path: str) -> dict[str, int]:  # noqa: ARG002
        """Sizes of the disk."""
        return status_of_disk(self._disk.free_pages(), len(self._disk.inodes))

    # Content

    def create(self, path: str, mode: int, flags: int) -> int:
        """Make a file and open it."""
        return self._opened(self._make(path, stat.S_IFREG | mode), flags)

    def open(self, path: str, flags: int) -> int:
        """Open a file."""
        self._powered()
        inode = self._at(path)
        if flags & os.O_TRUNC and inode.content is not None:
            self._truncate(inode, 0)
        return self._opened(inode, flags)

    def read(self, path: str, size: int, offset: int, handle: int) -> bytes:  # noqa: ARG002
        """Read."""
        self._powered()
        return _content(self._open[handle].inode).read(offset, size)

    def write(self, path: str, data: bytes, offset: int, handle: int) -> int:  # noqa: ARG002
        """Write; into memory, unless the file is open for synchronous writes."""
        now_s = self._powered()
        held = self._open[handle]
        content = _content(held.inode)
        self._need(content.new_pages(offset, len(data)))
        content.write(offset, data, now_s)
        self._disk.touch(held.inode)
        if held.synchronous:
            self._disk.sync(held.inode, only_data=True)
        return len(data)

    def truncate(self, path: str, length: int, handle: int | None = None) -> int:  # noqa: ARG002
        """Cut off, or let grow."""
        self._powered()
        self._truncate(self._at(path), length)
        return 0

    def fallocate(self, path: str, mode: int, offset: int, length: int, handle: int) -> int:
        """Take space; holes cannot be punched."""
        self._powered()
        if mode & ~_IN_PLACE:
            raise OSError(errno.EOPNOTSUPP, path)
        inode = self._open[handle].inode
        content = _content(inode)
        self._need(content.new_pages(offset, length))
        content.allocate(offset, length, grow=not mode)
        self._disk.change(inode)
        return 0

    def fsync(self, path: str, only_data: int, handle: int) -> int:  # noqa: ARG002
        """Carry a file to the disk."""
        self._powered()
        self._disk.sync(self._open[handle].inode, only_data=bool(only_data))
        return 0

    def fsyncdir(self, path: str, only_data: int, handle: int) -> int:  # noqa: ARG002
        """Carry names to the disk: all of them, as they are in one journal."""
        self._powered()
        self._disk.commit()
        return 0

    def release(self, path: str, handle: int) -> int:  # noqa: ARG002
        """The last close of a handle."""
        inode = self._open.pop(handle).inode
        if inode.content is not None and inode.content.emptied:
            inode.content.emptied = False
            self._disk.data_first(inode)
        return 0

    # Extended attributes: only those by which we speak to it

    def getxattr(self, path: str, name: str, position: int = 0) -> bytes:  # noqa: ARG002
        """What was counted, asked at the root."""
        if path == "/" and name == ASKED:
            return json.dumps(self._disk.counts).encode()
        raise OSError(errno.ENODATA, name)

    def setxattr(self, path: str, name: str, value: bytes, options: int, position: int = 0) -> int:  # noqa: ARG002
        """Cut the power, asked at the root."""
        if path != "/" or name != CUT:
            raise OSError(errno.EOPNOTSUPP, name)
        if not self._disk.is_cut:
            self._disk.cut()
        return 0

    # The mount

    def init_with_config(self, connection: object, config: Any) -> None:  # noqa: ARG002
        """Numbers of files are ours: programs know by them that two names are one file.

        The kernel does not know that, so it has to ask for the size that a file has by its other names.
        """
        config.use_ino = 1
        config.attr_timeout = 0.0
        self._mounted()

    def destroy(self, path: str) -> None:  # noqa: ARG002
        """It is unmounted."""
        self._disk.unmount()

    def _powered(self) -> float:
        if self._disk.is_cut:
            raise OSError(errno.EIO, "no power")
        self._disk.counts["requests"] += 1
        return self._disk.grow_old()

    def _at(self, path: str) -> Inode:
        inode = self._disk.inodes[ROOT]
        for name in path.split("/")[1:] if path != "/" else ():
            if name not in inode.entries:
                raise OSError(errno.ENOENT, path)
            inode = self._disk.inodes[inode.entries[name]]
        return inode

    def _parent(self, path: str) -> tuple[Inode, str]:
        folder, _, name = path.rpartition("/")
        if len(os.fsencode(name)) > LONGEST_NAME:
            raise OSError(errno.ENAMETOOLONG, path)
        return self._at(folder or "/"), name

    def _make(self, path: str, mode: int, **more: Any) -> Inode:
        self._powered()
        parent, name = self._parent(path)
        uid, gid, _ = self._caller()
        if parent.mode & stat.S_ISGID:
            gid = parent.gid
            mode |= stat.S_ISGID if stat.S_ISDIR(mode) else 0
        return self._disk.make(parent, name, mode, uid, gid, **more)

    def _opened(self, inode: Inode, flags: int) -> int:
        self._handles += 1
        self._open[self._handles] = _Handle(inode, bool(flags & (os.O_SYNC | os.O_DSYNC)))
        return self._handles

    def _truncate(self, inode: Inode, length: int) -> None:
        _content(inode).truncate(length)
        self._disk.change(inode)

    def _need(self, pages: int) -> None:
        if pages and pages > self._disk.free_pages():
            raise OSError(errno.ENOSPC, "disk full")

    def _folders_in(self, inode: Inode) -> int:
        return sum(self._disk.inodes[number].is_folder for number in inode.entries.values())


def _content(inode: Inode) -> Content:
    if inode.content is None:
        raise OSError(errno.EINVAL, "not a regular file")
    return inode.content
