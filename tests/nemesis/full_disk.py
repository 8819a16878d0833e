"""Files that can be written no more, or only a little, as on a disk that is full."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def full_disk(descriptor: int) -> Iterator[None]:
    """Every write to it ends with ENOSPC, as the kernel says it."""
    kept, full = os.dup(descriptor), os.open("/dev/full", os.O_RDWR)
    os.dup2(full, descriptor)
    try:
        yield
    finally:
        os.dup2(kept, descriptor)
        os.close(kept)
        os.close(full)


@contextmanager
def room_for(descriptor: int, left_bytes: int) -> Iterator[None]:
    """The file takes so many bytes more, and then no other."""
    was = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (os.fstat(descriptor).st_size + left_bytes, was[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, was)
