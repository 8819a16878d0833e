"""The replicated log: entries in memory, every one of them in a write-ahead file with a checksum.

The file is a line per record: eight hexadecimal digits of CRC-32, a space, JSON. There are three kinds
of record: an entry, `{"base": [index, term]}` (what stands before the first entry) and `{"cut": index}`
(entries from here on were replaced by another leader's).
"""

from __future__ import annotations

import json
import logging
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .disk import DiskError, replace_durably
from .entry import Entry

logger = logging.getLogger("quorumkv")


def encode(record: dict[str, Any]) -> bytes:
    text = json.dumps(record, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def decode(line: bytes) -> dict[str, Any] | None:
    """The record, or None if the line is torn or damaged."""
    if len(line) < 10 or not line.endswith(b"\n"):
        return None
    text = line[9:-1]
    try:
        if int(line[:8], 16) != zlib.crc32(text):
            return None
        record: dict[str, Any] = json.loads(text)
    except ValueError:
        return None
    return record


class Log:
    """Entries `base_index + 1 .. last_index`; `append`, `cut_from` and `rebase` return once on disk."""

    def __init__(self, directory: Path, wal_format: int) -> None:
        self._path = directory / "wal.log"
        self._format = wal_format
        self.base_index = 0
        self.base_term = 0
        self._entries: list[Entry] = []
        self.fsyncs = 0
        if self._path.exists():
            self._load()
        else:
            replace_durably(self._path, encode({"base": [0, 0]}))
        self._handle = os.open(self._path, os.O_WRONLY | os.O_APPEND)

    def _load(self) -> None:
        lines = self._path.read_bytes().splitlines(keepends=True)
        good = 0
        for number, line in enumerate(lines, start=1):
            record = decode(line)
            if record is None:
                if number < len(lines):
                    raise DiskError(f"{self._path}:{number}: damaged record before the end of the log")
                break
            good += len(line)
            if "base" in record:
                self.base_index, self.base_term = record["base"]
            elif "cut" in record:
                del self._entries[record["cut"] - self.base_index - 1 :]
            else:
                self._entries.append(Entry.from_record(record))
        # A process that was killed in mid-write leaves at most one partial line, which nobody was told of.
        os.truncate(self._path, good)

    @property
    def last_index(self) -> int:
        return self.base_index + len(self._entries)

    @property
    def last_term(self) -> int:
        return self._entries[-1].term if self._entries else self.base_term

    def __len__(self) -> int:
        return len(self._entries)

    def term_at(self, index: int) -> int | None:
        """The term of the entry at `index`; None if the log does not reach so far, either way."""
        if index == self.base_index:
            return self.base_term
        if self.base_index < index <= self.last_index:
            return self._entries[index - self.base_index - 1].term
        return None

    def entry(self, index: int) -> Entry:
        return self._entries[index - self.base_index - 1]

    def slice(self, start: int, limit: int) -> list[Entry]:
        first = start - self.base_index - 1
        return self._entries[first : first + limit]

    def append(self, entries: Sequence[Entry]) -> None:
        self._write(b"".join(encode(entry.to_record(self._format)) for entry in entries))
        self._entries.extend(entries)

    def cut_from(self, index: int) -> None:
        self._write(encode({"cut": index}))
        del self._entries[index - self.base_index - 1 :]

    def rebase(self, index: int, term: int, *, keep: bool) -> None:
        """Forget everything up to `index`; what follows it is kept or forgotten with it."""
        kept = self._entries[index - self.base_index :] if keep else []
        records = [encode({"base": [index, term]})]
        records.extend(encode(entry.to_record(self._format)) for entry in kept)
        replace_durably(self._path, b"".join(records))
        self._entries, self.base_index, self.base_term = list(kept), index, term
        os.close(self._handle)
        self._handle = os.open(self._path, os.O_WRONLY | os.O_APPEND)

    def _write(self, content: bytes) -> None:
        view = memoryview(content)
        try:
            while view:
                view = view[os.write(self._handle, view) :]
            os.fsync(self._handle)
        except OSError as error:
            # After a failed fsync nobody knows what is on disk: a node that went on could vouch for it.
            logger.critical("cannot write %s: %s", self._path, error)
            os._exit(1)
        self.fsyncs += 1

    def close(self) -> None:
        os.close(self._handle)
