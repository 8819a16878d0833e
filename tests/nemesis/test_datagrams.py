"""Datagrams between nodes are lost, late, doubled, out of turn and damaged, and nodes say so themselves."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refute.nemesis.errors import FaultInputError
from tests.nemesis.conftest import Room
from tests.nemesis.peers import ask, eventually

PROGRAM = Path(__file__).with_name("gossip.py")
FROM_N1 = {
    name: {"http": "/", "value": f"from.n1.{name}"} for name in ("heard", "doubled", "out_of_turn", "missing")
}
GOSSIP: dict[str, Any] = {
    "command": [
        *("{python}", str(PROGRAM), "--name", "{node}", "--client", "{port.client}"),
        *("--peer", "{port.peer}", "--peers", "{peers}"),
    ],
    "links": {"port": "peer", "transport": "udp"},
    "ready": {"http": "/"},
    "states": {**FROM_N1, "garbled": {"http": "/", "value": "garbled"}},
}


@pytest.fixture
def gossip(open_room: Callable[..., Room]) -> Room:
    room = open_room(3, **GOSSIP)
    assert eventually(lambda: all(heard(room, "n2", other) > 20 for other in ("n1", "n3")))
    return room


def has_a_baseline(room: Room) -> bool:
    """Whether enough was read while datagrams flowed to say how many those are in a second."""
    flowing = [each for each in room.nemesis._sampler._samples if each.values.get("n1->n2.received_bytes")]
    return len(flowing) >= 3


def heard(room: Room, receiver: str, sender: str, what: str = "heard") -> int:
    count: int = ask(room.cluster, receiver, "/")["from"].get(sender, {}).get(what, 0)
    return count


def applied(room: Room, kind: str, state: str, rule: str = "increases", **more: Any) -> str:
    """A fault of the datagrams from n1 to n2, with a state of n2 as evidence that n2 itself gives."""
    evidence = [{"node": "n2", "state": state, "rule": rule}]
    room.nemesis.watch(list(room_signals(evidence)))
    time.sleep(0.7)
    assert eventually(lambda: has_a_baseline(room), 30)
    written = {"plane": "proxy", "kind": kind, "links": ["n1->n2"], **more}
    return room.apply({"fault": written, "evidence": evidence})


def room_signals(written: list[dict[str, Any]]) -> Any:
    from refute.plan.step import VictimSignal

    return (VictimSignal.model_validate(each) for each in written)


def proven(room: Room, fault: str) -> bool:
    """Landed, and the victim says so itself."""
    landing = room.nemesis.landing(fault)
    own = [signal for signal in landing.signals if signal.source == "read from the node"]
    return landing.landed and all(signal.moved for signal in own) and bool(own)


@pytest.mark.fault("proxy", "partition", shows="landing")
def test_datagrams_of_a_cut_link_are_lost(gossip: Room) -> None:
    fault = applied(gossip, "partition", "heard", "stops")
    assert eventually(lambda: proven(gossip, fault))
    before = heard(gossip, "n2", "n1")
    others = heard(gossip, "n2", "n3")
    assert eventually(lambda: heard(gossip, "n2", "n3") > others + 20)
    assert heard(gossip, "n2", "n1") == before
    gossip.nemesis.heal(fault)
    assert eventually(lambda: heard(gossip, "n2", "n1") > before + 20)
    assert heard(gossip, "n2", "n1", "missing") >= 20


def test_or_they_are_delivered_late_by_choice(gossip: Room) -> None:
    fault = gossip.apply({"partition": {"links": ["n1->n2"]}, "in_flight": "deliver"})
    others = heard(gossip, "n2", "n3")
    assert eventually(lambda: heard(gossip, "n2", "n3") > others + 20)
    gossip.nemesis.heal(fault)
    before = heard(gossip, "n2", "n1")
    assert eventually(lambda: heard(gossip, "n2", "n1") > before + 20)
    assert heard(gossip, "n2", "n1", "missing") == 0


@pytest.mark.parametrize("distribution", ["uniform", "normal", "pareto"])
@pytest.mark.fault("proxy", "delay", shows="landing")
def test_datagrams_with_times_of_their_own_overtake_each_other(gossip: Room, distribution: str) -> None:
    by = {"by": "60ms", "jitter": "50ms", "distribution": distribution}
    fault = applied(gossip, "delay", "out_of_turn", **by)
    assert eventually(lambda: proven(gossip, fault))
    gossip.nemesis.heal(fault)
    assert eventually(lambda: heard(gossip, "n2", "n1", "missing") == 0)


@pytest.mark.parametrize(
    ("kind", "state", "more"),
    [
        pytest.param(
            "loss", "missing", {"share": 0.3}, marks=pytest.mark.fault("proxy", "loss", shows="landing")
        ),
        pytest.param(
            "duplicate",
            "doubled",
            {"share": 0.3},
            marks=pytest.mark.fault("proxy", "duplicate", shows="landing"),
        ),
        pytest.param(
            "reorder",
            "out_of_turn",
            {"share": 0.3},
            marks=pytest.mark.fault("proxy", "reorder", shows="landing"),
        ),
        pytest.param(
            "corrupt",
            "garbled",
            {"probability": 0.3},
            marks=pytest.mark.fault("proxy", "corrupt", shows="landing"),
        ),
    ],
)
def test_some_datagrams_are_hit_and_the_others_are_not(
    gossip: Room, kind: str, state: str, more: dict[str, Any]
) -> None:
    fault = applied(gossip, kind, state, **more)
    assert eventually(lambda: proven(gossip, fault)), gossip.nemesis.landing(fault)
    before = heard(gossip, "n2", "n1")
    assert eventually(lambda: heard(gossip, "n2", "n1") > before + 10)
    gossip.nemesis.heal(fault)
    for other in ("missing", "doubled", "out_of_turn"):
        assert heard(gossip, "n2", "n3", other) == 0
        assert heard(gossip, "n1", "n2", other) == 0


@pytest.mark.fault("proxy", "loss", shows="not landing")
@pytest.mark.fault("proxy", "duplicate", shows="not landing")
@pytest.mark.fault("proxy", "reorder", shows="not landing")
def test_datagrams_that_go_past_the_plane_are_not_hit(open_room: Callable[..., Room]) -> None:
    peers = ",".join(f"n{n}=127.0.0.1:{{n{n}.port.peer}}" for n in (1, 2))
    command = [*GOSSIP["command"][:-1], peers]
    room = open_room(2, **(GOSSIP | {"command": command}))
    assert eventually(lambda: heard(room, "n2", "n1") > 20)
    for kind in ("loss", "duplicate", "reorder"):
        fault = room.apply({"fault": {"plane": "proxy", "kind": kind, "links": ["n1->n2"], "share": 1.0}})
        before = heard(room, "n2", "n1")
        assert eventually(lambda before=before: heard(room, "n2", "n1") > before + 20)  # type: ignore[misc]
        room.nemesis.heal(fault)
        landing = room.nemesis.landing(fault)
        assert not landing.landed
        assert landing.idle == ("n1->n2",)
    assert (heard(room, "n2", "n1", "missing"), heard(room, "n2", "n1", "doubled")) == (0, 0)


@pytest.mark.systems
@pytest.mark.parametrize(
    ("kind", "more", "name"),
    [
        ("partition", {}, "n2: bytes per second from n1"),
        ("delay", {"by": "60ms"}, "n2: how long bytes from n1 are on their way, ms"),
        ("loss", {"share": 0.3}, "n2: datagrams from n1 that are missing"),
        ("duplicate", {"share": 0.3}, "n2: datagrams from n1 that are too many"),
        ("reorder", {"share": 0.3}, "n2: datagrams from n1 that are taken after a later one"),
        ("corrupt", {"probability": 0.3}, "n2: datagrams from n1 that are not as they were sent"),
    ],
)
def test_root_sees_past_the_proxy_what_arrives_at_the_victim(
    gossip: Room, kind: str, more: dict[str, Any], name: str
) -> None:
    assert eventually(lambda: has_a_baseline(gossip))
    fault = gossip.apply({"fault": {"plane": "proxy", "kind": kind, "links": ["n1->n2"], **more}})
    seen = []

    def lands() -> bool:
        seen.append(gossip.nemesis.landing(fault))
        return seen[-1].landed

    assert eventually(lands), seen[-1]
    gossip.nemesis.heal(fault)
    victim = next(signal for signal in seen[-1].signals if signal.side == "victim")
    assert victim.name == name
    assert "kernel" in victim.source
    assert victim.moved


@pytest.mark.systems
def test_a_cut_that_datagrams_get_round_has_not_landed(open_room: Callable[..., Room]) -> None:
    both = "{peers},past=127.0.0.1:{n2.port.peer}"
    room = open_room(2, **(GOSSIP | {"command": [*GOSSIP["command"][:-1], both]}))
    assert eventually(lambda: heard(room, "n2", "n1") > 40)
    assert eventually(lambda: has_a_baseline(room), 30)
    fault = room.apply({"partition": {"links": ["n1->n2"]}})
    before = heard(room, "n2", "n1")
    assert eventually(lambda: heard(room, "n2", "n1") > before + 40)

    def shows() -> list[bool]:
        injector, victim, _ = room.nemesis.landing(fault).signals
        return [injector.moved, victim.contradicts]

    assert eventually(lambda: shows() == [True, True])
    room.nemesis.heal(fault)
    assert not room.nemesis.landing(fault).landed


@pytest.mark.parametrize("transport", ["udp", "both"])
def test_senders_that_share_one_address_are_told_apart(
    open_room: Callable[..., Room], transport: str
) -> None:
    links = {"port": "peer", "callers": "shared", "transport": transport}
    room = open_room(3, **(GOSSIP | {"links": links}))
    assert eventually(lambda: all(heard(room, "n2", other) > 20 for other in ("n1", "n3")))
    assert eventually(lambda: has_a_baseline(room), 30)
    fault = room.apply({"partition": {"links": ["n1->n2"]}})
    before, others = heard(room, "n2", "n1"), heard(room, "n2", "n3")
    assert eventually(lambda: heard(room, "n2", "n3") > others + 20)
    assert heard(room, "n2", "n1") <= before + 1  # one may have been on its way
    assert eventually(lambda: room.nemesis.landing(fault).landed), room.nemesis.landing(fault)
    room.nemesis.heal()


def test_what_is_for_streams_is_refused_for_datagrams_and_the_other_way_round(
    gossip: Room, open_room: Callable[..., Room]
) -> None:
    for kind in ("throttle", "bandwidth", "reset", "half-open", "truncate", "slow-close"):
        with pytest.raises(FaultInputError, match=f"proxy {kind} is for streams"):
            gossip.apply({"fault": {"plane": "proxy", "kind": kind, "links": ["n1->n2"]}})
    streams = open_room(2)
    for kind in ("loss", "duplicate", "reorder"):
        with pytest.raises(FaultInputError, match=f"proxy {kind} is for datagrams"):
            streams.apply({"fault": {"plane": "proxy", "kind": kind, "links": ["n1->n2"]}})
    assert gossip.phases == streams.phases == []
