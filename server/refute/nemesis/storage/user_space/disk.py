"""A disk with the memory before it: what programs see, and what is left of it when power is lost.

The model is ext4 with its usual options (`data=ordered`, `auto_da_alloc`): names, modes and truncations are
written to a journal, all that have changed together, by fsync of any file or directory and every five
seconds; the data of a file by its own fsync, and once they are thirty seconds old. A file that replaces
another by a rename, or that was emptied and written anew, has its data written before the journal says so.
"""

from __future__ import annotations

import json
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from refute.nemesis.storage.user_space.content import PAGE, Content

CAPACITY_BYTES = 1 << 30
ROOT = 1
ORPHAN = ".fuse_hidden"
"""How libfuse calls a file that is open though its last name is gone; after power loss it is gone too."""

_NAMES_AFTER_S = 5.0
_DATA_AFTER_S = 30.0
_MOST_DIRTY_PAGES = (256 << 20) // PAGE
_LOOK_EVERY_S = 0.5


@dataclass(slots=True)
class Inode:
    """A file, directory, symlink or other node; times in ns."""

    number: int
    mode: int
    uid: int
    gid: int
    atime: int
    mtime: int
    ctime: int
    device: int = 0
    target: str = ""
    links: int = 0
    orphaned: int = 0  # names by which it is open and not to be found
    entries: dict[str, int] = field(default_factory=dict)
    content: Content | None = None

    @property
    def is_folder(self) -> bool:
        """Whether it is a directory."""
        return stat.S_ISDIR(self.mode)

    def as_json(self) -> dict[str, Any]:
        """As it stands in the journal: names of orphans are not in it."""
        plain = ("number", "mode", "uid", "gid", "atime", "mtime", "ctime", "device", "target")
        record: dict[str, Any] = {name: getattr(self, name) for name in plain}
        if self.is_folder:
            record["entries"] = {n: i for n, i in self.entries.items() if not n.startswith(ORPHAN)}
        if self.content is not None and self.content.reserved:
            record["reserved"] = self.content.reserved
        return record


