"""Real packets between namespaces are dropped, refused and lost; both sides prove it; nothing is left."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from typing import Any

import pytest

from refute.history.fault import Landing
from refute.nemesis.errors import FaultInputError, NemesisError
from refute.nemesis.mechanisms import wanted_kinds
from tests.nemesis.conftest import Room
from tests.nemesis.peers import ask, eventually, peer_spec
from tests.nemesis.test_process_plane import moved
from tests.nemesis.test_proxy_plane import all_flow, flowing

pytestmark = pytest.mark.systems

ON_NETNS = {"nemesis": {"wanted": wanted_kinds(["netns"])}}


@pytest.fixture
def room(open_room: Callable[..., Room]) -> Room:
    made: Room = open_room(**ON_NETNS)
    assert eventually(lambda: all_flow(made), 15)
    time.sleep(0.6)  # a baseline of at least two samples
    return made


def during(
    room: Room, written: dict[str, Any], *nodes: str, seconds: float = 0.6
) -> tuple[set[str], Landing]:
    """The links on which pings still arrive while a fault is on, and its evidence after it was healed."""
    fault = room.apply(written, *nodes)
    time.sleep(0.1)
    still = flowing(room)
    time.sleep(seconds)
    healed = room.nemesis.heal(fault)
    assert healed.failed == {}
    assert eventually(lambda: all_flow(room), 10), "it does not flow again"
    return still, room.nemesis.landing(fault)


@pytest.mark.fault("netns", "drop", shows="landing")
def test_packets_of_an_isolated_node_are_dropped_both_ways(room: Room) -> None:
    still, landing = during(room, {"isolate": {"node": "n1", "plane": "netns"}}, "n1")
    assert still == {"n2->n3", "n3->n2"}
    assert landing.landed, landing
    assert (landing.plane, landing.kind) == ("netns", "drop")
    assert landing.targets == ("n1->n2", "n1->n3", "n2->n1", "n3->n1")
    caught = {s.name: s for s in landing.signals if s.side == "injector"}
    assert set(caught) == {f"{link}: packets caught" for link in landing.targets}
    assert all(s.moved and s.after is None and s.target in landing.targets for s in caught.values())
    assert landing.proven == landing.targets
    arriving = [s for s in landing.signals if s.side == "victim" and s.rule == "stops"]
    assert len(arriving) == 4
    assert all(s.before and s.during == 0 for s in arriving)
    assert "n1: TCP segments sent again" in moved(landing)["victim"]


@pytest.mark.parametrize(
    ("written", "cut"),
    [
        ({"isolate": {"node": "n1", "direction": "out"}, "plane": "netns"}, {"n1->n2", "n1->n3"}),
        ({"isolate": {"node": "n1", "direction": "in"}, "plane": "netns"}, {"n2->n1", "n3->n1"}),
        ({"partition": {"links": ["n3->n1"]}, "plane": "netns"}, {"n3->n1"}),
        ({"partition": {"groups": [["n1"], ["n2"]]}, "plane": "netns"}, {"n1->n2", "n2->n1"}),
        ({"partition": {"shape": "ring"}, "plane": "netns"}, {"n1->n2", "n2->n3", "n3->n1"}),
    ],
)
def test_a_shape_cuts_its_links_and_no_others(room: Room, written: dict[str, Any], cut: set[str]) -> None:
    still, landing = during(room, written, "n1")
    assert set(landing.targets) == cut
    assert not still & cut
    assert landing.landed, landing
    other = {f"{a}->{b}" for a in ("n1", "n2", "n3") for b in ("n1", "n2", "n3") if a != b} - cut
    assert not any(link in signal.name for signal in landing.signals for link in other)


@pytest.mark.fault("netns", "reject", shows="landing")
def test_a_rejected_link_tells_its_sender_at_once(room: Room) -> None:
    still, landing = during(room, {"reset": {"links": ["n1->n2"]}, "plane": "netns"})
    assert "n1->n2" not in still
    assert landing.landed, landing
    assert "n1: connections refused or reset" in moved(landing)["victim"]


def test_the_way_of_clients_is_cut_where_it_is_asked_for(room: Room) -> None:
    assert ask(room.cluster, "n1")["name"] == "n1"
    fault = room.apply({"partition": {"links": ["client->n1"]}, "plane": "netns"})
    with pytest.raises(OSError):
        ask(room.cluster, "n1")
    assert ask(room.cluster, "n2")["name"] == "n2"
    room.nemesis.heal(fault)
    assert eventually(lambda: all_flow(room), 15)
    assert room.nemesis.landing(fault).landed, room.nemesis.landing(fault)


def test_a_node_that_is_down_refuses_its_clients_and_is_found_by_the_process_plane(room: Room) -> None:
    fault = room.apply({"kill": "n1"}, "n1")
    time.sleep(0.3)
    with pytest.raises(ConnectionRefusedError):
        ask(room.cluster, "n1")
    room.nemesis.heal(fault)
    assert room.nemesis.landing(fault).landed, room.nemesis.landing(fault)
    assert eventually(lambda: all_flow(room), 10)

    def a_pause_lands() -> bool:
        paused = room.apply({"pause": "n1"}, "n1")
        time.sleep(0.4)
        room.nemesis.heal(paused)
        return room.nemesis.landing(paused).landed

    # A node that has just begun has no CPU time per second yet that could stop.
    assert eventually(a_pause_lands)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("drop", marks=pytest.mark.fault("netns", "drop", shows="not landing")),
        pytest.param("reject", marks=pytest.mark.fault("netns", "reject", shows="not landing")),
    ],
)
def test_a_link_on_which_nobody_talks_is_no_partition(open_room: Callable[..., Room], kind: str) -> None:
    silent = open_room(links={"port": "peer"}, peers={"each": "", "join": ""}, **ON_NETNS)
    time.sleep(0.6)
    fault = silent.apply({"fault": {"plane": "netns", "kind": kind, "links": ["n1->n2"]}})
    time.sleep(0.4)
    silent.nemesis.heal(fault)
    landing = silent.nemesis.landing(fault)
    assert not landing.landed
    assert landing.idle == ("n1->n2",)


@pytest.mark.fault("netns", "drop", shows="not landing")
def test_a_partition_of_which_one_link_does_not_show_has_not_landed(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane = room.nemesis._planes["netns"]
    monkeypatch.setattr(plane._network, "ask", without_link(plane._network.ask, ["n2", "n1"]))  # type: ignore[attr-defined]
    still, landing = during(room, {"partition": {"links": ["n1<->n2"]}, "plane": "netns"})
    assert "n1->n2" not in still
    assert not landing.landed
    assert landing.proven == ("n1->n2",)
    assert any(lack.startswith("n2->n1: n1: packets per second from n2 was") for lack in landing.missing)


def without_link(ask: Callable[..., Any], link: list[str]) -> Callable[..., Any]:
    def asked(do: str, **fields: Any) -> Any:
        if do == "apply":
            fields["links"] = [list(each) for each in fields["links"] if list(each) != link]
        return ask(do, **fields)

    return asked


def test_a_rule_that_the_kernel_does_not_have_is_an_error_and_not_a_fault(room: Room) -> None:
    # The network is asked for a table that is there already: nft refuses, and nothing is on.
    plane = room.nemesis._planes["netns"]
    plane._require().ask("apply", fault="f1", kind="drop", links=[["n1", "n2"]], nodes=[], parameters={})  # type: ignore[attr-defined]
    with pytest.raises(NemesisError, match="f1 is on already"):
        room.apply({"partition": {"links": ["n1->n2"]}, "plane": "netns"})
    assert eventually(lambda: all_flow(room), 10)


def test_proxy_and_netns_are_not_had_together(open_room: Callable[..., Room]) -> None:
    with pytest.raises(FaultInputError, match="proxy and netns"):
        open_room(nemesis={"wanted": wanted_kinds(["netns/drop", "proxy/delay"])})


@pytest.mark.fault("netns", "loss", shows="landing")
def test_a_share_of_the_packets_is_lost_and_sent_again(room: Room) -> None:
    written = {"plane": "netns", "kind": "loss", "node": "n1", "share": 0.3}
    _, landing = during(room, {"fault": written}, "n1", seconds=1.5)
    assert landing.landed, landing
    assert landing.proven == landing.targets
    assert len(landing.targets) == 4


@pytest.mark.fault("netns", "loss", shows="not landing")
def test_loss_of_so_few_packets_that_none_was_lost_has_not_landed(room: Room) -> None:
    _, landing = during(
        room, {"fault": {"plane": "netns", "kind": "loss", "links": ["n1->n2"], "share": 0.000001}}
    )
    assert not landing.landed
    assert "injector" in landing.missing[0]


@pytest.mark.fault("netns", "flapping", shows="landing")
def test_a_flapping_link_changes_again_and_again(room: Room) -> None:
    written = {"plane": "netns", "kind": "flapping", "links": ["n1<->n2"], "down": "150ms", "up": "100ms"}
    _, landing = during(room, {"fault": written}, seconds=1.2)
    assert landing.landed, landing
    changes = next(s for s in landing.signals if s.name.startswith("changes"))
    assert changes.needed
    assert changes.during is not None
    assert changes.during > 3


@pytest.mark.fault("netns", "flapping", shows="not landing")
def test_a_link_that_has_changed_only_once_does_not_flap(room: Room) -> None:
    written = {"plane": "netns", "kind": "flapping", "links": ["n1<->n2"], "down": "60s", "up": "1s"}
    _, landing = during(room, {"fault": written})
    assert not landing.landed
    assert landing.missing == ("changes of the links after the first did not move",)


@pytest.mark.fault("netns", "link-down", shows="landing")
def test_a_node_whose_interface_is_down_hears_nobody_not_even_clients(room: Room) -> None:
    fault = room.apply({"fault": {"plane": "netns", "kind": "link-down", "node": "n1"}}, "n1")
    time.sleep(0.5)
    with pytest.raises(OSError):
        ask(room.cluster, "n1")
    assert room.nemesis.heal(fault).failed == {}
    assert eventually(lambda: all_flow(room), 15)
    landing = room.nemesis.landing(fault)
    assert landing.landed, landing
    assert landing.proven == ("n1",)


@pytest.mark.fault("netns", "link-down", shows="not landing")
def test_an_interface_that_is_still_up_is_not_down(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    plane = room.nemesis._planes["netns"]
    monkeypatch.setattr(plane._network, "ask", at_another_node(plane._network.ask))  # type: ignore[attr-defined]
    fault = room.apply({"fault": {"plane": "netns", "kind": "link-down", "node": "n1"}}, "n1")
    time.sleep(0.4)
    room.nemesis.heal(fault)
    landing = room.nemesis.landing(fault)
    assert not landing.landed
    assert landing.proven == ()
    assert eventually(lambda: all_flow(room), 15)


def at_another_node(ask: Callable[..., Any]) -> Callable[..., Any]:
    def asked(do: str, **fields: Any) -> Any:
        return ask(do, **fields | ({"nodes": ["n2"]} if do == "apply" else {}))

    return asked


@pytest.mark.fault("netns", "delay", shows="landing")
def test_packets_are_kept_for_a_time_and_the_round_trip_shows_it(room: Room) -> None:
    written = {"delay": {"links": ["n1->n2"], "by": "120ms", "jitter": "20ms"}, "plane": "netns"}
    still, landing = during(room, written, seconds=1.5)
    assert "n1->n2" in still
    assert landing.landed, landing
    grown = next(s for s in landing.signals if s.rule == "reaches")
    assert grown.before is not None
    assert grown.before < 60 <= grown.during  # type: ignore[operator]
    assert room.nemesis._planes["netns"].measure().get("f1.kept") is None


@pytest.mark.fault("netns", "delay", shows="not landing")
def test_a_delay_of_the_wrong_link_has_not_landed(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    plane = room.nemesis._planes["netns"]
    monkeypatch.setattr(plane._network, "ask", on_another_link(plane._network.ask))  # type: ignore[attr-defined]
    _, landing = during(room, {"delay": {"links": ["n1->n2"], "by": "100ms"}, "plane": "netns"})
    assert not landing.landed
    assert landing.proven == ()


@pytest.mark.fault("netns", "rate", shows="landing")
def test_a_link_passes_no_more_than_its_rate(room: Room) -> None:
    written = {"throttle": {"links": ["n1->n2", "n3->n2"], "rate": "2kB/s"}, "plane": "netns"}
    _, landing = during(room, written, seconds=1.5)
    assert (landing.kind, landing.landed) == ("rate", True), landing
    assert landing.proven == ("n1->n2", "n3->n2")


@pytest.mark.fault("netns", "rate", shows="not landing")
def test_a_rate_that_nobody_reaches_has_not_landed(room: Room) -> None:
    _, landing = during(room, {"throttle": {"links": ["n1->n2"], "rate": "50MB/s"}, "plane": "netns"})
    assert not landing.landed
    assert landing.idle == ("n1->n2",)


def test_two_shapers_of_one_receiver_are_taken_off_one_by_one(room: Room) -> None:
    first = room.apply({"throttle": {"links": ["n1->n2"], "rate": "2kB/s"}, "plane": "netns"})
    second = room.apply({"throttle": {"links": ["n3->n2"], "rate": "2kB/s"}, "plane": "netns"})
    assert room.nemesis.heal(first).failed == {}
    reading = room.nemesis._planes["netns"].measure()
    assert f"{first}.n1->n2.packets" not in reading
    assert f"{second}.n3->n2.packets" in reading
    assert room.nemesis.heal(second).failed == {}
    assert eventually(lambda: all_flow(room), 15)


def named(open_room: Callable[..., Room]) -> Room:
    """Peers that know each other by name, and ask for the name at each ping."""
    made = open_room(
        command=[*peer_spec().command, "--reconnect"],
        peers={"each": "{peer}={peer}:{port}"},
        nemesis={"wanted": wanted_kinds(["netns/dns"])},
    )
    assert eventually(lambda: all_flow(made), 15)
    time.sleep(0.8)
    return made


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(each, marks=pytest.mark.fault("netns", "dns", shows="landing"))
        for each in ("nothing", "failure", "stale")
    ],
)
def test_a_node_whose_names_are_tampered_with_reaches_nobody_anew(
    open_room: Callable[..., Room], answer: str
) -> None:
    room = named(open_room)
    written = {"fault": {"plane": "netns", "kind": "dns", "node": "n1", "answer": answer}}
    fault = room.apply(written, "n1")
    time.sleep(0.3)
    assert not {link for link in flowing(room) if link.startswith("n1->")}
    time.sleep(0.6)
    assert room.nemesis.heal(fault).failed == {}
    assert eventually(lambda: all_flow(room), 15)
    landing = room.nemesis.landing(fault)
    assert landing.landed, landing
    assert landing.proven == ("n1",)


@pytest.mark.fault("netns", "dns", shows="not landing")
def test_a_node_that_asks_for_no_names_is_not_hit(open_room: Callable[..., Room]) -> None:
    made = open_room(nemesis={"wanted": wanted_kinds(["netns/dns"])})
    assert eventually(lambda: all_flow(made), 15)
    _, landing = during(made, {"fault": {"plane": "netns", "kind": "dns", "node": "n1"}}, "n1")
    assert not landing.landed
    assert landing.idle == ("n1",)


def on_another_link(ask: Callable[..., Any]) -> Callable[..., Any]:
    def asked(do: str, **fields: Any) -> Any:
        return ask(do, **fields | ({"links": [["n3", "n2"]]} if do == "apply" else {}))

    return asked


def test_a_rule_of_somebody_else_in_a_node_s_namespace_stays(room: Room) -> None:
    network = room.nemesis._planes["netns"]._network  # type: ignore[attr-defined]
    theirs = "create table inet theirs\n"
    within = [*as_holder_of(network), "nft"]
    subprocess.run([*within, "-f", "-"], input=theirs, text=True, check=True)
    during(room, {"isolate": {"node": "n1", "plane": "netns"}}, "n1")
    listed = subprocess.run([*within, "list", "tables"], capture_output=True, text=True, check=True).stdout
    assert "theirs" in listed
    assert "_f1" not in listed


def as_holder_of(network: Any) -> list[str]:
    # The tests are root in whatever user namespace the network has: they made it.
    words = ["nsenter", f"--net=/proc/{network.anchors['n1']}/ns/net"]
    if network._with_users:
        words.insert(1, f"--user=/proc/{network.anchors['n1']}/ns/user")
    return words
