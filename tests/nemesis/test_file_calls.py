"""The preload shim of files, in a program of our own: which calls it strikes, on which files, and what it counts."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from refute.nemesis.preload.build import built_file_shim
from refute.nemesis.preload.file_calls_page import (
    CALLS,
    LET_THROUGH,
    CallSetting,
    FileCallsPage,
)

pytestmark = pytest.mark.systems  # a C compiler builds the shim

PROGRAM = """
import ctypes, mmap, os, socket, sqlite3, sys
os.chdir(sys.argv[1])
inside, outside = (os.open(name, os.O_RDWR | os.O_CREAT) for name in ("file", "../outside"))
os.ftruncate(inside, 4096)
os.mkfifo("fifo")
fifo, pair = os.open("fifo", os.O_RDWR), socket.socketpair()
mapped, here = mmap.mmap(inside, 4096), os.open(".", os.O_RDONLY)
c = ctypes.CDLL(None, use_errno=True)
database = sqlite3.connect("database", isolation_level=None)
database.execute("create table rows (row)")

def sync_file_range(file):
    if c.sync_file_range(file, ctypes.c_int64(0), ctypes.c_int64(0), 2):
        raise OSError(ctypes.get_errno(), "")

def in_a_child():
    child = os.fork()
    if not child:
        try:
            os.fsync(inside)
        except OSError as error:
            os._exit(error.errno)
        os._exit(0)
    if status := os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
        raise OSError(status, "")

TRIED = {
    "write": lambda: os.write(inside, b"x"),
    "pwrite": lambda: os.pwrite(inside, b"x", 0),
    "writev": lambda: os.writev(inside, [b"x"]),
    "pwritev": lambda: os.pwritev(inside, [b"x"], 0),
    "fsync": lambda: os.fsync(inside),
    "fdatasync": lambda: os.fdatasync(inside),
    "sync_file_range": lambda: sync_file_range(inside),
    "msync": lambda: mapped.flush(),
    "folder": lambda: os.fsync(here),
    "child": in_a_child,
    "outside": lambda: (os.write(outside, b"x"), os.fsync(outside)),
    "fifo": lambda: os.write(fifo, b"x"),
    "socket": lambda: os.write(pair[0].fileno(), b"x"),
    "database": lambda: database.execute("insert into rows values (1)"),
}
print("ready", flush=True)
for line in sys.stdin:
    try:
        TRIED[line.strip()]()
        print("done", flush=True)
    except OSError as error:
        print(error.errno, flush=True)
    except sqlite3.Error as error:
        print(error, flush=True)
"""


@dataclass
class Tried:
    """The program under the shim."""

    process: subprocess.Popen[str]
    page: FileCallsPage
    data: Path

    def ask(self, what: str) -> str:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def struck(self) -> dict[str, int]:
        counts = self.page.counts().values()
        return {name: sum(count.struck[name] for count in counts) for name in CALLS}


@pytest.fixture
def tried(tmp_path: Path) -> Iterator[Tried]:
    page = FileCallsPage(tmp_path / "page")
    page.create()
    (tmp_path / "real").mkdir()
    data = tmp_path / "data"
    data.symlink_to("real")
    environment = {**os.environ, "LD_PRELOAD": str(built_file_shim()), **page.environment}
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(data)],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield Tried(process, page, data)
        process.stdin.close()
        assert process.wait(30) == 0


def test_each_call_fails_on_files_of_the_data_directory_until_it_is_let_through(tried: Tried) -> None:
    assert {name: tried.ask(name) for name in CALLS} == dict.fromkeys(CALLS, "done")
    assert tried.struck() == dict.fromkeys(CALLS, 0)
    tried.page.strike(CallSetting(CALLS, error=errno.ENOSPC), tried.data)
    assert {name: tried.ask(name) for name in CALLS} == dict.fromkeys(CALLS, str(errno.ENOSPC))
    assert tried.struck() == dict.fromkeys(CALLS, 1)
    assert tried.ask("folder") == str(errno.ENOSPC)
    tried.page.let_through()
    assert {name: tried.ask(name) for name in CALLS} == dict.fromkeys(CALLS, "done")
    assert tried.struck() == dict.fromkeys(CALLS, 1) | {"fsync": 2}


def test_files_elsewhere_sockets_and_pipes_are_left_alone(tried: Tried) -> None:
    tried.page.strike(CallSetting(CALLS, error=errno.EIO), tried.data)
    assert [tried.ask(name) for name in ("outside", "socket", "fifo")] == ["done"] * 3
    assert tried.struck() == dict.fromkeys(CALLS, 0)
    # `real` and `really` have the same beginning, and are two directories.
    (tried.data.parent / "rea").mkdir()
    tried.page.strike(CallSetting(CALLS, error=errno.EIO), tried.data.parent / "rea")
    assert tried.ask("write") == "done"
    tried.page.strike(CallSetting(CALLS, error=errno.EIO), tried.data.parent / "not-there")
    assert tried.ask("write") == "done"
    assert tried.struck() == dict.fromkeys(CALLS, 0)


def test_only_the_calls_that_are_meant_fail_and_of_them_every_second(tried: Tried) -> None:
    tried.page.strike(CallSetting(("fsync",), error=errno.EIO, every=2), tried.data)
    eio = str(errno.EIO)
    assert [tried.ask("fsync") for _ in range(4)] == [eio, "done", eio, "done"]
    assert tried.ask("write") == "done"
    (count,) = tried.page.counts().values()
    assert (count.struck["fsync"], count.spared) == (2, 2)


def test_a_child_is_struck_and_counted_by_itself(tried: Tried) -> None:
    tried.page.strike(CallSetting(("fsync",), error=errno.EIO), tried.data)
    assert tried.ask("child") == str(errno.EIO)
    assert tried.page.counts()[tried.process.pid].struck["fsync"] == 0
    assert tried.struck()["fsync"] == 1


def test_a_slow_call_is_done_after_its_delay(tried: Tried) -> None:
    tried.page.strike(CallSetting(("write",), delay_ns=1_000_000), tried.data)
    before = (tried.data / "file").read_bytes()
    assert tried.ask("write") == "done"
    assert tried.struck()["write"] == 1
    assert (tried.data / "file").read_bytes() != before
    assert tried.page.held() == ()


def test_a_database_says_that_its_disk_fails(tried: Tried) -> None:
    assert tried.ask("database") == "done"
    tried.page.strike(CallSetting(("fsync", "fdatasync"), error=errno.EIO), tried.data)
    assert tried.ask("database") == "disk I/O error"
    tried.page.let_through()
    assert tried.ask("database") == "done"


def test_a_setting_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    page = FileCallsPage(tmp_path / "page")
    page.create()
    assert page.setting() == LET_THROUGH
    setting = CallSetting(("pwrite", "msync"), error=errno.ENOSPC, delay_ns=5, every=3)
    page.strike(setting, tmp_path)
    assert page.setting() == setting
    with pytest.raises(ValueError, match="longer than 4095"):
        page.strike(LET_THROUGH, Path("/" + "x" * 5000))
    assert page.setting() == setting
