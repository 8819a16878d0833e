"""Nodes are paused, killed and restarted; both sides prove it; nothing is left."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from refute.errors import RefuteError
from refute.history.fault import FaultPhase, Landing
from refute.nemesis.errors import FaultInputError, NemesisError
from refute.plan.document import PlanError
from refute.plan.step import Await
from refute.system.observer import Seen
from refute.system.process_table import family, identify, state
from tests.nemesis.conftest import Room
from tests.nemesis.peers import ask, become, eventually, peer_spec


def moved(landing: Landing) -> dict[str, list[str]]:
    return {
        side: [signal.name for signal in landing.signals if signal.side == side and signal.moved]
        for side in ("injector", "victim")
    }


@pytest.mark.fault("process", "pause", shows="landing")
def test_a_paused_node_stops_and_goes_on(room: Room) -> None:
    pid = room.cluster.node("n1").pid
    time.sleep(0.6)
    fault = room.apply({"pause": "n1"}, "n1")
    assert state(pid) == "T"
    time.sleep(0.3)
    assert room.nemesis.heal(fault).healed == (fault,)
    assert state(pid) in ("S", "R")
    landing = room.nemesis.landing(fault)
    assert landing.landed, landing
    assert moved(landing) == {"injector": ["n1: state"], "victim": ["n1: CPU time per second"]}
    assert landing.signals[1].during == 0
    assert ask(room.cluster, "n1")["pid"] == pid
    assert room.phases == ["f1 planned", "f1 applied", "f1 healing", "f1 healed"]
    assert [event.epoch for event in room.events] == [0, 1, 1, 2]


def test_what_has_left_the_session_of_a_node_is_paused_and_killed_with_it(
    open_room: Callable[..., Room],
) -> None:
    room = open_room(2, command=(*peer_spec().command, "--stray"))
    pid = room.cluster.node("n1").pid
    (stray,) = [process.pid for process in family(pid) if process.pid != pid]
    assert os.getsid(stray) != pid
    time.sleep(0.6)
    fault = room.apply({"pause": "n1"}, "n1")
    assert (state(pid), state(stray)) == ("T", "T")
    time.sleep(0.3)
    room.nemesis.heal(fault)
    assert state(stray) == "S"
    assert room.nemesis.landing(fault).landed
    killed = room.apply({"kill": "n1"}, "n1")
    assert state(stray) in ("", "Z", "X")
    room.nemesis.heal(killed)
    assert room.nemesis.landing(killed).landed


def test_a_pause_ends_after_its_time(room: Room) -> None:
    pid = room.cluster.node("n2").pid
    room.apply({"pause": "n2", "for": "300ms"}, "n2")
    assert state(pid) == "T"
    assert eventually(lambda: state(pid) != "T", 3)
    assert eventually(lambda: room.phases[-1] == "f1 healed")
    lasted_ms = (room.events[-2].time_ns - room.events[1].time_ns) / 1e6
    assert lasted_ms >= 300


@pytest.mark.fault("process", "kill", shows="landing")
def test_a_killed_node_is_gone_until_it_is_started(room: Room) -> None:
    time.sleep(0.3)
    fault = room.apply({"kill": "n3"}, "n3")
    assert str(room.cluster.node("n3").exit) == "SIGKILL"
    room.nemesis.heal("n3")
    landing = room.nemesis.landing(fault)
    assert landing.landed
    assert moved(landing)["victim"] == [f"n3: somebody listens on port {port}" for port in ("client", "peer")]
    assert ask(room.cluster, "n3")["boots"] == 2
    assert landing.signals[0].during == "SIGKILL"
    assert landing.signals[0].after == "running"


@pytest.mark.fault("process", "terminate", shows="landing")
def test_a_terminated_node_may_say_goodbye(room: Room) -> None:
    fault = room.apply({"terminate": "n3"}, "n3")
    assert str(room.cluster.node("n3").exit) == "exit 0"
    room.nemesis.heal(fault)
    assert room.nemesis.landing(fault).landed
    assert "asked to stop" in room.cluster.log_path("n3").read_text()


@pytest.mark.fault("process", "restart", shows="landing")
def test_a_restart_is_over_when_the_node_is_ready(open_room: Callable[..., Room]) -> None:
    command = [*open_room(1, started=False).cluster.spec.command, "--version", "second"]
    room = open_room(3, versions={"next": {"command": command}})
    fault = room.apply({"restart": "n1", "version": "next"}, "n1")
    assert ask(room.cluster, "n1")["version"] == "second"
    assert room.nemesis.active() == ()
    landing = room.nemesis.landing(fault)
    assert landing.landed, landing
    assert landing.signals[0].during == "exit 0"
    with pytest.raises(FaultInputError, match="no version 'third'"):
        room.apply({"restart": "n1", "version": "third"}, "n1")


def test_a_killed_node_can_come_back_in_another_version(open_room: Callable[..., Room]) -> None:
    command = [*open_room(1, started=False).cluster.spec.command, "--version", "second"]
    room = open_room(3, versions={"next": {"command": command}})
    room.apply({"kill": "n1"}, "n1")
    room.nemesis.heal("n1", version="next")
    assert ask(room.cluster, "n1")["version"] == "second"


@pytest.mark.fault("process", "rolling-restart", shows="landing")
def test_an_upgrade_passes_through_a_mixed_cluster_and_is_rolled_back(open_room: Callable[..., Room]) -> None:
    command = [*open_room(1, started=False).cluster.spec.command, "--version", "second"]
    room = open_room(3, versions={"next": {"command": command}, "tuned": {"env": {"TUNED": "yes"}}})

    def roll(version: str, *order: str) -> list[str]:
        written = {"plane": "process", "kind": "rolling-restart", "order": list(order), "version": version}
        fault = room.apply({"fault": written}, *order)
        assert eventually(lambda: room.phases[-1] == f"{fault} healed", 20)
        assert room.nemesis.landing(fault).landed
        return [ask(room.cluster, node)["version"] for node in ("n1", "n2", "n3")]

    assert roll("next", "n2") == ["first", "second", "first"]
    assert roll("next", "n1", "n3") == ["second", "second", "second"]
    assert roll("first", "n3", "n2", "n1") == ["first", "first", "first"]
    assert roll("tuned", "n1") == ["first", "first", "first"]  # the same build in another configuration
    environment = Path(f"/proc/{room.cluster.node('n1').pid}/environ").read_bytes()
    assert b"TUNED=yes" in environment
    assert [ask(room.cluster, node)["boots"] for node in ("n1", "n2", "n3")] == [4, 3, 3]


@pytest.mark.fault("process", "kill", shows="landing")
def test_a_node_is_killed_at_the_line_that_it_logs(room: Room) -> None:
    wanted = Await.model_validate({"lines": [{"node": "n2", "matches": "role leader term 77"}]})
    becoming = threading.Timer(0.1, become, [room.cluster, "n2", "leader", 77])
    becoming.start()
    seen = room.observer.wait_for(wanted)
    assert isinstance(seen, Seen)
    fault = room.apply({"kill": "n2"}, "n2", trigger=seen)
    becoming.join()
    assert room.cluster.log_path("n2").read_text().rstrip().endswith("role leader term 77")
    assert room.events[-1].trigger is not None
    room.nemesis.heal("n2")
    assert room.nemesis.landing(fault).landed


@pytest.mark.fault("process", "kill", shows="landing")
def test_a_node_is_killed_during_an_election(room: Room) -> None:
    become(room.cluster, "n1", "leader", 77)
    assert isinstance(room.observer.wait_for(Await.model_validate({"leader": "n1"})), Seen)
    stepping_down = threading.Timer(0.1, become, [room.cluster, "n1", "follower", 78])
    stepping_down.start()
    seen = room.observer.wait_for(Await.model_validate({"leader": "none"}))
    stepping_down.join()
    assert isinstance(seen, Seen)
    fault = room.apply({"kill": "n2"}, "n2", trigger=seen)
    assert {node: ask(room.cluster, node)["role"] for node in ("n1", "n3")} == {
        "n1": "follower",
        "n3": "follower",
    }
    applied = room.events[-1]
    assert applied.trigger is not None and applied.trigger["delay_ns"] >= 0
    room.nemesis.heal("n2")
    assert room.nemesis.landing(fault).landed


@pytest.mark.fault("process", "rolling-restart", shows="landing")
def test_a_rolling_restart_takes_one_node_after_the_other(room: Room) -> None:
    written = {"fault": {"plane": "process", "kind": "rolling-restart", "order": ["n2", "n1", "n3"]}}
    fault = room.apply(written, "n1", "n2", "n3")
    assert eventually(lambda: room.phases[-1] == f"{fault} healed", 20)
    assert [ask(room.cluster, node)["boots"] for node in ("n1", "n2", "n3")] == [2, 2, 2]
    landing = room.nemesis.landing(fault)
    assert landing.landed
    assert len(moved(landing)["injector"]) == 3
    starts = {node: room.cluster.node(node).started_ns for node in ("n1", "n2", "n3")}
    assert starts["n2"] < starts["n1"] < starts["n3"]


@pytest.mark.fault("process", "crash-loop", shows="landing")
def test_a_crash_loop_kills_again_and_again(room: Room) -> None:
    written = {"fault": {"plane": "process", "kind": "crash-loop", "node": "n1", "times": 3, "up": "150ms"}}
    fault = room.apply(written, "n1")
    assert eventually(lambda: room.phases[-1] == f"{fault} healed", 20)
    log = room.cluster.log_path("n1").read_text()
    assert log.count("--- refute: n1 starts") == 4
    assert room.nemesis.landing(fault).landed
    assert ask(room.cluster, "n1")["name"] == "n1"


def test_a_crash_loop_that_is_healed_early_ends_with_a_running_node(room: Room) -> None:
    written = {"fault": {"plane": "process", "kind": "crash-loop", "node": "n1", "times": 1000, "up": "50ms"}}
    fault = room.apply(written, "n1")
    time.sleep(0.3)
    assert room.nemesis.heal(fault).failed == {}
    pid = room.cluster.node("n1").pid
    time.sleep(0.2)
    assert room.cluster.node("n1").pid == pid
    assert ask(room.cluster, "n1")["pid"] == pid


@pytest.mark.fault("process", "pause", shows="not landing")
@pytest.mark.fault("process", "kill", shows="not landing")
def test_pausing_a_supervisor_whose_server_has_left_it_has_not_landed(served_from_outside: Room) -> None:
    # The pid that is signalled stops, and the one that serves goes on: only the victim's side shows it.
    room = served_from_outside
    serving = ask(room.cluster, "n1")["pid"]
    assert serving != room.cluster.node("n1").pid
    time.sleep(0.6)
    fault = room.apply({"pause": "n1"}, "n1")
    time.sleep(0.3)
    assert ask(room.cluster, "n1")["pid"] == serving
    room.nemesis.heal(fault)
    landing = room.nemesis.landing(fault)
    assert moved(landing) == {"injector": ["n1: state"], "victim": []}
    assert not landing.landed
    fault = room.apply({"kill": "n1"}, "n1")
    landing = room.nemesis.landing(fault)
    assert moved(landing) == {"injector": ["n1: how the process ended"], "victim": []}
    assert not landing.landed


def test_a_node_that_has_ended_cannot_be_paused(room: Room) -> None:
    room.cluster.kill("n1")
    with pytest.raises(NemesisError, match=r"n1: cannot pause it: it has ended \(SIGKILL\)"):
        room.apply({"pause": "n1"}, "n1")
    assert room.nemesis.active() == ()
    assert room.phases == []


@pytest.mark.fault("process", "pause", shows="landing")
@pytest.mark.fault("process", "kill", shows="landing")
def test_a_paused_node_is_not_paused_again_but_can_be_killed(room: Room) -> None:
    time.sleep(0.6)
    paused = room.apply({"pause": "n1"}, "n1")
    time.sleep(0.3)
    with pytest.raises(NemesisError, match="n1: it is paused already"):
        room.apply({"pause": "n1"}, "n1")
    killed = room.apply({"kill": "n1"}, "n1")
    assert room.nemesis.heal("all").failed == {}
    assert room.nemesis.landing(paused).landed
    assert room.nemesis.landing(killed).landed
    assert ask(room.cluster, "n1")["boots"] == 2


def test_healing_twice_does_no_harm(room: Room) -> None:
    fault = room.apply({"pause": "n1"}, "n1")
    assert room.nemesis.heal(fault).healed == (fault,)
    assert room.nemesis.heal(fault).healed == ()
    assert room.nemesis.heal("all").healed == ()
    assert room.phases.count("f1 healed") == 1


@pytest.mark.parametrize(
    ("written", "nodes", "says"),
    [
        ({"pause": "n9"}, ("n9",), "no node 'n9'"),
        ({"pause": None}, (), "pause: name a node"),
        ({"fault": {"plane": "process", "kind": "puase", "node": "n1"}}, ("n1",), "did you mean 'pause'"),
        ({"fault": {"plane": "proces", "kind": "pause", "node": "n1"}}, ("n1",), "no fault plane 'proces'"),
        (
            {"fault": {"plane": "process", "kind": "crash-loop", "node": "n1", "times": 0}},
            ("n1",),
            "from 1 on",
        ),
        ({"pause": "n1", "version": "x"}, ("n1",), "process pause takes no 'version'"),
        (
            {"fault": {"plane": "client", "kind": "reorder"}},
            (),
            "no clients of this run",
        ),
    ],
)
def test_what_is_no_fault_is_refused_and_leaves_no_trace(
    room: Room, written: dict[str, object], nodes: tuple[str, ...], says: str
) -> None:
    with pytest.raises((FaultInputError, PlanError, NemesisError), match=says):
        room.apply(written, *nodes)
    assert room.phases == []
    with pytest.raises(FaultInputError, match="'nothing' is no fault"):
        room.nemesis.heal("nothing")


def test_a_heal_that_fails_is_loud_is_retried_and_hides_nothing(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = room.apply({"pause": "n1"}, "n1")
    plane = room.nemesis._planes["process"]

    def fails(*_: object) -> None:
        raise RefuteError("the dog ate the signal")

    with monkeypatch.context() as patch:
        patch.setattr(plane, "heal", fails)
        healed = room.nemesis.heal(fault)
    assert healed.failed == {fault: "the dog ate the signal"}
    assert room.events[-1].phase is FaultPhase.HEAL_FAILED
    assert room.nemesis.active() == (fault,)
    assert room.nemesis.landing(fault).signals
    assert room.nemesis.heal("all").healed == (fault,)
    assert identify(room.cluster.node("n1").pid)
    assert state(room.cluster.node("n1").pid) != "T"
