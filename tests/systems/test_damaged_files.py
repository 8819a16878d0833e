"""Damaged files: digests prove the damage, the node's next start what came of it; nothing outside is touched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from refute.nemesis.errors import FaultInputError, NemesisError
from refute.nemesis.healing import heal_everything
from refute.nemesis.ledger import read_ledger
from refute.nemesis.mechanisms import probe
from refute.nemesis.storage import damaged_files
from tests.nemesis.conftest import Room, _own_registry  # noqa: F401 (a registry of its own for each test)
from tests.nemesis.diaries import diaries, left_in, lines, moved, storage, write
from tests.nemesis.peers import eventually
from tests.systems.test_power_loss import OWNER

pytestmark = pytest.mark.systems
LANDS = ("landing", "nothing left")
KINDS = ("torn-tail", "bit-flip", "lost-file", "swapped-file")


def hit(room: Room, kind: str, **parameters: object) -> str:
    """A diary of three lines, the first from before the last start, is damaged and read again."""
    assert write(room.cluster, "n1", "first")
    room.apply({"restart": "n1"}, "n1")
    assert write(room.cluster, "n1", "second")
    assert write(room.cluster, "n1", "third")
    fault = room.apply(storage(kind, **{"file": "diary", **parameters}), "n1")
    assert not room.cluster.node("n1").running
    assert room.nemesis.heal("n1").failed == {}
    return fault


@pytest.mark.parametrize("kind", KINDS)
def test_it_works_here_tried_out(kind: str) -> None:
    assert probe("storage", kind).works


@pytest.mark.fault("storage", "torn-tail", shows=LANDS)
def test_a_torn_tail_is_cut_off_by_a_careful_node(tmp_path: Path) -> None:
    with diaries(tmp_path, "torn-tail") as room:
        fault = hit(room, "torn-tail", bytes="4B")
        landing = room.nemesis.landing(fault)
        assert landing.landed, landing
        assert moved(landing)["injector"] == ["n1: digest of diary"]
        assert "n1: lines that name the error" in moved(landing)["victim"]
        assert "n1: diary is read, or made anew, after the damage" in moved(landing)["victim"]
        assert lines(room.cluster, "n1") == ["first", "second"]
        (kept,) = (tmp_path / "run" / "storage").glob("*.original")
        assert kept.read_bytes().endswith(b" third\n")


@pytest.mark.fault("storage", "bit-flip", shows=LANDS)
def test_a_node_that_refuses_a_flipped_bit_gets_its_file_back(tmp_path: Path) -> None:
    with diaries(tmp_path, "bit-flip") as room:
        fault = hit(room, "bit-flip")
        landing = room.nemesis.landing(fault)
        assert landing.landed, landing
        how = next(signal for signal in landing.signals if signal.name == "n1: how it starts")
        assert (how.before, how.during) == ("ready", "exit 3")
        assert lines(room.cluster, "n1") == ["first", "second", "third"]


@pytest.mark.fault("storage", "lost-file", shows=LANDS)
def test_a_lost_file_is_not_missed_by_a_careless_node(tmp_path: Path) -> None:
    with diaries(tmp_path, "lost-file") as room:
        fault = hit(room, "lost-file")
        landing = room.nemesis.landing(fault)
        assert landing.landed, landing
        assert landing.signals[0].during == "gone"
        assert lines(room.cluster, "n1") == []


@pytest.mark.fault("storage", "swapped-file", shows=LANDS)
def test_an_earlier_version_is_believed(tmp_path: Path) -> None:
    with diaries(tmp_path, "swapped-file") as room:
        fault = hit(room, "swapped-file")
        assert room.nemesis.landing(fault).landed, room.nemesis.landing(fault)
        assert lines(room.cluster, "n1") == ["first"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount an ext4 image")
def test_files_on_a_volume_can_be_damaged_too(tmp_path: Path) -> None:
    with diaries(tmp_path, "swapped-file", "power-loss") as room:
        fault = hit(room, "swapped-file")
        assert room.nemesis.landing(fault).landed, room.nemesis.landing(fault)
        assert lines(room.cluster, "n1") == ["first"]
        assert not (tmp_path / "run" / "data" / "n1" / "data" / "diary").exists(), "it is on the volume"


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=pytest.mark.fault("storage", kind, shows="not landing")) for kind in KINDS],
)
def test_a_file_that_stays_as_it_was_is_not_landed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    with diaries(tmp_path, kind) as room:
        monkeypatch.setattr(damaged_files, "damage", lambda *_: {})
        fault = hit(room, kind)
        assert not room.nemesis.landing(fault).landed
        assert moved(room.nemesis.landing(fault))["injector"] == []
        assert lines(room.cluster, "n1") == ["first", "second", "third"]


@pytest.mark.parametrize("kind", ["torn-tail", "swapped-file"])
def test_damage_that_no_node_reads_has_not_landed(tmp_path: Path, kind: str) -> None:
    with diaries(tmp_path, kind) as room:
        notes = tmp_path / "run" / "data" / "n1" / "notes"
        notes.write_text("of somebody else\n")
        room.apply({"restart": "n1"}, "n1")
        notes.write_text("of somebody else, later\n")
        fault = room.apply(storage(kind, file="notes"), "n1")
        room.nemesis.heal("n1")
        assert not room.nemesis.landing(fault).landed
        assert moved(room.nemesis.landing(fault)) == {"injector": ["n1: digest of notes"], "victim": []}


@pytest.mark.parametrize(
    ("pattern", "error", "words"),
    [
        ("../outside", FaultInputError, "leads out of the data directory"),
        ("/etc/passwd", FaultInputError, "leads out of the data directory"),
        ("nothing*", NemesisError, r"no file in its data directory matches 'nothing\*'; there are: diary"),
        ("link", NemesisError, "no file in its data directory matches"),
        ("folder/outside", NemesisError, "no file in its data directory matches"),
    ],
)
def test_nothing_outside_of_the_data_directory_can_be_named(
    tmp_path: Path, pattern: str, error: type[Exception], words: str
) -> None:
    outside = tmp_path / "elsewhere" / "outside"
    outside.parent.mkdir()
    outside.write_text("not ours")
    with diaries(tmp_path, "lost-file") as room:
        data = tmp_path / "run" / "data" / "n1"
        (data / "link").symlink_to(outside)
        (data / "folder").symlink_to(outside.parent)
        with pytest.raises(error, match=words):
            room.apply(storage("lost-file", file=pattern), "n1")
        assert room.cluster.node("n1").running
    assert outside.read_text() == "not ours"


def test_without_an_earlier_version_there_is_nothing_to_swap(tmp_path: Path) -> None:
    with diaries(tmp_path, "swapped-file") as room:
        assert write(room.cluster, "n1", "first")
        with pytest.raises(NemesisError, match="there is no earlier version of diary"):
            room.apply(storage("swapped-file", file="diary"), "n1")


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=pytest.mark.fault("storage", kind, shows="nothing left")) for kind in KINDS],
)
def test_when_the_owner_is_killed_nothing_is_left(tmp_path: Path, kind: str) -> None:
    root, parameters = Path(__file__).parents[2], None if kind == "swapped-file" else {"file": "diary"}
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path), kind, json.dumps(parameters)],
        cwd=root,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdout is not None
    with owner.stdout:
        assert owner.stdout.readline(), "the owner did not start"
        owner.kill()
        owner.wait()
    assert eventually(lambda: read_ledger(tmp_path / "run" / "ledger").closed, 20)
    assert left_in(tmp_path / "run") == []
    assert not (tmp_path / "run" / "storage" / "earlier").exists()
    assert heal_everything().clean
