"""The disk of the file system in user space, without a mount: what programs see, and what is left without power."""

from __future__ import annotations

import stat
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refute.nemesis.storage.media import suitable
from refute.nemesis.storage.user_space.content import PAGE, Content
from refute.nemesis.storage.user_space.disk import ORPHAN, ROOT, Disk, Inode

ANY_BYTES = st.integers(0, 3 * PAGE)
CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("write"), ANY_BYTES, st.integers(1, 2 * PAGE)),
        st.tuples(st.just("truncate"), ANY_BYTES, st.just(0)),
        st.tuples(st.just("allocate"), ANY_BYTES, st.integers(1, PAGE)),
        st.tuples(st.sampled_from(["settle", "carry"]), st.just(0), st.just(0)),
    ),
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(CHANGES)
def test_a_file_reads_as_it_was_written_and_is_left_as_it_was_last_carried(
    changes: list[tuple[str, int, int]],
) -> None:
    with TemporaryDirectory() as place:
        file = Path(place, "file")
        content, plain, carried = Content(file), bytearray(), b""
        settled = False  # a truncation that was carried alone mixes old data with a new size
        for number, (what, where, size) in enumerate(changes, 1):
            if what == "write":
                content.write(where, bytes([number]) * size, 0.0)
                plain.extend(bytes(max(0, where + size - len(plain))))
                plain[where : where + size] = bytes([number]) * size
            elif what == "truncate":
                content.truncate(where)
                del plain[where:]
                plain.extend(bytes(where - len(plain)))
            elif what == "allocate":
                content.allocate(where, size, grow=True)
                plain.extend(bytes(max(0, where + size - len(plain))))
            elif what == "settle":
                content.settle()
                settled = True
            else:
                content.carry()
                carried, settled = bytes(plain), False
            assert content.size == len(plain)
            assert content.read(0, len(plain) + 1) == bytes(plain)
        left = Content(file)
        if not settled:
            assert left.read(0, left.size) == carried


def disk_at(place: Path) -> tuple[Disk, Inode]:
    disk = Disk(place, 0, 0)
    return disk, disk.inodes[ROOT]


def file_in(disk: Disk, folder: Inode, name: str, data: bytes) -> Inode:
    inode = disk.make(folder, name, stat.S_IFREG | 0o600, 0, 0)
    write(inode, data)
    return inode


def write(inode: Inode, data: bytes) -> None:
    assert inode.content is not None
    inode.content.write(0, data, time.monotonic())


def left_on(place: Path) -> dict[str, bytes]:
    disk, root = disk_at(place)
    found = {}
    for name, number in root.entries.items():
        content = disk.inodes[number].content
        found[name] = content.read(0, content.size) if content else b"(folder)"
    return found


def test_fsync_keeps_a_file_and_all_names_but_no_other_data(tmp_path: Path) -> None:
    disk, root = disk_at(tmp_path)
    kept = file_in(disk, root, "kept", b"data")
    file_in(disk, root, "careless", b"data")
    disk.sync(kept, only_data=False)
    file_in(disk, root, "later", b"data")
    disk.cut()
    assert disk.counts["dropped_bytes"] == 2 * PAGE
    assert disk.counts["dropped_names"] == 2  # the new file, and the folder that it is in
    assert left_on(tmp_path) == {"kept": b"data", "careless": b""}


def test_fdatasync_in_place_writes_no_journal(tmp_path: Path) -> None:
    disk, root = disk_at(tmp_path)
    kept = file_in(disk, root, "kept", b"old")
    disk.sync(kept, only_data=False)
    file_in(disk, root, "new", b"data")
    write(kept, b"new")
    disk.sync(kept, only_data=True)
    disk.cut()
    assert left_on(tmp_path) == {"kept": b"new"}


def test_fdatasync_that_makes_the_file_longer_writes_the_journal(tmp_path: Path) -> None:
    disk, root = disk_at(tmp_path)
    kept = file_in(disk, root, "kept", b"old")
    disk.sync(kept, only_data=False)
    file_in(disk, root, "new", b"data")
    write(kept, b"longer")
    disk.sync(kept, only_data=True)
    disk.cut()
    assert left_on(tmp_path) == {"kept": b"longer", "new": b""}


def test_a_file_that_replaces_another_by_a_rename_is_never_empty(tmp_path: Path) -> None:
    disk, root = disk_at(tmp_path)
    disk.sync(file_in(disk, root, "config", b"old"), only_data=False)
    fresh = file_in(disk, root, "fresh", b"new")
    disk.leave(root, "config")
    disk.data_first(fresh)
    disk.enter(root, "config", fresh)
    disk.leave(root, "fresh")
    disk.commit()
    disk.cut()
    assert left_on(tmp_path) == {"config": b"new"}


def test_what_is_open_without_a_name_is_gone(tmp_path: Path) -> None:
    disk, root = disk_at(tmp_path)
    inode = file_in(disk, root, "open", b"data")
    disk.sync(inode, only_data=False)
    disk.enter(root, f"{ORPHAN}0001", inode)
    disk.leave(root, "open")
    assert (inode.links, inode.number in disk.inodes) == (0, True)
    disk.commit()
    disk.cut()
    assert left_on(tmp_path) == {}
    assert list((tmp_path / "data").iterdir()) == []


def test_what_a_kernel_writes_by_itself_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    disk, root = disk_at(tmp_path)
    file_in(disk, root, "old", b"data")
    clock[0] += 6  # its name is in the journal, its data are in memory
    disk.grow_old()
    file_in(disk, root, "middle", b"data")
    clock[0] += 26
    disk.grow_old()
    write(disk.inodes[root.entries["middle"]], b"more")
    disk.cut()
    assert left_on(tmp_path) == {"old": b"data", "middle": b""}


def test_a_journal_whose_end_was_not_written_is_good_up_to_there(tmp_path: Path) -> None:
    disk, root = disk_at(tmp_path)
    disk.sync(file_in(disk, root, "kept", b"data"), only_data=False)
    with (tmp_path / "journal").open("a") as journal:
        journal.write('{"there": [{"number": 1, "mo')
    assert left_on(tmp_path) == {"kept": b"data"}


def test_unmounting_writes_everything(tmp_path: Path) -> None:
    disk, root = disk_at(tmp_path)
    folder = disk.make(root, "folder", stat.S_IFDIR | 0o700, 0, 0)
    file_in(disk, folder, "inside", b"data")
    disk.enter(root, "link", disk.inodes[folder.entries["inside"]])
    disk.unmount()
    assert left_on(tmp_path) == {"folder": b"(folder)", "link": b"data"}
    again, root = disk_at(tmp_path)
    assert again.inodes[root.entries["link"]].links == 2


@pytest.mark.parametrize(
    ("kinds", "root", "only", "names"),
    [
        ({"power-loss"}, True, None, ["ext4", "fuse"]),
        ({"power-loss"}, False, None, ["fuse"]),
        ({"power-loss"}, True, "fuse", ["fuse"]),
        ({"power-loss"}, False, "ext4", []),
        ({"power-loss", "disk-full"}, False, None, ["fuse"]),
        ({"disk-full"}, False, None, ["memory", "fuse"]),
        ({"read-only", "power-loss"}, True, None, ["ext4"]),
        ({"read-only"}, False, None, []),
    ],
)
def test_the_medium_is_one_that_can_have_all_faults(
    kinds: set[str], root: bool, only: str | None, names: list[str]
) -> None:
    assert [medium.name for medium in suitable(kinds, root=root, only=only)] == names
