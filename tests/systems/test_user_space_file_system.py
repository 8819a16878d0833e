"""The file system in user space answers as the kernel's own do: the same calls are made on both, and compared."""

from __future__ import annotations

import mmap
import os
import stat
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from refute.nemesis.storage.user_space.medium import UserSpace
from refute.nemesis.storage.volumes import volume_for_probing

pytestmark = pytest.mark.systems
NAMES = ["a", "b", "c", "d", "e", "d/x", "d/y", "e/z"]
FLAGS = [0, os.O_CREAT, os.O_CREAT | os.O_TRUNC, os.O_APPEND, os.O_CREAT | os.O_EXCL, os.O_CREAT | os.O_SYNC]
CALLS = 200


class Twins:
    """Two directories in which the same is done, and the files that are open in both."""

    def __init__(self, rng: Random, *roots: Path) -> None:
        self.rng = rng
        self.roots = roots
        self.open: list[list[int]] = []

    def call(self) -> tuple[str, list[Any]]:
        """One call, and what came of it in each directory."""
        rng = self.rng
        of_names = {name: getattr(self, name) for name in dir(self) if name.startswith("name_")}
        of_files = {name: getattr(self, name) for name in dir(self) if name.startswith("file_")}
        what = rng.choice([*of_names, *of_files, "open", "close"])
        at, size, byte = rng.randrange(12000), rng.randrange(1, 9000), rng.randrange(1, 256)
        data = bytes([byte]) * size
        if what == "open":
            return what, self.opened(rng.choice(NAMES), os.O_RDWR | rng.choice(FLAGS))
        if what in of_names:
            one, other = rng.choice(NAMES), rng.choice(NAMES)
            change = of_names[what]
            return what, [result(lambda r=r: change(r / one, r / other, at, data)) for r in self.roots]
        if not self.open:
            return what, []
        files = self.open.pop(rng.randrange(len(self.open)))
        if what == "close":
            return what, [result(lambda f=f: os.close(f)) for f in files]
        self.open.append(files)
        return what, [result(lambda f=f: of_files[what](f, at, data)) for f in files]

    def opened(self, name: str, flags: int) -> list[Any]:
        """A file that is opened in both; in none where the two do not agree."""
        files = [result(lambda r=r: os.open(r / name, flags, 0o640)) for r in self.roots]
        if all(kind == "ok" for kind, _ in files):
            self.open.append([file for _, file in files])
            return []
        return files

    def close(self) -> None:
        for file in (file for files in self.open for file in files):
            os.close(file)

    @staticmethod
    def name_write(path: Path, _: Path, at: int, data: bytes) -> None:
        with path.open("r+b") as file:
            file.seek(at)
            file.write(data)

    @staticmethod
    def name_truncate(path: Path, _: Path, at: int, data: bytes) -> None:
        os.truncate(path, at)

    @staticmethod
    def name_unlink(path: Path, *_: Any) -> None:
        path.unlink()

    @staticmethod
    def name_rename(path: Path, other: Path, *_: Any) -> None:
        path.rename(other)

    @staticmethod
    def name_mkdir(path: Path, *_: Any) -> None:
        path.mkdir()

    @staticmethod
    def name_rmdir(path: Path, *_: Any) -> None:
        path.rmdir()

    @staticmethod
    def name_link(path: Path, other: Path, *_: Any) -> None:
        os.link(path, other, follow_symlinks=False)

    @staticmethod
    def name_symlink(path: Path, other: Path, *_: Any) -> None:
        path.symlink_to(other.name)

    @staticmethod
    def name_list(path: Path, *_: Any) -> list[str]:
        return sorted(each.name for each in path.iterdir())

    @staticmethod
    def name_status(path: Path, *_: Any) -> tuple[int, ...]:
        found = path.lstat()
        return found.st_mode, found.st_nlink, 0 if stat.S_ISDIR(found.st_mode) else found.st_size

    @staticmethod
    def file_read(file: int, at: int, _: bytes) -> bytes:
        return os.pread(file, 20000, at)

    @staticmethod
    def file_write(file: int, at: int, data: bytes) -> int:
        return os.pwrite(file, data, at)

    @staticmethod
    def file_truncate(file: int, at: int, _: bytes) -> int:
        os.ftruncate(file, at)
        return os.fstat(file).st_size

    @staticmethod
    def file_allocate(file: int, at: int, data: bytes) -> int:
        os.posix_fallocate(file, at, len(data))
        return os.fstat(file).st_size

    @staticmethod
    def file_sync(file: int, *_: Any) -> None:
        os.fdatasync(file)

    @staticmethod
    def file_map(file: int, at: int, data: bytes) -> bytes:
        size = os.fstat(file).st_size
        if not size:
            return b""
        with mmap.mmap(file, size) as memory:
            there = slice(at % size, min(size, at % size + 10))
            memory[there] = data[:1] * (there.stop - there.start)
            memory.flush()
            return bytes(memory)


def result(call: Callable[[], Any]) -> tuple[str, Any]:
    try:
        return "ok", call()
    except OSError as error:
        return "error", error.errno


def tree(root: Path) -> dict[str, bytes | str]:
    found: dict[str, bytes | str] = {}
    for parent, folders, files in os.walk(root):
        for path in (Path(parent, name) for name in (*folders, *files)):
            name = path.relative_to(root).as_posix()
            found[name] = (
                str(path.readlink()) if path.is_symlink() else "" if path.is_dir() else path.read_bytes()
            )
    return found


def test_it_answers_as_the_kernel_s_own_and_unmounting_keeps_everything(tmp_path: Path) -> None:
    with volume_for_probing(UserSpace) as volume:
        kept = {}
        for seed in range(12):
            plain, ours = tmp_path / str(seed), volume.namespace.outside(volume.data) / str(seed)
            for root in (plain, ours):
                root.mkdir()
            twins = Twins(Random(seed), plain, ours)
            try:
                for number in range(CALLS):
                    what, results = twins.call()
                    assert not results or results[0] == results[1], f"seed {seed}, call {number}: {what}"
            finally:
                twins.close()
            kept[seed] = tree(plain)
            assert tree(ours) == kept[seed]
        volume.detach()
        volume.attach()
        assert {seed: tree(volume.namespace.outside(volume.data) / str(seed)) for seed in kept} == kept
        assert sum(len(files) for files in kept.values()) > 30
