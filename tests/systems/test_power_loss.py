"""Power loss: what was not synced is gone, what was is there; both sides prove it; nothing is left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from refute.nemesis.errors import FaultUnavailableError, NemesisError
from refute.nemesis.healing import guard_of, heal_everything
from refute.nemesis.ledger import read_ledger
from refute.nemesis.mechanisms import probe
from refute.nemesis.nemesis import Nemesis
from refute.nemesis.storage.volume import Volume
from refute.nemesis.storage.volumes import Volumes
from refute.nemesis.undo import verb
from refute.plan.step_notation import read_fault
from refute.system.cluster import Cluster
from refute.system.process_table import is_alive, state
from tests.nemesis.conftest import _own_registry  # noqa: F401 (a registry of its own for each test)
from tests.nemesis.diaries import SYNCING, answer, diaries, left_in, lines, moved, storage, used_by, write
from tests.nemesis.peers import eventually, peer_spec

pytestmark = [
    pytest.mark.systems,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount an ext4 image"),
]
CUT = "write EIO, synced probe there, unsynced probe gone"


def test_it_works_here_tried_out() -> None:
    assert probe("storage", "power-loss").works


@pytest.mark.fault("storage", "power-loss", shows=("landing", "nothing left"))
def test_what_was_written_without_a_sync_is_lost(tmp_path: Path) -> None:
    with diaries(tmp_path, "power-loss") as room:
        time.sleep(0.6)
        assert write(room.cluster, "n1", "acknowledged")
        fault = room.apply(storage("power-loss"), "n1")
        assert str(room.cluster.node("n1").exit) == "SIGKILL"
        assert room.nemesis.heal("n1").failed == {}
        landing = room.nemesis.landing(fault)
        assert landing.landed, landing
        assert moved(landing) == {
            "injector": ["n1: probe files over the cut"],
            "victim": ["n1: files of the node on the file system that was cut"],
        }
        assert lines(room.cluster, "n1") == []
        assert write(room.cluster, "n1", "later")
        assert lines(room.cluster, "n1") == ["later"]


@pytest.mark.fault("storage", "power-loss", shows=("landing", "nothing left"))
def test_what_was_synced_is_there(tmp_path: Path) -> None:
    with diaries(tmp_path, "power-loss", command=SYNCING) as room:
        time.sleep(0.6)
        written = [str(number) for number in range(20)]
        assert all(write(room.cluster, "n1", text) for text in written)
        fault = room.apply(storage("power-loss"), "n1")
        room.nemesis.heal("n1")
        assert room.nemesis.landing(fault).landed
        assert lines(room.cluster, "n1") == written


def test_a_kill_loses_nothing_where_power_loss_does(tmp_path: Path) -> None:
    with diaries(tmp_path, "power-loss") as room:
        assert write(room.cluster, "n1", "acknowledged")
        room.apply({"kill": "n1"}, "n1")
        room.nemesis.heal("n1")
        assert lines(room.cluster, "n1") == ["acknowledged"]


@pytest.mark.fault("storage", "power-loss", shows=("landing", "nothing left"))
def test_all_nodes_lose_power_at_one_moment(tmp_path: Path) -> None:
    with diaries(tmp_path, "power-loss", nodes=3) as room:
        nodes = room.cluster.spec.nodes
        time.sleep(0.6)
        assert all(write(room.cluster, node, "acknowledged") for node in nodes)
        fault = room.apply(storage("power-loss", "all"), *nodes)
        detail = next(event.detail for event in room.events if event.phase == "applied")
        assert detail["probes"] == dict.fromkeys(nodes, CUT)
        assert not any(room.cluster.node(node).running for node in nodes)
        assert room.nemesis.heal("all").failed == {}
        landing = room.nemesis.landing(fault)
        assert landing.landed, landing
        assert [lines(room.cluster, node) for node in nodes] == [[], [], []]


def test_no_node_does_anything_any_more_when_its_disk_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with diaries(tmp_path, "power-loss", nodes=2) as room:
        pids = [room.cluster.node(node).pid for node in ("n1", "n2")]
        assert not all(state(pid) == "T" for pid in pids)
        seen = []
        real = Volume.shut_down
        monkeypatch.setattr(
            Volume, "shut_down", lambda volume: (seen.append([state(pid) for pid in pids]), real(volume))
        )
        room.apply(storage("power-loss", "all"), "n1", "n2")
        assert seen == [["T", "T"], ["T", "T"]]
        assert room.nemesis.heal("all").failed == {}
        assert [lines(room.cluster, node) for node in ("n1", "n2")] == [[], []]


def test_an_owner_that_fails_before_the_cut_leaves_no_node_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with diaries(tmp_path, "power-loss") as room:
        monkeypatch.setattr(Volume, "shut_down", _fails)
        with pytest.raises(NemesisError, match="no disk"):
            room.apply(storage("power-loss"), "n1")
        assert write(room.cluster, "n1", "goes on")


def _fails(_: Volume) -> None:
    raise NemesisError("no disk")


def test_it_can_come_twice(tmp_path: Path) -> None:
    with diaries(tmp_path, "power-loss", command=SYNCING) as room:
        for text in ("first", "second"):
            time.sleep(0.3)
            assert write(room.cluster, "n1", text)
            fault = room.apply(storage("power-loss") | {"for": "50ms"}, "n1")
            assert eventually(lambda fault=fault: room.phases[-1] == f"{fault} healed", 20)  # type: ignore[misc]
            assert room.nemesis.landing(fault).landed
        assert lines(room.cluster, "n1") == ["first", "second"]


@pytest.mark.fault("storage", "power-loss", shows="not landing")
def test_a_cut_that_drops_nothing_has_not_landed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with diaries(tmp_path, "power-loss") as room:
        time.sleep(0.6)
        assert write(room.cluster, "n1", "acknowledged")
        monkeypatch.setattr(Volume, "shut_down", lambda volume: None)
        fault = room.apply(storage("power-loss"), "n1")
        room.nemesis.heal("n1")
        landing = room.nemesis.landing(fault)
        assert not landing.landed
        assert landing.signals[0].during == "write ok, synced probe there, unsynced probe there"
        assert lines(room.cluster, "n1") == ["acknowledged"]


@pytest.mark.fault("storage", "power-loss", shows="not landing")
def test_the_cut_of_another_file_system_has_not_landed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with diaries(tmp_path, "power-loss", nodes=2) as room:
        time.sleep(0.6)
        volumes = room.nemesis._planes["storage"]._volumes  # type: ignore[attr-defined]
        real = Volume.shut_down
        monkeypatch.setattr(Volume, "shut_down", lambda _: real(volumes.of["n2"]))
        fault = room.apply(storage("power-loss"), "n1")
        monkeypatch.undo()
        monkeypatch.setenv("REFUTE_STATE", str(tmp_path / "state"))
        assert not room.nemesis.landing(fault).landed
        assert "unsynced probe there" in str(room.nemesis.landing(fault).signals[0].during)


@pytest.mark.fault("storage", "power-loss", shows="not landing")
def test_a_node_that_keeps_nothing_on_its_volume_is_no_victim(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    command = [word if word != "{data}" else str(elsewhere) for word in SYNCING]
    with diaries(tmp_path, "power-loss", command=command, cwd=".") as room:
        time.sleep(0.6)
        fault = room.apply(storage("power-loss"), "n1")
        room.nemesis.heal("n1")
        landing = room.nemesis.landing(fault)
        assert not landing.landed
        assert moved(landing) == {"injector": ["n1: probe files over the cut"], "victim": []}


def test_a_node_without_its_volume_does_not_start_on_the_directory_beneath(tmp_path: Path) -> None:
    with diaries(tmp_path, "power-loss") as room:
        volumes: Volumes = room.nemesis._planes["storage"]._volumes  # type: ignore[attr-defined]
        room.cluster.kill("n1")
        volumes.of["n1"].detach()
        node = room.cluster.start_node("n1")
        assert str(node.wait(10)) == "exit 69"
        assert "the volume of this node is not mounted" in node.tail()
        volumes.of["n1"].attach()
        room.cluster.start_node("n1")
        room.cluster.wait_ready(["n1"])


def test_nodes_that_were_not_started_for_it_are_refused(tmp_path: Path) -> None:
    with (
        diaries(tmp_path) as room,
        pytest.raises(NemesisError, match=r"planes: \[storage/power-loss\]"),
    ):
        room.apply(storage("power-loss"), "n1")


def test_the_systems_own_commands_see_the_nodes_files(tmp_path: Path) -> None:
    with diaries(tmp_path, "power-loss", commands={"show": ["ls", "{data}"]}) as room:
        assert room.cluster.run_command("show", "n1").output.split() == ["diary"]


def test_where_no_volume_can_be_made_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr("refute.nemesis.storage.ext4_image.shutil.which", lambda *_, **__: None)
    with (
        pytest.raises(FaultUnavailableError, match=r"mkfs.ext4 is not installed"),
        diaries(tmp_path, "power-loss", file_system="ext4"),
    ):
        raise AssertionError("it was started")
    assert left_in(tmp_path / "run") == []


def test_a_node_can_lose_its_power_and_its_network(tmp_path: Path) -> None:
    spec = peer_spec(2)
    cluster = Cluster(spec, root=tmp_path / "run", plan_dir=tmp_path)
    wanted = frozenset({("storage", "power-loss"), ("netns", "drop")})
    with Nemesis(spec, cluster, run_dir=cluster.root, wanted=wanted) as nemesis:
        nemesis.prepare()
        cluster.start()
        cluster.wait_ready()
        time.sleep(0.5)
        cut = nemesis.apply(read_fault(storage("power-loss")), ["n1"])
        assert nemesis.heal(cut).failed == {}
        dropped = nemesis.apply(
            read_fault({"fault": {"plane": "netns", "kind": "drop", "links": ["n1<->n2"]}})
        )
        time.sleep(1.0)
        assert nemesis.heal(dropped).failed == {}
        assert nemesis.landing(cut).landed
        assert nemesis.landing(dropped).landed
    assert left_in(cluster.root) == []


OWNER = """
import json, sys, time
from pathlib import Path
from refute.nemesis.ledger import MARK
from tests.nemesis.diaries import diaries, storage, write
kind, parameters = sys.argv[2], json.loads(sys.argv[3])
more = json.loads(sys.argv[4]) if sys.argv[4:] else {}
with diaries(Path(sys.argv[1]), kind, nodes=2, **more) as room:
    if parameters is not None:
        write(room.cluster, "n1", "before")
        room.apply(storage(kind, **parameters), "n1")
    print(room.nemesis.environment[MARK], flush=True)
    print(room.cluster.address("n1", "client"), flush=True)
    time.sleep(600)
