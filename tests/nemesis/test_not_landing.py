"""Faults that are made not to land: the injector did what it does, nobody was hit, and the evidence says so."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from refute.errors import RefuteError
from refute.history.fault import Landing
from tests.nemesis.conftest import Room
from tests.nemesis.peers import PROGRAM, ask, eventually

KINDS = (
    *("partition", "delay", "throttle", "bandwidth", "reset"),
    *("half-open", "corrupt", "truncate", "slow-close"),
)


def of_all_kinds(shows: str, but: str = "") -> Callable[..., Any]:
    """The marks of a test that goes through all kinds of the proxy plane."""

    def mark(test: Callable[..., Any]) -> Callable[..., Any]:
        for kind in (each for each in KINDS if each != but):
            test = pytest.mark.fault("proxy", kind, shows=shows)(test)
        return test

    return mark


def tried(room: Room, kind: str, links: list[str], seconds: float = 0.3, **more: Any) -> Landing:
    """The evidence of a fault that was on for a while."""
    fault = room.apply({"fault": {"plane": "proxy", "kind": kind, "links": links, **more}})
    time.sleep(seconds)
    assert room.nemesis.heal(fault).failed == {}
    return room.nemesis.landing(fault)


def heard(room: Room, receiver: str, sender: str) -> int:
    count: int = ask(room.cluster, receiver)["received"].get(sender, 0)
    return count


@of_all_kinds("not landing")
def test_what_goes_past_the_plane_is_not_hit(open_room: Callable[..., Room]) -> None:
    # The wrong port: the nodes were told each other's own addresses, so that no link carries anything.
    peers = ",".join(f"n{n}=127.0.0.1:{{n{n}.port.peer}}" for n in (1, 2))
    options = ["--data", "{data}", "--client", "{port.client}", "--peer", "{port.peer}", "--peers", peers]
    room = open_room(2, command=["{python}", str(PROGRAM), "--name", "{node}", *options])
    assert eventually(lambda: heard(room, "n2", "n1") > 0)
    time.sleep(0.6)
    for kind in KINDS:
        before = heard(room, "n2", "n1")
        landing = tried(room, kind, ["n1->n2"])
        assert not landing.landed, landing
        assert heard(room, "n2", "n1") > before
        if kind == "partition":
            # What arrives past the plane is seen at the receiver's own socket.
            assert landing.missing[0].startswith("n1->n2: n2: bytes per second from n1 was ")
            assert landing.idle == ()


@of_all_kinds("not landing", but="reset")  # an idle connection is ended as well as any other
def test_a_link_that_nobody_uses_is_named_and_proves_nothing(room: Room) -> None:
    room.apply({"pause": "n1"}, "n1")
    time.sleep(2.5)  # beyond the baseline
    for kind in (kind for kind in KINDS if kind != "reset"):
        landing = tried(room, kind, ["n1->n3"])
        assert not landing.landed, landing
        assert landing.idle == ("n1->n3",)
        assert landing.missing == ("nothing went over n1->n3",)


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        pytest.param(kind, parameters, marks=pytest.mark.fault("proxy", kind, shows="not landing"))
        for kind, parameters in (
            ("delay", {"by": "0ms"}),
            ("throttle", {"rate": "10MB/s"}),
            ("bandwidth", {"rate": "10MB/s"}),
            ("corrupt", {"probability": 1e-12}),
            ("truncate", {"after": "1GB"}),
            ("slow-close", {"by": "1s"}),
        )
    ],
)
def test_a_rule_that_changes_nothing_has_not_landed(
    room: Room, kind: str, parameters: dict[str, Any]
) -> None:
    assert eventually(lambda: heard(room, "n2", "n1") > 0)
    time.sleep(0.6)
    before = heard(room, "n2", "n1")
    landing = tried(room, kind, ["n1->n2"], 0.6, **parameters)
    assert not landing.landed, landing
    assert landing.idle == ()
    assert heard(room, "n2", "n1") > before


@pytest.mark.fault("proxy", "partition", shows="not landing")
def test_one_way_of_an_isolation_alone_is_not_the_isolation(room: Room) -> None:
    # The rule of one direction is lost on its way to the proxy: held bytes of the other do not hide it.
    assert eventually(lambda: heard(room, "n2", "n1") > 0 and heard(room, "n1", "n2") > 0)
    time.sleep(0.6)
    plane: Any = room.nemesis._planes["proxy"]
    asked = plane._ask

    def loses_a_direction(do: str, **fields: Any) -> Any:
        if do == "apply":
            fields["links"] = [pair for pair in fields["links"] if pair[0] == "n1"]
        return asked(do, **fields)

    plane._ask = loses_a_direction
    fault = room.apply({"isolate": "n1"}, "n1")
    plane._ask = asked
    time.sleep(0.5)
    landing = room.nemesis.landing(fault)
    assert not landing.landed
    assert set(landing.proven) == {"n1->n2", "n1->n3"}
    assert {sentence.partition(":")[0] for sentence in landing.missing[:2]} == {"n2->n1", "n3->n1"}


SUPERVISED = ("terminate", "restart", "crash-loop", "rolling-restart")


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=pytest.mark.fault("process", kind, shows="not landing"))
        for kind in SUPERVISED
    ],
)
def test_ending_a_supervisor_whose_server_has_left_it_has_not_landed(
    served_from_outside: Room, kind: str
) -> None:
    room = served_from_outside
    serving = ask(room.cluster, "n1")["pid"]
    try:
        room.apply({"fault": {"plane": "process", "kind": kind, "node": "n1"}}, "n1")
    except RefuteError as error:
        assert kind == "restart", error  # its port is still taken: it cannot be started again
    assert eventually(lambda: not room.cluster.node("n1").running)
    assert ask(room.cluster, "n1")["pid"] == serving
    landing = room.nemesis.landing("f1")
    assert not landing.landed
    assert landing.missing[0].startswith("n1: n1: somebody listens on port client was True")
