"""Power loss without an ext4 image: the file system in user space drops what was not synced, for root and for anybody."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from refute.nemesis.errors import FaultInputError, FaultUnavailableError
from refute.nemesis.marked import NAME
from refute.nemesis.mechanisms import probe
from refute.nemesis.storage.user_space.medium import UserSpace
from refute.nemesis.storage.volume import Volume
from refute.nemesis.storage.volumes import volume_for_probing
from refute.system.process_table import is_alive, processes_with_mark
from tests.nemesis.conftest import Room, _own_registry  # noqa: F401 (a registry of its own for each test)
from tests.nemesis.diaries import SYNCING, diaries, lines, moved, storage, write
from tests.nemesis.peers import eventually
from tests.ordinary_user import run_tests_as_ordinary_user

pytestmark = pytest.mark.systems
ON_FUSE = {"file_system": "fuse"}
FROM_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="what it shows depends on being root")


def volume_of(room: Room, node: str = "n1") -> Volume:
    found: Volume = room.nemesis._planes["storage"]._volumes.of[node]  # type: ignore[attr-defined]
    return found


@pytest.mark.fault("storage", "power-loss", shows=("landing", "nothing left"))
def test_what_was_written_without_a_sync_is_lost(tmp_path: Path) -> None:
    with diaries(tmp_path, "power-loss", nodes=2, **ON_FUSE) as room:
        time.sleep(0.3)
        assert all(write(room.cluster, node, "acknowledged") for node in ("n1", "n2"))
        fault = room.apply(storage("power-loss", "all"), "n1", "n2")
        assert str(room.cluster.node("n1").exit) == "SIGKILL"
        assert room.nemesis.heal("all").failed == {}
        landing = room.nemesis.landing(fault)
        assert landing.landed, landing
        assert moved(landing)["injector"] == [
            "n1, n2: probe files over the cut",
            "n1: bytes that were dropped",
            "n2: bytes that were dropped",
        ]
        detail = next(event.detail for event in room.events if event.phase == "applied")
        assert detail["counted"]["n1"]["dropped_bytes"] >= 2 * 4096  # the probe's page, and the diary's
        assert [lines(room.cluster, node) for node in ("n1", "n2")] == [[], []]
        assert write(room.cluster, "n1", "later")


@pytest.mark.fault("storage", "power-loss", shows=("landing", "nothing left"))
def test_what_was_synced_is_there_and_it_can_come_twice(tmp_path: Path) -> None:
    with diaries(tmp_path, "power-loss", command=SYNCING, **ON_FUSE) as room:
        for text in ("first", "second"):
            time.sleep(0.3)
            assert write(room.cluster, "n1", text)
            fault = room.apply(storage("power-loss", file_system="fuse"), "n1")
            assert room.nemesis.heal(fault).failed == {}
            assert room.nemesis.landing(fault).landed
        assert lines(room.cluster, "n1") == ["first", "second"]


@pytest.mark.fault("storage", "power-loss", shows="not landing")
def test_a_cut_that_drops_nothing_has_not_landed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with diaries(tmp_path, "power-loss", **ON_FUSE) as room:
        time.sleep(0.3)
        assert write(room.cluster, "n1", "acknowledged")
        with pytest.raises(FaultInputError, match="its file system is fuse, not ext4"):
            room.apply(storage("power-loss", file_system="ext4"), "n1")
        monkeypatch.setattr(UserSpace, "shut_down", lambda medium, root: None)
        fault = room.apply(storage("power-loss"), "n1")
        room.nemesis.heal("n1")
        landing = room.nemesis.landing(fault)
        assert not landing.landed
        assert landing.signals[0].during == "write ok, synced probe there, unsynced probe there"
        assert moved(landing)["injector"] == []
        assert lines(room.cluster, "n1") == ["acknowledged"]


@FROM_ROOT
def test_where_no_image_can_be_made_the_plane_takes_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("refute.nemesis.storage.ext4_image.shutil.which", lambda *_, **__: None)
    found = probe("storage", "power-loss")
    assert found.works
    assert "mkfs.ext4 is not installed" in found.detail["ext4"]
    assert found.reason.endswith("; fuse: works")
    with diaries(tmp_path, "power-loss") as room:
        assert isinstance(volume_of(room).medium, UserSpace)


def test_where_nobody_can_mount_it_the_reason_is_told_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("refute.nemesis.storage.user_space.medium._DEVICE", str(tmp_path / "no-device"))
    with (
        pytest.raises(FaultUnavailableError, match=r"fuse: .*no-device is not there"),
        diaries(tmp_path, "power-loss", **ON_FUSE),
    ):
        raise AssertionError("it was started")


def test_a_file_system_whose_process_was_killed_comes_back_with_what_was_synced(tmp_path: Path) -> None:
    with diaries(tmp_path, "power-loss", command=SYNCING, **ON_FUSE) as room:
        assert write(room.cluster, "n1", "synced")
        medium = volume_of(room).medium
        assert isinstance(medium, UserSpace)
        [server] = processes_with_mark(NAME, medium.mark)
        os.kill(server.pid, signal.SIGKILL)
        assert eventually(lambda: not is_alive(server))
        assert volume_of(room).is_mounted()  # and dead: whoever looks is told that nobody answers
        assert volume_of(room).broken() in ("ECONNABORTED", "ENOTCONN")
        room.cluster.kill("n1")
        volume_of(room).detach()
        volume_of(room).attach()
        room.cluster.start_node("n1")
        room.cluster.wait_ready(["n1"])
        assert lines(room.cluster, "n1") == ["synced"]


def test_it_fills_as_a_disk_does_and_power_loss_makes_no_room(tmp_path: Path) -> None:
    with diaries(tmp_path, "disk-full", "power-loss", command=SYNCING, **ON_FUSE) as room:
        full = room.apply(storage("disk-full"), "n1")
        assert not write(room.cluster, "n1", "x" * 8192)
        cut = room.apply(storage("power-loss"), "n1")
        room.nemesis.heal(cut)
        room.cluster.wait_ready()
        assert not write(room.cluster, "n1", "x" * 8192)
        assert room.nemesis.heal(full).failed == {}
        assert room.nemesis.landing(full).landed
        assert write(room.cluster, "n1", "x" * 8192)


WRITES = """
import sqlite3, sys
rows = sqlite3.connect(sys.argv[1], isolation_level=None)
rows.execute("create table row (number integer)")
for pragma in sys.argv[2:]:
    rows.execute(f"pragma {pragma}")