"""


@pytest.mark.fault("storage", "power-loss", shows="nothing left")
@pytest.mark.parametrize(
    ("kind", "file_system"),
    [("power-loss", "ext4"), ("power-loss", "fuse"), ("read-only", "ext4")],
)
@pytest.mark.parametrize("guard_too", [False, True], ids=["owner", "owner and guard"])
def test_when_the_owner_is_killed_nothing_is_left(
    tmp_path: Path, guard_too: bool, kind: str, file_system: str
) -> None:
    root = Path(__file__).parents[2]
    arguments = [str(tmp_path), kind, json.dumps({}), json.dumps({"file_system": file_system})]
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, *arguments], cwd=root, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    with owner.stdout:
        assert owner.stdout.readline(), "the owner did not start"
        assert used_by(tmp_path / "run"), "a run that is on has mounts and images"
        guard = guard_of(tmp_path / "run" / "ledger")
        assert guard is not None
        if guard_too:
            with suppress(ProcessLookupError):
                os.kill(guard.pid, 9)
        owner.kill()
        owner.wait()
    if guard_too:
        # Whoever heals by hand leaves the processes of a run to its guard, as long as that one lives.
        assert eventually(lambda: not is_alive(guard))
        assert heal_everything().clean
    else:
        assert eventually(lambda: read_ledger(tmp_path / "run" / "ledger").closed, 30)
    assert left_in(tmp_path / "run") == []
    assert eventually(lambda: not is_alive(guard))
    assert heal_everything().clean  # again does no harm


@pytest.mark.parametrize(
    ("kind", "file_system"),
    [("power-loss", "ext4"), ("power-loss", "fuse"), ("disk-full", "fuse"), ("io-error", None)],
)
def test_when_the_owner_hangs_its_fault_is_undone_and_its_nodes_go_on(
    tmp_path: Path, kind: str, file_system: str | None
) -> None:
    more = {"hang_s": 1.0, "command": SYNCING, "file_system": file_system}
    arguments = [str(tmp_path), kind, json.dumps({}), json.dumps(more)]
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, *arguments],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )
    ledger = tmp_path / "run" / "ledger"
    assert owner.stdout is not None
    try:
        with owner.stdout:
            run, address = owner.stdout.readline().strip(), owner.stdout.readline().strip()
        assert run, "the owner did not start"
        os.kill(owner.pid, signal.SIGSTOP)
        assert eventually(lambda: read_ledger(ledger).entries["f1"].healed_by == "guard", 20)
        assert "silent" in read_ledger(ledger).entries["f1"].why
        undos = read_ledger(ledger).entries["f1"].undos
        assert [verb(undo["verb"]).left(undo["handle"]) for undo in undos] == [None] * len(undos)
        if kind != "power-loss":  # there the node has lost its power, and the guard starts no nodes
            assert answer(address, b"after") == {"written": "after"}
    finally:
        os.kill(owner.pid, signal.SIGCONT)
        owner.terminate()
        owner.wait()
    assert eventually(lambda: read_ledger(ledger).closed, 30)
    assert left_in(tmp_path / "run") == []
    assert heal_everything().clean
