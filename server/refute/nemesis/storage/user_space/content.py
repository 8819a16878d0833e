"""What is in one regular file: the bytes on the disk, and over them the pages that are not there yet."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

PAGE = 4096


class Content:
    """The content of one file of a `Disk`; `file` holds what survives the loss of power.

    Writes change pages in memory. `carry` writes them to the file, with the size. `settle` writes of the size
    what a file system keeps in its journal: that the file was truncated or allocated, not that it has grown
    by writes whose data are not there yet.
    """

    def __init__(self, file: Path, reserved: int = 0) -> None:
        self.size = file.stat().st_size if file.exists() else 0
        self.dirty: dict[int, bytearray] = {}
        self.dirty_since_s = 0.0
        self.allocated = set(_pages(0, reserved)) | set(_pages_with_data(file, self.size))
        self.reserved = reserved
        self.reshaped = False  # in size or blocks, so that fdatasync has to write the journal too
        self.emptied = False
        self._file = file
        self._true_until = self.size  # what the file holds behind it was cut off since
        self._declared: int | None = None

    def read(self, offset: int, size: int) -> bytes:
        """At most `size` bytes from `offset` on."""
        end = min(offset + size, self.size)
        if end <= offset:
            return b""
        found = bytearray(end - offset)
        kept = min(end, self._true_until)
        if kept > offset and self._file.exists():
            with _opened(self._file, os.O_RDONLY) as handle:
                data = os.pread(handle.number, kept - offset, offset)
            found[: len(data)] = data
        if self.dirty:
            for page in _pages(offset, end):
                if (changed := self.dirty.get(page)) is not None:
                    start, stop = max(offset, page * PAGE), min(end, (page + 1) * PAGE)
                    found[start - offset : stop - offset] = changed[start - page * PAGE : stop - page * PAGE]
        return bytes(found)

    def new_pages(self, offset: int, size: int) -> int:
        """How many pages a write there would have to allocate."""
        return sum(page not in self.allocated for page in _pages(offset, offset + size))

    def write(self, offset: int, data: bytes, now_s: float) -> None:
        """Write into memory."""
        if not self.dirty:
            self.dirty_since_s = now_s
        end = offset + len(data)
        for page in _pages(offset, end):
            first = page * PAGE
            start, stop = max(offset, first), min(end, first + PAGE)
            held = self.dirty.get(page)
            if held is None:
                held = bytearray(PAGE)
                if stop - start < PAGE:
                    before = self.read(first, PAGE)
                    held[: len(before)] = before
                self.dirty[page] = held
            held[start - first : stop - first] = data[start - offset : stop - offset]
            if page not in self.allocated:
                self.allocated.add(page)
                self.reshaped = True
        if end > self.size:
            self.size, self.reshaped = end, True

    def truncate(self, size: int) -> None:
        """Cut it off, or let it grow by zeros."""
        if size < self.size:
            last = -(-size // PAGE)
            for page in [page for page in self.dirty if page >= last]:
                del self.dirty[page]
            if size % PAGE and (held := self.dirty.get(size // PAGE)) is not None:
                held[size % PAGE :] = bytes(PAGE - size % PAGE)
            self.allocated = {page for page in self.allocated if page < last}
            self.reserved = min(self.reserved, size)
            self.emptied |= size == 0
            self._true_until = min(self._true_until, size)
        self.size, self._declared, self.reshaped = size, size, True

    def allocate(self, offset: int, size: int, *, grow: bool) -> None:
        """Take space for a range; with `grow` the file is at least that long."""
        end = offset + size
        self.allocated |= set(_pages(offset, end))
        self.reserved, self.reshaped = max(self.reserved, end), True
        if grow and end > self.size:
            self.size = self._declared = end

    def settle(self) -> None:
        """Write to the file what the journal knows of its size."""
        if self._declared is None and self._file.exists():
            return
        with _opened(self._file, os.O_RDWR | os.O_CREAT) as handle:
            length = os.fstat(handle.number).st_size
            if length > self._true_until:
                os.ftruncate(handle.number, length := self._true_until)
            if self._declared is not None and self._declared > length:
                os.ftruncate(handle.number, length := self._declared)
        self._true_until, self._declared = length, None

    def carry(self) -> int:
        """Write all of it to the file; how many bytes that were."""
        self.settle()
        carried = 0
        with _opened(self._file, os.O_RDWR) as handle:
            for first, data in _runs(self.dirty):
                carried += os.pwrite(handle.number, data, first * PAGE)
            os.ftruncate(handle.number, self.size)
        self.dirty.clear()
        self._true_until, self.reshaped = self.size, False
        return carried

    def remove(self) -> None:
        """Remove the file."""
        self._file.unlink(missing_ok=True)


class _opened:  # noqa: N801 (used as a function)
    # contextlib costs more than the call of the kernel that it stands around.
    def __init__(self, file: Path, flags: int) -> None:
        self.number = os.open(file, flags, 0o600)

    def __enter__(self) -> _opened:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.number)


def _pages(start: int, end: int) -> range:
    return range(start // PAGE, -(-end // PAGE)) if end > start else range(0)


def _runs(dirty: dict[int, bytearray]) -> Iterator[tuple[int, bytes]]:
    run: list[bytearray] = []
    first = 0
    for page in sorted(dirty):
        if run and page != first + len(run):
            yield first, b"".join(run)
            run = []
        if not run:
            first = page
        run.append(dirty[page])
    if run:
        yield first, b"".join(run)


def _pages_with_data(file: Path, size: int) -> Iterator[int]:
    if not size:
        return
    with _opened(file, os.O_RDONLY) as handle:
        end = 0
        while end < size:
            try:
                start = os.lseek(handle.number, end, os.SEEK_DATA)
            except OSError:  # only a hole is left
                return
            end = os.lseek(handle.number, start, os.SEEK_HOLE)
            yield from _pages(start, end)
