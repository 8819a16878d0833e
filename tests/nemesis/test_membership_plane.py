"""A node leaves by the system's own command; another node says so; it is a member again afterwards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refute.history.fault import Landing
from refute.nemesis.errors import FaultInputError, NemesisError
from refute.nemesis.membership import plane as membership_plane
from tests.nemesis.conftest import Room
from tests.nemesis.owners import Owner, nothing_left
from tests.nemesis.peers import ask, eventually
from tests.nemesis.test_process_plane import moved

LIST = {"plane": "membership", "command": "leave", "undo": "join", "members": "list"}


def commands(file: Path) -> dict[str, list[str]]:
    """A system whose members stand in a file, one a line."""
    return {
        "list": ["cat", str(file)],
        "leave": ["sed", "-i", "/^{node}$/d", str(file)],
        "join": ["sh", "-c", f"echo {{node}} >> {file}"],
        "broken": ["sh", "-c", "echo not allowed >&2; exit 3"],
        "idle": ["true"],
    }


@pytest.fixture
def members(tmp_path: Path) -> Path:
    file = tmp_path / "members"
    file.write_text("n1\nn2\nn3\n")
    return file


@pytest.fixture
def clustered(open_room: Callable[..., Room], members: Path) -> Room:
    return open_room(3, commands=commands(members))


def fault(kind: str, **parameters: Any) -> dict[str, Any]:
    return {"fault": {"kind": kind, **LIST, **parameters}}


def landing_of(room: Room, name: str) -> Landing:
    assert room.nemesis.heal(name).failed == {}
    return room.nemesis.landing(name)


@pytest.mark.fault("membership", "remove", shows="landing")
def test_a_node_leaves_and_joins_again_empty(clustered: Room, members: Path) -> None:
    assert ask(clustered.cluster, "n3")["boots"] == 1
    name = clustered.apply(fault("remove"), "n3")
    assert members.read_text().split() == ["n1", "n2"]
    assert not clustered.cluster.node("n3").running
    landing = landing_of(clustered, name)
    assert landing.landed, landing.missing
    assert moved(landing) == {"injector": ["n3: the command"], "victim": ["members as n1 lists them"]}
    assert [landing.signals[1].before, landing.signals[1].during] == ["n1\nn2\nn3", "n1\nn2"]
    assert sorted(members.read_text().split()) == ["n1", "n2", "n3"]
    assert ask(clustered.cluster, "n3")["boots"] == 1  # it knows nothing of its first life
    assert (clustered.cluster.root / "aside" / f"{name}-3" / "boots").is_file()
    assert clustered.nemesis.heal(name).healed == ()
    assert sorted(members.read_text().split()) == ["n1", "n2", "n3"]


@pytest.mark.fault("membership", "replace", shows="landing")
def test_a_node_is_replaced_by_an_empty_one(clustered: Room, members: Path) -> None:
    name = clustered.apply(fault("replace"), "n1")
    assert clustered.nemesis.active() == ()
    assert sorted(members.read_text().split()) == ["n1", "n2", "n3"]
    landing = clustered.nemesis.landing(name)
    assert landing.landed, landing.missing
    assert landing.signals[1].name == "members as n2 lists them"
    assert landing.signals[1].during == "n2\nn3"
    assert ask(clustered.cluster, "n1")["boots"] == 1


def test_data_may_be_kept(clustered: Room) -> None:
    landing_of(clustered, clustered.apply(fault("remove", data="keep"), "n3"))
    assert ask(clustered.cluster, "n3")["boots"] == 2


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=pytest.mark.fault("membership", kind, shows="not landing"))
        for kind in ("remove", "replace")
    ],
)
def test_a_command_that_ends_well_and_changes_nothing_has_not_landed(
    clustered: Room, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(membership_plane, "_CHANGES_WITHIN_S", 0.3)
    name = clustered.apply(fault(kind, command="idle"), "n3")
    landing = landing_of(clustered, name)
    assert not landing.landed
    assert moved(landing) == {"injector": ["n3: the command"], "victim": []}


def test_a_command_that_fails_is_quoted_and_leaves_the_node_alone(clustered: Room) -> None:
    with pytest.raises(NemesisError, match=r"the command failed \(exit 3\): not allowed"):
        clustered.apply(fault("remove", command="broken"), "n3")
    assert clustered.nemesis.active() == ()
    assert ask(clustered.cluster, "n3")["boots"] == 1


def test_a_heal_whose_command_fails_is_loud_and_tried_again(clustered: Room, members: Path) -> None:
    name = clustered.apply(fault("remove", undo="broken"), "n3")
    failed = clustered.nemesis.heal(name).failed
    assert "the command that undoes it failed (exit 3): not allowed" in failed[name]
    assert clustered.nemesis.active() == (name,)
    members.write_text("n1\nn2\nn3\n")  # a person has done it by hand
    assert clustered.nemesis.heal(name).failed == {}
    assert ask(clustered.cluster, "n3")["boots"] == 1


@pytest.mark.parametrize(
    ("written", "nodes", "says"),
    [
        (fault("remove"), ("n1", "n2"), "name one node"),
        (fault("remove", undo="jion"), ("n1",), "no command 'jion'; there are: broken, idle, join"),
        ({"fault": {"plane": "membership", "kind": "remove"}}, ("n1",), "system's own command in command"),
        (fault("replace", version="next"), ("n1",), "no version 'next'"),
    ],
)
def test_what_is_no_fault_of_membership_is_refused(
    clustered: Room, written: dict[str, Any], nodes: tuple[str, ...], says: str
) -> None:
    with pytest.raises(FaultInputError, match=says):
        clustered.apply(written, *nodes)
    assert clustered.phases == []


@pytest.mark.fault("membership", "remove", shows="nothing left")
def test_the_guard_lets_a_node_join_again_when_the_owner_is_killed(
    own: Callable[..., Owner], members: Path
) -> None:
    asked = {key: value for key, value in LIST.items() if key != "plane"}
    owner = own(commands=commands(members), also=[["membership", "remove", asked, ["n3"]]])
    assert members.read_text().split() == ["n1", "n2"]
    owner.process.kill()
    assert eventually(lambda: owner.healed_by().get("f3") == "guard")
    assert sorted(members.read_text().split()) == ["n1", "n2", "n3"]
    assert eventually(lambda: nothing_left(owner))