for number in range(50):
    rows.execute("insert into row values (?)", (number,))
rows.execute("begin")
rows.execute("insert into row values (1000)")
print("written", flush=True)
sys.stdin.read()
"""
READS = """
import sqlite3, sys
rows = sqlite3.connect(sys.argv[1])
rows.execute("create table if not exists row (number integer)")
print(rows.execute("pragma integrity_check").fetchone()[0], *(number for (number,) in rows.execute("select number from row")))
"""


@pytest.mark.parametrize(
    ("pragmas", "kept"),
    [
        (["synchronous=extra"], True),
        (["journal_mode=wal", "synchronous=full"], True),
        (["synchronous=off"], False),
    ],
    ids=["rollback journal", "write-ahead log", "no sync"],
)
def test_a_database_keeps_what_it_has_committed_if_it_syncs(pragmas: list[str], kept: bool) -> None:
    # SQLite trusts its file system: names, locks, truncation, shared memory, and the order of what is synced.
    # Of a rollback journal only `extra` syncs the removal that commits: with `full` the last row is lost here.
    with volume_for_probing(UserSpace) as volume:
        python, file = [*volume.namespace.words(), sys.executable, "-c"], str(volume.data / "rows")
        with subprocess.Popen(
            [*python, WRITES, file, *pragmas], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout is not None
            assert writer.stdout.readline() == "written\n"
            volume.shut_down()
            writer.kill()
        volume.detach()
        volume.attach()
        said = subprocess.run([*python, READS, file], capture_output=True, text=True, check=True).stdout
    assert said.split() == ["ok", *(map(str, range(50)) if kept else [])]


NAMES: dict[str, tuple[Callable[[Path], object], Sequence[str]]] = {
    "a file whose name was not synced": (lambda folder: (folder / "new").write_text("x"), ["old"]),
    "a name that was synced with another file": (
        lambda folder: ((folder / "new").write_text("x"), synced(folder / "other")),
        ["new", "old", "other"],
    ),
    "a removal that was not synced": (lambda folder: (folder / "old").unlink(), ["old"]),
    "a removal that was": (lambda folder: ((folder / "old").unlink(), sync(folder)), []),
    "a rename that was not synced": (lambda folder: (folder / "old").rename(folder / "new"), ["old"]),
    "a rename that was": (lambda folder: ((folder / "old").rename(folder / "new"), sync(folder)), ["new"]),
}


def synced(path: Path) -> None:
    path.write_text("x")
    sync(path)


def sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def test_names_are_kept_as_ext4_keeps_them() -> None:
    with volume_for_probing(UserSpace) as volume:
        for number, (what, (change, _)) in enumerate(NAMES.items()):
            folder = volume.namespace.outside(volume.data) / str(number)
            folder.mkdir()
            synced(folder / "old")
            sync(folder)
            change(folder)
            volume.shut_down()
            volume.detach()
            volume.attach()
            found = sorted(path.name for path in folder.iterdir())
            assert found == NAMES[what][1], what


def test_an_ordinary_user_loses_power_as_well(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        here = "tests/systems/test_power_loss_in_user_space.py"
        said = run_tests_as_ordinary_user(f"{here}::test_an_ordinary_user_loses_power_as_well", 60, fuse=True)
        assert "1 passed" in said
        return
    assert dict(probe("storage", "power-loss").detail) == {"ext4": "it needs root", "fuse": "works"}
    with diaries(tmp_path, "power-loss", command=SYNCING) as room:
        time.sleep(0.3)
        assert write(room.cluster, "n1", "synced")
        fault = room.apply(storage("power-loss"), "n1")
        assert room.nemesis.heal(fault).failed == {}
        assert room.nemesis.landing(fault).landed, room.nemesis.landing(fault)
        assert lines(room.cluster, "n1") == ["synced"]
