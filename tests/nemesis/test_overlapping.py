"""Faults that overlap at one node: undoing one does not wait for what another keeps from happening."""

from __future__ import annotations

from collections.abc import Callable

from refute.history.fault import FaultPhase
from tests.nemesis.conftest import Room
from tests.nemesis.peers import eventually


def test_a_restarted_node_that_is_paused_since_is_not_waited_for(open_room: Callable[..., Room]) -> None:
    room = open_room(ready_timeout="1s")
    first = room.cluster.node("n1").pid
    loop = {"plane": "process", "kind": "crash-loop", "node": "n1", "times": 1, "up": "1s"}
    crashing = room.apply({"fault": loop}, "n1")
    # The loop has started the node anew and lets it run for a second: in that second it is paused.
    assert eventually(lambda: room.cluster.node("n1").pid != first and room.cluster.node("n1").running)
    paused = room.apply({"pause": "n1"}, "n1")
    assert eventually(lambda: crashing not in room.nemesis.active())
    assert FaultPhase.HEAL_FAILED not in {event.phase for event in room.events}
    assert room.nemesis.heal(paused).failed == {}
    room.cluster.wait_ready(["n1"])


def test_a_killed_node_is_ready_again_when_its_heal_returns(open_room: Callable[..., Room]) -> None:
    room = open_room()
    fault = room.apply({"kill": "n1"}, "n1")
    assert room.nemesis.heal(fault).failed == {}
    assert room.cluster.wait_ready(["n1"], timeout_s=0.5) < 0.5


def test_a_node_that_does_not_get_ready_after_its_restart_is_told(open_room: Callable[..., Room]) -> None:
    room = open_room(ready_timeout="1s")
    fault = room.apply({"kill": "n1"}, "n1")
    room.cluster.spec = room.cluster.spec.model_copy(update={"command": ("/bin/sleep", "60")})
    healed = room.nemesis.heal(fault)
    assert fault in healed.failed
    assert "n1" in healed.failed[fault]
    assert room.events[-1].phase is FaultPhase.HEAL_FAILED