class Disk:
    """What the file system serves. Not for several threads at a time."""

    def __init__(self, backing: Path, uid: int, gid: int) -> None:
        self._journal = backing / "journal"
        self._data = backing / "data"
        self._data.mkdir(parents=True, exist_ok=True)
        self.inodes: dict[int, Inode] = {}
        self.counts = dict.fromkeys(("requests", "synced_bytes", "dropped_bytes", "dropped_names"), 0)
        self.is_cut = False
        self._changed: dict[int, float] = {}  # not in the journal yet, and since when
        self._touched: set[int] = set()  # only their times
        self._first: set[int] = set()  # their data go before the journal
        self._gone: set[int] = set()
        self._looked_s = time.monotonic()
        self._recover(uid, gid)
        self._next = max(self.inodes) + 1

    # Changes

    def make(self, parent: Inode, name: str, mode: int, uid: int, gid: int, **more: Any) -> Inode:
        """A new node with its first name."""
        now = time.time_ns()
        inode = Inode(self._next, mode, uid, gid, now, now, now, **more)
        self._next += 1
        if stat.S_ISREG(mode):
            inode.content = Content(self._data / str(inode.number))
        self.inodes[inode.number] = inode
        self.enter(parent, name, inode)
        return inode

    def enter(self, parent: Inode, name: str, inode: Inode) -> None:
        """Give it one more name."""
        parent.entries[name] = inode.number
        self._count(name, inode, 1)
        self.change(parent, inode)

    def leave(self, parent: Inode, name: str) -> Inode:
        """Take a name away; with the last one the node is gone."""
        inode = self.inodes[parent.entries.pop(name)]
        self._count(name, inode, -1)
        self.change(parent, inode)
        if inode.links == inode.orphaned == 0:
            self._gone.add(inode.number)
            self.inodes.pop(inode.number)
        return inode

    @staticmethod
    def _count(name: str, inode: Inode, more: int) -> None:
        if name.startswith(ORPHAN):
            inode.orphaned += more
        else:
            inode.links += more

    def change(self, *inodes: Inode) -> None:
        """What the journal keeps of them has changed."""
        now, now_s = time.time_ns(), time.monotonic()
        for inode in inodes:
            inode.ctime = now
            if inode.is_folder:
                inode.mtime = now
            self._changed.setdefault(inode.number, now_s)

    def touch(self, inode: Inode) -> None:
        """Its data have changed, of the rest only the times."""
        inode.mtime = inode.ctime = time.time_ns()
        self._touched.add(inode.number)

    def data_first(self, inode: Inode) -> None:
        """Its data are to be written before the journal is."""
        self._first.add(inode.number)

    # What is kept

    def sync(self, inode: Inode, *, only_data: bool) -> None:
        """As fsync and fdatasync do: the latter writes no journal where the data can be read without it."""
        reshaped = inode.content is not None and inode.content.reshaped
        self._carry(inode)
        if not only_data or reshaped or inode.number in self._changed:
            self.commit()

    def commit(self) -> None:
        """Write the journal: all that has changed, in one piece."""
        for number in self._first:
            if number in self.inodes:
                self._carry(self.inodes[number])
        records = []
        for number in self._changed.keys() | self._touched:
            if (inode := self.inodes.get(number)) is not None:
                if inode.content is not None:
                    inode.content.settle()
                records.append(inode.as_json())
        if records or self._gone:
            with self._journal.open("a") as journal:
                journal.write(json.dumps({"there": records, "gone": sorted(self._gone)}) + "\n")
        for number in self._gone:
            (self._data / str(number)).unlink(missing_ok=True)
        for pending in (self._first, self._changed, self._touched, self._gone):
            pending.clear()

    def grow_old(self) -> float:
        """Write what a kernel would have written by itself until now; that time (monotonic s)."""
        now_s = time.monotonic()
        if now_s - self._looked_s < _LOOK_EVERY_S:
            return now_s
        self._looked_s = now_s
        waiting = sorted(self._dirty(), key=_since)
        pages = sum(len(inode.content.dirty) for inode in waiting if inode.content)
        for inode in waiting:
            if now_s - _since(inode) < _DATA_AFTER_S and pages < _MOST_DIRTY_PAGES:
                break
            pages -= len(inode.content.dirty) if inode.content else 0
            self._carry(inode)
        if self._changed and now_s - min(self._changed.values()) >= _NAMES_AFTER_S:
            self.commit()
        return now_s

    def unmount(self) -> None:
        """Write everything, unless there is no power."""
        if not self.is_cut:
            for inode in list(self._dirty()):
                self._carry(inode)
            self.commit()

    def cut(self) -> None:
        """Lose the power: what was not written stays unwritten, and nothing is written any more."""
        self.grow_old()
        self.is_cut = True
        pages = sum(len(inode.content.dirty) for inode in self._dirty() if inode.content)
        self.counts["dropped_bytes"] += pages * PAGE
        self.counts["dropped_names"] += len(self._changed.keys() | self._gone)

    # Space

    def free_pages(self) -> int:
        """How many pages can still be allocated."""
        used = sum(len(inode.content.allocated) for inode in self.inodes.values() if inode.content)
        return max(0, CAPACITY_BYTES // PAGE - used)

    def _dirty(self) -> Iterator[Inode]:
        return (inode for inode in self.inodes.values() if inode.content and inode.content.dirty)

    def _carry(self, inode: Inode) -> None:
        if inode.content is not None:
            self.counts["synced_bytes"] += inode.content.carry()
            self._touched.add(inode.number)

    def _recover(self, uid: int, gid: int) -> None:
        records: dict[int, dict[str, Any]] = {}
        lines = self._journal.read_text().splitlines() if self._journal.exists() else []
        for line in lines:
            try:
                batch = json.loads(line)
            except ValueError:
                break  # its writer was killed in the middle of it
            records |= {record["number"]: record for record in batch["there"]}
            for number in batch["gone"]:
                records.pop(number, None)
        self._read_tree(records)
        if ROOT not in self.inodes:
            now = time.time_ns()
            self.inodes[ROOT] = Inode(ROOT, stat.S_IFDIR | 0o755, uid, gid, now, now, now, links=1)
        for file in self._data.iterdir():
            if int(file.name) not in self.inodes:
                file.unlink()
        self._journal.unlink(missing_ok=True)
        self._touched |= self.inodes.keys()
        self.commit()

    def _read_tree(self, records: dict[int, dict[str, Any]]) -> None:
        waiting = [ROOT] if ROOT in records else []
        while waiting:
            number = waiting.pop()
            if number in self.inodes:
                self.inodes[number].links += 1
                continue
            record = dict(records[number])
            reserved = record.pop("reserved", 0)
            inode = self.inodes[number] = Inode(**record, links=1)
            if stat.S_ISREG(inode.mode):
                inode.content = Content(self._data / str(number), reserved)
            waiting += inode.entries.values()


def _since(inode: Inode) -> float:
    return inode.content.dirty_since_s if inode.content else 0.0
