"""toxiproxy cuts, slows and resets links through proxies and toxics of our own, and loses none of others.

Against a stand-in everywhere, and against `toxiproxy-server` as well where one is on the path.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from refute.errors import RefuteError
from refute.nemesis.errors import FaultInputError
from refute.nemesis.mechanisms import probe, wanted_kinds
from refute.nemesis.targets import TargetRefusedError
from refute.nemesis.toxiproxy.api import VARIABLE, Api
from tests.nemesis.conftest import Room
from tests.nemesis.peers import PROGRAM, ask, eventually

STUB = Path(__file__).with_name("toxiproxy_stub.py")
SERVERS = ["stub", *(["toxiproxy-server"] if shutil.which("toxiproxy-server") else [])]
KINDS = ("down", "latency", "bandwidth", "timeout", "reset")


@pytest.fixture(params=SERVERS)
def toxiproxy(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Api]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = (
        [sys.executable, str(STUB), str(port)]
        if request.param == "stub"
        else [request.param, "-port", str(port)]
    )
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    monkeypatch.setenv(VARIABLE, f"127.0.0.1:{port}")
    api = Api(f"127.0.0.1:{port}")
    try:
        assert eventually(lambda: answers(api))
        api.create("somebody-else-s", "127.0.0.1:9")
        api.add("somebody-else-s", "theirs", "latency", {"latency": 1, "jitter": 0})
        yield api
        # What is not ours is as it was, and nothing of ours is left.
        left = api.proxies()
        assert list(left) == ["somebody-else-s"]
        assert [toxic["name"] for toxic in left["somebody-else-s"]["toxics"]] == ["theirs"]
    finally:
        server.kill()
        server.wait()


def answers(api: Api) -> bool:
    try:
        return bool(api.version())
    except RefuteError:
        return False


def heard(room: Room, receiver: str, sender: str) -> int:
    count: int = ask(room.cluster, receiver)["received"].get(sender, 0)
    return count


def opened(open_room: Callable[..., Room], **changes: Any) -> Room:
    room = open_room(2, nemesis={"wanted": wanted_kinds(["toxiproxy"])}, **changes)
    assert eventually(lambda: heard(room, "n2", "n1") > 500 and heard(room, "n1", "n2") > 500, 10)
    return room


@pytest.fixture
def room(toxiproxy: Api, open_room: Callable[..., Room]) -> Room:
    return opened(open_room)


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        pytest.param(kind, more, marks=pytest.mark.fault("toxiproxy", kind, shows="landing"))
        for kind, more in (
            ("down", {}),
            ("latency", {"by": "150ms"}),
            ("bandwidth", {"rate": "1kB/s"}),
            ("timeout", {}),
            ("reset", {}),
        )
    ],
)
def test_a_link_is_hit_and_healed(toxiproxy: Api, room: Room, kind: str, more: dict[str, Any]) -> None:
    fault = room.apply({"fault": {"plane": "toxiproxy", "kind": kind, "links": ["n1->n2"], **more}})
    assert eventually(lambda: room.nemesis.landing(fault).landed, 8), room.nemesis.landing(fault)
    (ours,) = [proxy for name, proxy in toxiproxy.proxies().items() if name.endswith("-n1-n2")]
    assert ours["enabled"] is (kind != "down")
    assert [toxic["name"] for toxic in ours["toxics"]] == ([] if kind == "down" else [f"refute-{fault}"])
    assert room.nemesis.heal(fault).failed == {}
    (ours,) = [proxy for name, proxy in toxiproxy.proxies().items() if name.endswith("-n1-n2")]
    assert ours["enabled"]
    assert not ours["toxics"]
    before = heard(room, "n2", "n1")
    assert eventually(lambda: heard(room, "n2", "n1") > before + 200, 10)


@pytest.mark.fault("toxiproxy", "down", shows="not landing")
@pytest.mark.fault("toxiproxy", "latency", shows="not landing")
@pytest.mark.fault("toxiproxy", "bandwidth", shows="not landing")
@pytest.mark.fault("toxiproxy", "timeout", shows="not landing")
@pytest.mark.fault("toxiproxy", "reset", shows="not landing")
def test_what_goes_past_toxiproxy_is_not_hit(toxiproxy: Api, open_room: Callable[..., Room]) -> None:
    peers = ",".join(f"n{n}=127.0.0.1:{{n{n}.port.peer}}" for n in (1, 2))
    options = ["--data", "{data}", "--client", "{port.client}", "--peer", "{port.peer}", "--peers", peers]
    room = opened(open_room, command=["{python}", str(PROGRAM), "--name", "{node}", *options])
    for kind in KINDS:
        fault = room.apply({"fault": {"plane": "toxiproxy", "kind": kind, "links": ["n1->n2"]}})
        before = heard(room, "n2", "n1")
        assert eventually(lambda before=before: heard(room, "n2", "n1") > before + 200)  # type: ignore[misc]
        assert room.nemesis.heal(fault).failed == {}
        landing = room.nemesis.landing(fault)
        assert not landing.landed
        assert not [signal for signal in landing.signals if signal.side == "victim" and signal.moved]


def test_a_toxiproxy_that_is_gone_has_nothing_on(toxiproxy: Api, room: Room) -> None:
    fault = room.apply({"fault": {"plane": "toxiproxy", "kind": "timeout", "links": ["n1->n2"]}})
    plane: Any = room.nemesis._planes["toxiproxy"]
    with socket.create_server(("127.0.0.1", 0)) as free:
        nobody = free.getsockname()[1]
    undo = plane.undos(plane_fault(room, fault))[0]
    from refute.nemesis.toxiproxy.undo import VERBS

    handle = {**undo.handle, "api": f"127.0.0.1:{nobody}"}
    VERBS[undo.verb].undo(handle)
    assert VERBS[undo.verb].left(handle) is None
    assert VERBS[undo.verb].left(undo.handle) is not None
    room.nemesis.heal()


def plane_fault(room: Room, fault: str) -> Any:
    return room.nemesis._injections[fault].fault


def test_the_probe_does_and_undoes(toxiproxy: Api) -> None:
    found = probe("toxiproxy", "latency")
    assert found.works
    assert "version" in found.detail


def test_without_a_server_the_probe_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        monkeypatch.setenv(VARIABLE, f"127.0.0.1:{free.getsockname()[1]}")
    found = probe("toxiproxy", "latency")
    assert not found.works
    assert "no toxiproxy answers" in found.reason


@pytest.mark.parametrize(
    "place", ["10.1.2.3:8474", "toxiproxy.prod.example.org:8474", "127.0.0.1@10.1.2.3:8474"]
)
def test_a_server_that_nobody_has_allowed_is_not_even_asked(
    monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.setenv(VARIABLE, place)
    with pytest.raises(TargetRefusedError):
        Api(place)
    assert not probe("toxiproxy", "latency").works


def test_callers_of_one_address_cannot_be_told_apart(toxiproxy: Api, open_room: Callable[..., Room]) -> None:
    with pytest.raises(FaultInputError, match="cannot tell the callers of one address apart"):
        open_room(
            2, nemesis={"wanted": wanted_kinds(["toxiproxy"])}, links={"port": "peer", "callers": "shared"}
        )
