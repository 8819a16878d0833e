"""What the file system in user space says of a file and of itself, in the form of libfuse."""

from __future__ import annotations

import os

from refute.nemesis.storage.user_space.content import PAGE
from refute.nemesis.storage.user_space.disk import CAPACITY_BYTES, Inode

LONGEST_NAME = 255

_MOST_FILES = 1 << 20
_BLOCK_BYTES = 512  # of st_blocks, whatever the file system's own are


def status_of(inode: Inode, folders: int) -> dict[str, int]:
    """As stat gives it, times in ns; `folders` is how many directories are in it."""
    size = len(os.fsencode(inode.target))
    blocks = 0
    if inode.content is not None:
        size = inode.content.size
        blocks = len(inode.content.allocated) * PAGE // _BLOCK_BYTES
    return {
        "st_ino": inode.number,
        "st_mode": inode.mode,
        "st_nlink": inode.links + (1 + folders if inode.is_folder else 0),
        "st_uid": inode.uid,
        "st_gid": inode.gid,
        "st_rdev": inode.device,
        "st_size": size,
        "st_blocks": blocks,
        "st_blksize": PAGE,
        "st_atime": inode.atime,
        "st_mtime": inode.mtime,
        "st_ctime": inode.ctime,
    }


def status_of_disk(free_pages: int, files: int) -> dict[str, int]:
    """As statvfs gives it."""
    return {
        "f_bsize": PAGE,
        "f_frsize": PAGE,
        "f_blocks": CAPACITY_BYTES // PAGE,
        "f_bfree": free_pages,
        "f_bavail": free_pages,
        "f_files": _MOST_FILES,
        "f_ffree": _MOST_FILES - files,
        "f_namemax": LONGEST_NAME,
    }
