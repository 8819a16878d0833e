"""Disk full and read-only: the node's writes fail, what it has can be read, and all of it ends with the heal."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from refute.nemesis.errors import NemesisError
from refute.nemesis.mechanisms import probe
from refute.nemesis.storage import refused_writes
from refute.nemesis.storage.volume import Volume
from tests.nemesis.conftest import _own_registry  # noqa: F401 (a registry of its own for each test)
from tests.nemesis.diaries import SYNCING, ask, diaries, lines, moved, storage, write

pytestmark = [
    pytest.mark.systems,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount an ext4 image"),
]
ERRORS = {"disk-full": "No space left on device", "read-only": "Input/output error"}
LONG = "x" * 8192  # more than what is left of a block that the file has already


@pytest.mark.parametrize("kind", ["disk-full", "read-only"])
def test_it_works_here_tried_out(kind: str) -> None:
    assert probe("storage", kind).works, probe("storage", kind)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=pytest.mark.fault("storage", kind, shows=("landing", "nothing left")))
        for kind in ("disk-full", "read-only")
    ],
)
def test_writes_fail_until_it_is_healed(tmp_path: Path, kind: str) -> None:
    with diaries(tmp_path, kind, command=SYNCING) as room:
        time.sleep(0.4)
        assert write(room.cluster, "n1", "before")
        fault = room.apply(storage(kind), "n1")
        assert ask(room.cluster, "n1", LONG.encode())["error"] in (ERRORS[kind], "Read-only file system")
        assert lines(room.cluster, "n1") == ["before"]
        time.sleep(0.4)
        assert room.nemesis.heal(fault).failed == {}
        landing = room.nemesis.landing(fault)
        assert landing.landed, landing
        assert len(moved(landing)["victim"]) == 2  # as the node sees it, and what it says
        assert write(room.cluster, "n1", LONG)
        assert lines(room.cluster, "n1") == ["before", LONG]
        again = room.apply(storage(kind), "n1")
        assert room.nemesis.heal(again).failed == {}


def test_some_bytes_may_be_left_free(tmp_path: Path) -> None:
    with diaries(tmp_path, "disk-full", command=SYNCING) as room:
        fault = room.apply(storage("disk-full", free="1MiB"), "n1")
        written = 0
        while written < 1000 and write(room.cluster, "n1", LONG):
            written += 1
        assert 100 < written < 140
        room.nemesis.heal(fault)
        assert room.nemesis.landing(fault).landed


def test_power_loss_makes_no_room_on_a_full_disk(tmp_path: Path) -> None:
    with diaries(tmp_path, "disk-full", "power-loss", command=SYNCING) as room:
        full = room.apply(storage("disk-full"), "n1")
        cut = room.apply(storage("power-loss"), "n1")
        room.nemesis.heal(cut)
        room.cluster.wait_ready()
        assert ask(room.cluster, "n1", LONG.encode())["error"] == ERRORS["disk-full"]
        room.nemesis.heal(full)
        assert write(room.cluster, "n1", LONG)


@pytest.mark.fault("storage", "disk-full", shows="not landing")
def test_the_filling_of_another_file_system_has_not_landed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with diaries(tmp_path, "disk-full", nodes=2) as room:
        volumes = room.nemesis._planes["storage"]._volumes  # type: ignore[attr-defined]
        real = refused_writes.fill
        monkeypatch.setattr(refused_writes, "fill", lambda _, free: real(volumes.of["n2"], free))
        fault = room.apply(storage("disk-full"), "n1")
        assert write(room.cluster, "n1", LONG)
        refused_writes.empty(volumes.of["n2"])
        room.nemesis.heal(fault)
        assert not room.nemesis.landing(fault).landed
        assert room.nemesis.landing(fault).signals[0].during == "ok"


@pytest.mark.fault("storage", "read-only", shows="not landing")
def test_an_error_that_the_kernel_never_saw_has_not_landed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with diaries(tmp_path, "read-only") as room:
        monkeypatch.setattr(refused_writes, "make_read_only", Volume.sync)
        fault = room.apply(storage("read-only"), "n1")
        assert write(room.cluster, "n1", LONG)
        room.nemesis.heal(fault)
        assert not room.nemesis.landing(fault).landed


def test_a_full_disk_is_not_filled_again(tmp_path: Path) -> None:
    with diaries(tmp_path, "disk-full", "read-only") as room:
        room.apply(storage("disk-full"), "n1")
        with pytest.raises(NemesisError, match="disk-full is on there already"):
            room.apply(storage("read-only"), "n1")


ORDINARY = """
import os, sys, time
from pathlib import Path
import pytest
from refute.nemesis.errors import FaultUnavailableError
from refute.nemesis.mechanisms import probe
from refute.nemesis.nemesis import Nemesis
from refute.system.cluster import Cluster
from tests.nemesis.diaries import SYNCING, ask, diaries, diary_spec, lines, storage, write
assert os.geteuid() == 1000
assert "it needs root" in probe("storage", "power-loss").reason
assert probe("storage", "disk-full").works, probe("storage", "disk-full")
with diaries(Path(sys.argv[1]), "disk-full", command=SYNCING) as room:
    time.sleep(0.4)
    assert write(room.cluster, "n1", "before")
    fault = room.apply(storage("disk-full"), "n1")
    assert ask(room.cluster, "n1", b"x" * 8192)["error"] == "No space left on device"
    time.sleep(0.4)
    assert room.nemesis.heal(fault).failed == {}
    assert room.nemesis.landing(fault).landed, room.nemesis.landing(fault)
    assert write(room.cluster, "n1", "x" * 8192)
    room.apply({"kill": "n1"}, "n1")
    room.nemesis.heal("n1")
    assert len(lines(room.cluster, "n1")) == 2
wanted = frozenset({("storage", "disk-full"), ("netns", "drop")})
cluster = Cluster(diary_spec(), root=Path(sys.argv[1]) / "both", plan_dir=Path(sys.argv[1]))
with pytest.raises(FaultUnavailableError, match="only root can give a node both"):
    with Nemesis(cluster.spec, cluster, run_dir=cluster.root, wanted=wanted) as nemesis:
        nemesis.prepare()
print("done")
"""


def test_an_ordinary_user_fills_memory_in_a_namespace_of_its_own(tmp_path: Path) -> None:
    # As a user that is not root and has no privilege: in a user namespace of the test.
    words = ["unshare", "--user", "--map-user=1000", "--map-group=1000", "--", sys.executable, "-c", ORDINARY]
    done = subprocess.run(
        [*words, str(tmp_path)],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "REFUTE_STATE": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "done\n", done.stderr
