"""Directed links are cut, slowed, reset and damaged; both sides prove it; nothing is left."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from refute.history.fault import Landing, Signal
from refute.nemesis.errors import FaultInputError, NemesisError
from refute.nemesis.proxy.relay import SWITCH
from tests.nemesis.conftest import Room
from tests.nemesis.peers import ask, eventually
from tests.nemesis.test_process_plane import moved


def counts(room: Room) -> dict[str, int]:
    """Pings received so far, by directed link."""
    return {
        f"{sender}->{receiver}": count
        for receiver in room.cluster.spec.nodes
        for sender, count in ask(room.cluster, receiver)["received"].items()
    }


def flowing(room: Room, seconds: float = 0.25) -> set[str]:
    """The directed links on which pings arrive."""
    before = counts(room)
    time.sleep(seconds)
    return {link for link, count in counts(room).items() if count > before.get(link, 0)}


def all_flow(room: Room) -> bool:
    return len(flowing(room, 0.1)) == 6


def victims_of(landing: Landing) -> list[Signal]:
    return [signal for signal in landing.signals if signal.side == "victim"]


def lines(room: Room, receiver: str, sender: str) -> list[int]:
    return [int(number) for number in ask(room.cluster, receiver, "/lines").get(sender, [])]


@pytest.fixture(params=["in C", "by Python"])
def either_room(
    request: pytest.FixtureRequest, open_room: Callable[..., Room], monkeypatch: pytest.MonkeyPatch
) -> Room:
    """Nodes that talk to each other over links whose bytes are moved in C, or by Python."""
    if request.param == "by Python":
        monkeypatch.setenv(SWITCH, "off")
    return open_room()


@pytest.mark.fault("proxy", "partition", shows="landing")
def test_an_isolated_node_is_heard_by_nobody_and_hears_nobody(either_room: Room) -> None:
    room = either_room
    assert eventually(lambda: all_flow(room))
    time.sleep(0.5)
    fault = room.apply({"isolate": "n1"}, "n1")
    time.sleep(0.1)
    assert flowing(room) == {"n2->n3", "n3->n2"}
    room.nemesis.heal(fault)
    assert eventually(lambda: all_flow(room))
    landing = room.nemesis.landing(fault)
    assert landing.landed
    assert landing.targets == ("n1->n2", "n1->n3", "n2->n1", "n3->n1")
    assert len(moved(landing)["injector"]) == 4
    assert len(moved(landing)["victim"]) == 4
    assert all(s.during == 0 and "own sockets" in s.source for s in victims_of(landing))
    # Afterwards bytes arrive again, and how many is read for a second.
    assert eventually(lambda: all(s.after for s in victims_of(room.nemesis.landing(fault))))


def test_what_was_held_is_delivered_late(room: Room) -> None:
    assert eventually(lambda: all_flow(room))
    room.apply({"isolate": "n1", "in_flight": "deliver"}, "n1")
    time.sleep(0.4)
    room.nemesis.heal()
    assert eventually(lambda: all_flow(room))
    numbers = lines(room, "n2", "n1")
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_or_it_is_lost_with_its_connection(room: Room) -> None:
    assert eventually(lambda: all_flow(room))
    room.apply({"isolate": "n1", "in_flight": "drop"}, "n1")
    time.sleep(0.4)
    room.nemesis.heal()
    assert eventually(lambda: all_flow(room))
    numbers = lines(room, "n2", "n1")
    missing = set(range(numbers[0], numbers[-1])) - set(numbers)
    assert len(missing) > 10
    links = room.nemesis._planes["proxy"].measure()
    assert links["n1->n2.dropped_bytes"] > 0  # type: ignore[operator]
    # A connection on which nothing was held goes on.
    assert links["n2->n3.connections"] == 1


@pytest.mark.fault("proxy", "partition", shows="landing")
@pytest.mark.parametrize(("direction", "cut"), [("out", "n1->"), ("in", "->n1")])
def test_a_one_way_cut_holds_that_way_only_on_both_connections(room: Room, direction: str, cut: str) -> None:
    # n1's answers on the connections that n2 and n3 have opened belong to the way out of n1 as well.
    assert eventually(lambda: all_flow(room))
    time.sleep(0.5)
    fault = room.apply({"isolate": {"node": "n1", "direction": direction}}, "n1")
    time.sleep(0.05)
    answered = ask(room.cluster, "n2")["answered"].get("n1", 0)
    still = flowing(room)
    assert {link for link in counts(room) if link not in still} == {
        link for link in counts(room) if cut in link
    }
    assert ask(room.cluster, "n2")["answered"]["n1"] == answered
    landing = room.nemesis.landing(fault)
    assert landing.landed
    assert all(cut in target for target in landing.targets)
    room.nemesis.heal()
    assert eventually(lambda: all_flow(room))


@pytest.mark.parametrize(
    ("written", "cut"),
    [
        ({"partition": {"groups": [["n1"], ["n2"]]}}, {"n1->n2", "n2->n1"}),
        ({"partition": {"links": ["n3->n1"]}}, {"n3->n1"}),
        ({"partition": {"shape": "ring"}}, {"n1->n2", "n2->n3", "n3->n1"}),
    ],
)
def test_other_shapes(room: Room, written: dict[str, Any], cut: set[str]) -> None:
    assert eventually(lambda: all_flow(room))
    room.apply(written)
    time.sleep(0.1)
    assert set(counts(room)) - flowing(room) == cut
    room.nemesis.heal()
    assert eventually(lambda: all_flow(room))


def test_two_partitions_at_once_are_healed_one_by_one(room: Room) -> None:
    assert eventually(lambda: all_flow(room))
    first = room.apply({"partition": {"links": ["n1->n2", "n1->n3"]}})
    second = room.apply({"partition": {"links": ["n1->n2", "n2->n3"]}})
    room.nemesis.heal(first)
    time.sleep(0.1)
    assert set(counts(room)) - flowing(room) == {"n1->n2", "n2->n3"}
    room.nemesis.heal(second)
    assert eventually(lambda: all_flow(room))


def test_roles_and_aliases_name_links(room: Room) -> None:
    from tests.nemesis.peers import become

    become(room.cluster, "n2", "leader", 3)
    fault = room.apply({"partition": {"links": ["leader->old"]}}, aliases={"old": "n3"})
    assert room.nemesis.landing(fault).targets == ("n2->n3",)


def test_a_connection_opened_during_a_partition_is_held_until_it_is_healed(room: Room) -> None:
    room.cluster.kill("n1")
    fault = room.apply({"isolate": "n1"}, "n1")
    room.cluster.start_node("n1")
    room.cluster.wait_ready(["n1"])
    time.sleep(0.3)
    assert ask(room.cluster, "n1")["received"] == {}
    links = room.nemesis._planes["proxy"].measure()
    assert links["n1->n2.held_connections"] >= 1  # type: ignore[operator]
    room.nemesis.heal(fault)
    assert eventually(lambda: all_flow(room))
    assert lines(room, "n2", "n1")[-1] > 0


def test_or_it_is_refused(room: Room) -> None:
    room.apply({"isolate": {"node": "n1", "new_connections": "refuse"}}, "n1")
    room.cluster.restart("n1")
    room.cluster.wait_ready(["n1"])
    assert eventually(lambda: room.nemesis._planes["proxy"].measure()["n1->n2.refused_connections"] > 1)  # type: ignore[operator]
    room.nemesis.heal()
    assert eventually(lambda: all_flow(room))


def landed_within(room: Room, fault: str, seconds: float = 3.0) -> Landing:
    assert eventually(lambda: room.nemesis.landing(fault).landed, seconds), room.nemesis.landing(fault)
    return room.nemesis.landing(fault)


@pytest.mark.fault("proxy", "delay", shows="landing")
@pytest.mark.parametrize("distribution", ["uniform", "normal", "pareto"])
def test_a_delay_keeps_bytes_back_in_order(room: Room, distribution: str) -> None:
    assert eventually(lambda: all_flow(room))
    time.sleep(0.5)
    by = {"links": ["n1->n2"], "by": "80ms", "jitter": "20ms", "distribution": distribution}
    fault = room.apply({"delay": by})
    landing = landed_within(room, fault)
    (victim,) = victims_of(landing)
    assert victim.source == "sent and not yet received, by the sockets of n1 and n2"
    assert victim.before < 40 == victim.expected <= victim.during  # type: ignore[operator]
    room.nemesis.heal()
    numbers = lines(room, "n2", "n1")
    assert numbers == sorted(numbers)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("throttle", marks=pytest.mark.fault("proxy", "throttle", shows="landing")),
        pytest.param("bandwidth", marks=pytest.mark.fault("proxy", "bandwidth", shows="landing")),
    ],
)
def test_a_limit_lets_so_many_bytes_pass(room: Room, kind: str) -> None:
    assert eventually(lambda: all_flow(room))
    time.sleep(0.5)
    written = {"links": ["n1->n2"], "rate": "200B/s"}
    verb = (
        {"throttle": written}
        if kind == "throttle"
        else {"fault": {"plane": "proxy", "kind": kind, **written}}
    )
    fault = room.apply(verb)
    before = counts(room)
    time.sleep(1.0)
    passed = {link: count - before[link] for link, count in counts(room).items()}
    assert 50 <= passed["n1->n2"] <= 450  # answers share the link
    assert passed["n1->n3"] > 700
    (victim,) = victims_of(landed_within(room, fault))
    assert victim.source == "sent and not yet received, by the sockets of n1 and n2"
    room.nemesis.heal()


@pytest.mark.fault("proxy", "reset", shows="landing")
def test_a_reset_ends_connections_and_nodes_come_back(room: Room) -> None:
    assert eventually(lambda: all_flow(room))
    before = room.nemesis._planes["proxy"].measure()["n1->n2.connections"]
    fault = room.apply({"reset": {"links": ["n1->n2"]}})
    landing = landed_within(room, fault)
    assert moved(landing) == {
        "injector": ["n1->n2: reset_connections"],
        "victim": ["n2: connections with n1"],
    }
    assert victims_of(landing)[0].source == "n2's own sockets"
    assert eventually(lambda: room.nemesis._planes["proxy"].measure()["n1->n2.connections"] > before)  # type: ignore[operator]
    room.nemesis.heal()
    assert eventually(lambda: all_flow(room))


@pytest.mark.fault("proxy", "half-open", shows="landing")
def test_a_half_open_connection_is_sent_to_in_vain(room: Room) -> None:
    assert eventually(lambda: all_flow(room))
    fault = room.apply({"fault": {"plane": "proxy", "kind": "half-open", "links": ["n1->n2"]}})
    landing = landed_within(room, fault)
    assert moved(landing)["injector"] == ["n1->n2: swallowed_bytes"]
    assert "n1->n2" not in flowing(room)
    room.nemesis.heal()
    assert eventually(lambda: all_flow(room))


@pytest.mark.fault("proxy", "corrupt", shows="landing")
def test_corrupted_bytes_arrive(room: Room) -> None:
    assert eventually(lambda: all_flow(room))
    fault = room.apply(
        {"fault": {"plane": "proxy", "kind": "corrupt", "links": ["n1->n2"], "probability": 1.0}}
    )
    landed_within(room, fault)
    assert eventually(lambda: ask(room.cluster, "n2")["bad_lines"] > 0)
    room.nemesis.heal()
    assert ask(room.cluster, "n3")["bad_lines"] == 0


@pytest.mark.fault("proxy", "truncate", shows="landing")
def test_a_truncated_stream_ends_in_the_middle(room: Room) -> None:
    assert eventually(lambda: all_flow(room))
    fault = room.apply({"fault": {"plane": "proxy", "kind": "truncate", "links": ["n1->n2"], "after": "5B"}})
    landed_within(room, fault)
    assert eventually(lambda: ask(room.cluster, "n2")["bad_lines"] > 0)
    room.nemesis.heal()
    assert eventually(lambda: all_flow(room))


@pytest.mark.fault("proxy", "slow-close", shows="landing")
def test_a_late_close(room: Room) -> None:
    assert eventually(lambda: all_flow(room))
    fault = room.apply({"fault": {"plane": "proxy", "kind": "slow-close", "links": ["n1->n2"], "by": "60s"}})
    room.cluster.kill("n1")
    measure = room.nemesis._planes["proxy"].measure
    assert eventually(lambda: measure()["n1->n3.open"] == 0)
    assert measure()["n1->n2.open"] >= 1  # type: ignore[operator]
    (victim,) = victims_of(landed_within(room, fault))
    assert victim.name == "n2: looks that found a connection open whose other end n1 had closed"
    room.nemesis.heal(fault)  # the ends that were kept back are passed on
    assert eventually(lambda: measure()["n1->n2.open"] == 0)


@pytest.mark.fault("proxy", "partition", shows="not landing")
def test_a_partition_of_links_that_nothing_flows_through_has_not_landed(room: Room) -> None:
    # n1 is stopped: nothing is sent to be held, and what does not arrive proves nothing.
    room.apply({"pause": "n1"}, "n1")
    time.sleep(0.3)
    fault = room.apply({"partition": {"links": ["n1->n2"]}})
    time.sleep(0.4)
    landing = room.nemesis.landing(fault)
    assert moved(landing)["injector"] == []
    assert not landing.landed
    room.nemesis.heal()
    assert not room.nemesis.landing(fault).landed


def test_a_cut_in_the_wrong_direction_shows_itself(room: Room) -> None:
    assert eventually(lambda: all_flow(room))
    time.sleep(0.4)
    fault = room.apply({"partition": {"links": ["n2->n1"]}})
    time.sleep(0.3)
    landing = room.nemesis.landing(fault)
    assert {signal.name.split(":")[0] for signal in landing.signals if signal.side == "victim"} == {"n1"}
    before = counts(room)["n1->n2"]
    time.sleep(0.1)
    assert counts(room)["n1->n2"] > before


@pytest.mark.fault("proxy", "partition", shows="landing")
def test_peers_that_share_one_address_are_told_apart(open_room: Callable[..., Room]) -> None:
    room = open_room(3, links={"port": "peer", "callers": "shared"})
    assert eventually(lambda: all_flow(room))
    time.sleep(0.5)
    fault = room.apply({"partition": {"links": ["n1->n2"]}})
    time.sleep(0.05)
    assert set(counts(room)) - flowing(room) == {"n1->n2"}
    assert room.nemesis.landing(fault).landed
    room.nemesis.heal()
    assert eventually(lambda: all_flow(room))
    values = room.nemesis._planes["proxy"].measure()
    assert not any(name.startswith("unknown->") for name in values)
    # A node that is started again has another pid.
    room.cluster.restart("n1")
    room.cluster.wait_ready()
    assert eventually(lambda: all_flow(room))
    room.apply({"isolate": "n1"}, "n1")
    time.sleep(0.1)
    assert flowing(room) == {"n2->n3", "n3->n2"}


def test_the_way_of_clients_can_be_on_the_plane(open_room: Callable[..., Room]) -> None:
    from refute.system.http_probe import HttpProbe

    room = open_room(2, links={"port": "peer", "clients": "proxied"})
    address = room.cluster.client_address("n1", "client")
    assert address != room.cluster.address("n1", "client")

    def answers() -> bool:
        probe = HttpProbe(address, "GET", "/status", {}, None, 0.3)
        try:
            return probe.ask()[0] == 200
        except OSError:
            return False
        finally:
            probe.close()

    assert answers()
    room.apply({"isolate": "n1"}, "n1")  # peers only
    assert answers()
    room.nemesis.heal()
    fault = room.apply({"partition": {"links": ["client->n1"]}})
    assert not answers()
    assert room.nemesis.landing(fault).signals[0].moved
    room.nemesis.heal()
    assert answers()


def test_a_system_whose_links_are_not_on_the_plane_is_told_so(open_room: Callable[..., Room]) -> None:
    room = open_room(2, links=None)
    with pytest.raises(FaultInputError, match="links of 'peers' are not on the proxy plane"):
        room.apply({"isolate": "n1"}, "n1")
    with pytest.raises(FaultInputError, match="are not on the proxy plane"):
        room.apply({"isolate": "client"}, "client")


def test_a_parameter_in_error_is_found_before_anything_is_done(room: Room) -> None:
    with pytest.raises(Exception, match=r"proxy delay: by: 100 is not a duration"):
        room.apply({"delay": {"links": ["n1->n2"], "by": 100}})
    with pytest.raises(Exception, match="proxy partition: in_flight: 'lose' is none of deliver, drop"):
        room.apply({"isolate": "n1", "in_flight": "lose"}, "n1")
    assert room.phases == []


def test_a_dead_proxy_host_is_said_to_be_gone(room: Room) -> None:
    plane: Any = room.nemesis._planes["proxy"]
    plane._host._process.kill()
    plane._host._process.wait()
    with pytest.raises(NemesisError, match="the proxy host is gone"):
        room.apply({"isolate": "n1"}, "n1")
    assert room.nemesis.active() == ()
