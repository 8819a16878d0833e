"""A spare joins by the system's own command, gets ready, and is gone again after the heal."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refute.nemesis.errors import FaultInputError, NemesisError
from refute.nemesis.marked import NAME
from refute.nemesis.mechanisms import wanted_kinds
from refute.nemesis.membership import plane as membership_plane
from refute.nemesis.membership import undo as membership_undo
from refute.plan.step import Await
from refute.system.cluster import Cluster
from refute.system.errors import ClusterError
from refute.system.observer import Seen
from refute.system.process_table import identify, processes_with_mark
from tests.nemesis.conftest import Room
from tests.nemesis.owners import Owner, nothing_left
from tests.nemesis.peers import ask, become, eventually, peer_spec
from tests.nemesis.test_membership_plane import commands, members
from tests.nemesis.test_process_plane import moved

__all__ = ["members"]
ADD = {"plane": "membership", "kind": "add", "command": "join", "undo": "leave", "members": "list"}


@pytest.fixture
def with_a_spare(open_room: Callable[..., Room], members: Path) -> Room:
    return open_room(3, spares=1, commands=commands(members))


def added(**parameters: Any) -> dict[str, Any]:
    return {"fault": {**ADD, **parameters}}


def of_the_spare(room: Room) -> list[int]:
    mark = f"{room.nemesis.environment['REFUTE_RUN']}/spare-n4"
    return [process.pid for process in processes_with_mark(NAME, mark)]


@pytest.mark.fault("membership", "add", shows="landing")
def test_a_spare_joins_serves_and_is_gone_after_the_heal(with_a_spare: Room, members: Path) -> None:
    room = with_a_spare
    assert room.cluster.present == ("n1", "n2", "n3")
    assert "n4" not in room.cluster.nodes
    name = room.apply(added(), "n4")
    assert members.read_text().split() == ["n1", "n2", "n3", "n4"]
    assert room.cluster.present == ("n1", "n2", "n3", "n4")
    assert ask(room.cluster, "n4")["boots"] == 1
    assert len(of_the_spare(room)) == 1
    assert NAME not in room.cluster.environment("n4")  # commands for it are no processes of it
    assert room.nemesis.heal(name).failed == {}
    landing = room.nemesis.landing(name)
    assert landing.landed, landing.missing
    assert moved(landing) == {
        "injector": ["n4: the command"],
        "victim": ["members as n1 lists them", "n4: it is ready"],
    }
    assert [landing.signals[1].before, landing.signals[1].during] == ["n1\nn2\nn3", "n1\nn2\nn3\nn4"]
    assert members.read_text().split() == ["n1", "n2", "n3"]
    assert room.cluster.present == ("n1", "n2", "n3")
    assert not room.cluster.node("n4").running
    assert of_the_spare(room) == []
    assert room.nemesis.heal(name).healed == ()


def test_a_spare_that_joins_again_begins_empty(with_a_spare: Room) -> None:
    room = with_a_spare
    first = room.apply(added(), "n4")
    room.nemesis.heal(first)
    room.apply(added(start="before"), "n4")
    assert ask(room.cluster, "n4")["boots"] == 1
    assert (room.cluster.root / "aside" / f"{first}-4" / "boots").is_file()


def test_an_added_node_is_one_of_all_until_it_is_gone(with_a_spare: Room) -> None:
    room = with_a_spare
    assert room.observer.resolve("all") == ("n1", "n2", "n3")
    name = room.apply(added(), "n4")
    assert room.observer.resolve("all") == ("n1", "n2", "n3", "n4")
    become(room.cluster, "n4", "leader", 7)
    seen = room.observer.wait_for(Await.model_validate({"leader": "known", "every_node": "accepts"}))
    assert isinstance(seen, Seen)
    assert seen.roles == {"leader": "n4"}
    room.nemesis.heal(name)
    assert room.observer.resolve("not n1") == ("n2", "n3")
    with pytest.raises(ClusterError, match="no node is leader now"):
        room.observer.resolve("leader")


def test_links_to_an_added_node_are_on_the_plane(with_a_spare: Room) -> None:
    room = with_a_spare
    room.apply(added(), "n4")
    assert eventually(lambda: ask(room.cluster, "n1")["received"].get("n4", 0) > 0, 20)
    cut = room.apply({"isolate": "n4"}, "n4")
    assert {"n4->n1", "n1->n4"} <= set(room.nemesis.landing(cut).targets)
    assert eventually(lambda: room.nemesis._planes["proxy"].measure().get("n4->n1.held_bytes", 0) > 0, 20)  # type: ignore[operator]
    assert room.nemesis.heal(cut).failed == {}


@pytest.mark.parametrize(
    ("plane", "isolated"),
    [
        ("proxy", {"isolate": "n1"}),
        pytest.param("netns", {"isolate": {"node": "n1", "plane": "netns"}}, marks=pytest.mark.systems),
    ],
)
def test_a_partition_that_is_on_covers_a_node_that_joins(
    open_room: Callable[..., Room], members: Path, plane: str, isolated: dict[str, Any]
) -> None:
    wanted = {"wanted": wanted_kinds([plane])}
    room = open_room(3, spares=1, commands=commands(members), nemesis=wanted)
    assert eventually(lambda: ask(room.cluster, "n1")["received"].get("n2", 0) > 0, 10)
    cut = room.apply(isolated, "n1")
    assert not [link for link in room.nemesis.landing(cut).targets if "n4" in link]
    joined = room.apply(added(), "n4")
    assert eventually(lambda: ask(room.cluster, "n2")["received"].get("n4", 0) > 0, 10)
    assert eventually(lambda: late_links(room, cut) == {"n4->n1"}, 10)
    assert "n4" not in ask(room.cluster, "n1")["received"]  # which for its part knows of no n4
    assert room.nemesis.heal(cut).failed == {}
    assert eventually(lambda: ask(room.cluster, "n1")["received"].get("n4", 0) > 0, 10)
    assert not [words for words in room.nemesis.landing(cut).missing if "n4" in words]
    assert late_links(room, cut) == {"n4->n1"}
    assert room.nemesis.heal(joined).failed == {}


def late_links(room: Room, fault: str) -> set[str]:
    late = [signal for signal in room.nemesis.landing(fault).signals if "joined later" in signal.name]
    return {signal.name.partition(",")[0] for signal in late if signal.moved}


@pytest.mark.fault("membership", "add", shows="not landing")
def test_a_node_that_serves_and_is_no_member_was_not_added(
    with_a_spare: Room, members: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(membership_plane, "_CHANGES_WITHIN_S", 0.3)
    room = with_a_spare
    name = room.apply(added(command="idle"), "n4")
    assert ask(room.cluster, "n4")["boots"] == 1
    assert room.nemesis.heal(name).failed == {}
    landing = room.nemesis.landing(name)
    assert not landing.landed
    assert landing.missing[0] == "members as n1 lists them did not move"
    assert of_the_spare(room) == []
    assert members.read_text().split() == ["n1", "n2", "n3"]


def test_a_node_that_never_gets_ready_is_taken_out_of_the_members_again(
    open_room: Callable[..., Room], members: Path
) -> None:
    broken = {"command": ["sh", "-c", "sleep 60"]}
    room = open_room(3, spares=1, commands=commands(members), versions={"broken": broken})
    room.cluster.spec = room.cluster.spec.model_copy(update={"ready_timeout": 0.5})
    with pytest.raises(ClusterError, match="n4"):
        room.apply(added(version="broken"), "n4")
    assert members.read_text().split() == ["n1", "n2", "n3"]
    assert room.nemesis.active() == ()
    assert room.cluster.present == ("n1", "n2", "n3")
    assert of_the_spare(room) == []


@pytest.mark.parametrize(
    ("command", "says"),
    [("broken", r"the command failed \(exit 3\): not allowed"), ("stuck", "the command did not end in 0 s")],
)
def test_a_command_that_does_not_do_it_leaves_no_node_behind(
    open_room: Callable[..., Room], members: Path, command: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Cluster.run_command
    monkeypatch.setattr(Cluster, "run_command", lambda *words, env: real(*words, timeout_s=0.2, env=env))
    room = open_room(3, spares=1, commands=commands(members) | {"stuck": ["sleep", "30"]})
    with pytest.raises(NemesisError, match=says):
        room.apply(added(command=command), "n4")
    assert room.nemesis.active() == ()
    assert "n4" not in room.cluster.nodes
    assert members.read_text().split() == ["n1", "n2", "n3"]


def test_a_heal_whose_command_fails_is_loud_and_tried_again(with_a_spare: Room, members: Path) -> None:
    room = with_a_spare
    name = room.apply(added(undo="broken"), "n4")
    failed = room.nemesis.heal(name).failed
    assert "the command that undoes it failed (exit 3): not allowed" in failed[name]
    assert ask(room.cluster, "n4")["boots"] == 1  # a member that was not told to leave is left running
    members.write_text("n1\nn2\nn3\n")
    assert room.nemesis.heal(name).failed == {}
    assert of_the_spare(room) == []


def test_only_a_spare_can_be_added_once_and_it_leaves_by_its_heal_alone(with_a_spare: Room) -> None:
    refused: list[tuple[tuple[str, ...], str]] = [
        (("n2",), "n2 is no spare; there are n4"),
        ((), "name one node"),
        (("n9",), "there is no node 'n9'"),
    ]
    for nodes, says in refused:
        with pytest.raises(FaultInputError, match=says):
            with_a_spare.apply(added(), *nodes)
    with pytest.raises(FaultInputError, match="n4 is a spare; heal the fault that added it"):
        with_a_spare.apply(added(kind="remove"), "n4")
    assert with_a_spare.phases == []
    with_a_spare.apply(added(), "n4")
    with pytest.raises(NemesisError, match="it was added already"):
        with_a_spare.apply(added(), "n4")


def test_a_system_without_spares_says_where_they_are_named(
    open_room: Callable[..., Room], members: Path
) -> None:
    with pytest.raises(FaultInputError, match="the system's description has none") as caught:
        open_room(2, commands=commands(members)).apply(added(), "n1")
    assert "spares" in str(caught.value.hint)


@pytest.mark.fault("membership", "add", shows="nothing left")
@pytest.mark.parametrize("moment", ["while it joins", "when it has joined"])
def test_the_guard_sends_a_spare_away_when_the_owner_is_killed(
    own: Callable[..., Owner], members: Path, moment: str
) -> None:
    asked = {key: value for key, value in ADD.items() if key not in ("plane", "kind")}
    if moment == "while it joins":  # the command lasts, and the owner is killed in it
        slow = {"join": ["sh", "-c", f"echo {{node}} >> {members}; exec sleep 1"]}
        owner = own(spares=1, commands=commands(members) | slow, at_last=["membership", "add", asked, ["n4"]])
        assert eventually(lambda: "n4" in members.read_text(), 15)
    else:
        owner = own(spares=1, commands=commands(members), also=[["membership", "add", asked, ["n4"]]])
        assert members.read_text().split() == ["n1", "n2", "n3", "n4"]
    owner.process.kill()
    assert eventually(lambda: owner.healed_by().get("f3") == "guard", 15)
    assert members.read_text().split() == ["n1", "n2", "n3"]
    assert eventually(lambda: nothing_left(owner), 15)
    assert not processes_with_mark(NAME, f"{owner.run}/spare-n4")


@pytest.mark.fault("membership", "add", shows="nothing left")
def test_what_a_command_does_after_its_owner_hangs_is_undone_too(
    own: Callable[..., Owner], members: Path, tmp_path: Path
) -> None:
    asked = {key: value for key, value in ADD.items() if key not in ("plane", "kind")}
    begun = tmp_path / "begun"
    late = {"join": ["sh", "-c", f"touch {begun}; sleep 2.5; echo {{node}} >> {members}"]}
    at_last = ["membership", "add", asked, ["n4"]]
    owner = own(spares=1, commands=commands(members) | late, at_last=at_last, hang_s=1.5)
    assert eventually(begun.exists, 15)
    os.kill(owner.process.pid, signal.SIGSTOP)
    try:
        assert eventually(lambda: owner.healed_by().get("f3") == "guard", 15)
        assert eventually(lambda: not processes_with_mark(NAME, f"{owner.run}/command-f3"))
        assert members.read_text().split() == ["n1", "n2", "n3"]
    finally:
        owner.process.kill()
    assert eventually(lambda: nothing_left(owner), 15)


def test_a_command_that_does_not_end_is_ended_before_the_members_are_looked_at(
    members: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(membership_undo, "_ENDS_WITHIN_S", 0.2)
    me = identify(os.getpid())
    assert me is not None
    by_hand = commands(members)
    handle = {
        "node": "n4",
        "cwd": str(members.parent),
        "env": {},
        "nodes": [[me.pid, me.started]],
        "list": by_hand["list"],
        "undo": ["sed", "-i", "/^n4$/d", str(members)],
        "before": "n1\nn2\nn3",
        "command": f"{members}/command",
    }
    joins = f"echo n4 >> {members}; exec sleep 60"
    environment = {**os.environ, NAME: str(handle["command"])}
    with subprocess.Popen(["sh", "-c", joins], env=environment) as command:
        assert eventually(lambda: "n4" in members.read_text())
        membership_undo.VERBS["rejoin"].undo(handle)
        assert command.wait() < 0
    assert members.read_text().split() == ["n1", "n2", "n3"]


def test_two_runs_add_spares_of_the_same_name(open_room: Callable[..., Room], tmp_path: Path) -> None:
    rooms = []
    for number in range(2):
        file = tmp_path / f"members{number}"
        file.write_text("n1\nn2\n")
        rooms.append(open_room(2, spares=("n4",), commands=commands(file)))
        rooms[-1].apply(added(), "n4")
    first, second = rooms
    assert first.nemesis.heal().failed == {}
    assert of_the_spare(first) == []
    assert len(of_the_spare(second)) == 1
    assert ask(second.cluster, "n4")["boots"] == 1


def test_a_spare_has_ports_of_its_own_and_a_number_after_the_nodes(tmp_path: Path) -> None:
    spec = peer_spec(2, spares=2)
    assert (spec.nodes, spec.spares) == (("n1", "n2"), ("n3", "n4"))
    with Cluster(spec, root=tmp_path, plan_dir=tmp_path) as cluster:
        assert set(cluster.ports) == {"n1", "n2", "n3", "n4"}
        assert cluster.variables("n4")["index"] == "4"
        assert sorted(part.split("=")[0] for part in cluster.variables("n4")["peers"].split(",")) == [
            "n1",
            "n2",
        ]
        assert "n3" not in cluster.variables("n1")["peers"]
        assert cluster.variables("n1")["addresses.client"].count(",") == 1


@pytest.mark.parametrize(
    ("spares", "says"),
    [(["n1"], "n1 is a spare and a node"), (["n4", "n4"], "two spares have the same name")],
)
def test_a_spare_is_nobody_else(spares: list[str], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        peer_spec(3, spares=spares)


@pytest.mark.systems
@pytest.mark.parametrize(
    ("plane", "hit"),
    [
        ("netns", {"isolate": {"node": "n4", "plane": "netns"}}),
        ("clock", {"fault": {"plane": "clock", "kind": "jump", "by": "60s"}}),
        ("storage/disk-full", {"fault": {"plane": "storage", "kind": "disk-full"}}),
        ("resource/freezer", {"fault": {"plane": "resource", "kind": "freezer"}}),
    ],
)
def test_an_added_node_has_its_place_on_a_plane_and_can_be_hit_there(
    open_room: Callable[..., Room], members: Path, plane: str, hit: dict[str, Any]
) -> None:
    wanted = {"wanted": wanted_kinds([plane])}
    room = open_room(3, spares=1, commands=commands(members), nemesis=wanted)
    name = room.apply(added(), "n4")
    assert eventually(lambda: ask(room.cluster, "n1")["received"].get("n4", 0) > 0, 10)
    fault = room.apply(hit, "n4")
    assert eventually(lambda: bool(moved(room.nemesis.landing(fault))["injector"]), 10)
    assert room.nemesis.heal(fault).failed == {}
    assert room.nemesis.heal(name).failed == {}
    assert room.nemesis.landing(name).landed, room.nemesis.landing(name).missing
    assert of_the_spare(room) == []
