"""Containers of Podman, which speaks Docker's API, are paused, killed, stopped and taken off their network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from refute.errors import RefuteError
from refute.nemesis.containers.engine import Engine
from refute.nemesis.errors import FaultInputError, NemesisError
from refute.nemesis.mechanisms import probe, wanted_kinds
from refute.plan.step import VictimSignal
from refute.system.http_probe import HttpProbe
from refute.system.process_table import processes_with_mark
from tests.nemesis.conftest import Room, _own_registry, open_room
from tests.nemesis.peers import eventually
from tests.ordinary_user import CHECKOUT, as_ordinary_user, open_home
from tests.systems.engine_rules import engine_rules_are_gone_afterwards

__all__ = ["_own_registry", "open_room"]
pytestmark = [
    pytest.mark.systems,
    pytest.mark.skipif(
        os.getuid() != 0 or shutil.which("podman") is None, reason="apt-get install podman runc; run as root"
    ),
]
# Debian's crun does not know every layout of control groups; runc does.
PODMAN = ["podman", "--runtime", "runc"]
IMAGE = f"localhost/refute-test-busybox-{os.getpid()}"  # tests run side by side
WORK = (
    "mkdir -p /www; echo ok > /www/index.html; httpd -p 80 -h /www; "
    "while true; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.05; done"
)

ASK_EVERYTHING = """
import json, subprocess
from refute.nemesis.mechanisms import list_faults
from refute.system.environment import environment

def there():
    ask = {"links": ["ip", "-o", "link"], "rules": ["nft", "list", "ruleset"]}
    said = {name: subprocess.run(words, capture_output=True, text=True) for name, words in ask.items()}
    return {name: each.stdout.splitlines() for name, each in said.items()}

before = there()
list_faults(plane="docker")
tools = environment()["tools"]
print(json.dumps({"before": before, "after": there(), "tools": tools}))
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with engine_rules_are_gone_afterwards():
        yield from running_engine(tmp_path_factory)


def running_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    root = tmp_path_factory.mktemp("engine")
    (root / "rootfs" / "bin").mkdir(parents=True)
    busybox = shutil.which("busybox")
    assert busybox, "apt-get install busybox-static"
    shutil.copy(busybox, root / "rootfs" / "bin" / "busybox")
    for applet in ("sh", "sleep", "httpd", "mkdir"):
        (root / "rootfs" / "bin" / applet).symlink_to("busybox")
    tar = subprocess.run(["tar", "-C", root / "rootfs", "-c", "."], check=True, capture_output=True).stdout
    subprocess.run([*PODMAN, "import", "-", IMAGE], input=tar, check=True, capture_output=True)
    sock = root / "podman.sock"
    service = subprocess.Popen(
        [*PODMAN, "system", "service", "--time", "0", f"unix://{sock}"], stderr=subprocess.DEVNULL
    )
    found = Engine(sock)
    try:
        assert eventually(lambda: answers(found), 20)
        yield found
    finally:
        service.kill()
        service.wait()
        subprocess.run([*PODMAN, "rmi", "-f", IMAGE], capture_output=True, check=False)


@pytest.fixture
def network() -> Iterator[str]:
    name = f"refute-test-{os.getpid()}"
    subprocess.run([*PODMAN, "network", "create", name], check=True, capture_output=True)
    yield name
    subprocess.run([*PODMAN, "network", "rm", "-f", "-t", "1", name], check=True, capture_output=True)


@pytest.fixture
def bystander(engine: Engine) -> Iterator[str]:
    """A container of somebody else, which nothing may happen to."""
    limits = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"]
    run = [
        *PODMAN,
        "run",
        "-d",
        "--rm",
        "--stop-timeout",
        "1",
        *limits,
        "--network",
        "none",
        IMAGE,
        "/bin/sleep",
        "1000",
    ]
    container = subprocess.run(run, check=True, capture_output=True, text=True).stdout.strip()
    yield container
    found = engine.inspect(container)
    subprocess.run([*PODMAN, "rm", "-f", container], check=True, capture_output=True)
    assert found
    assert found["State"]["Status"] == "running"


def answers(engine: Engine) -> bool:
    try:
        return bool(engine.version())
    except RefuteError:
        return False


def opened(
    open_room: Callable[..., Room],
    engine: Engine,
    network: str,
    monkeypatch: pytest.MonkeyPatch,
    label: str = "{data}",
) -> Room:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{engine.place}")
    command = [
        *(
            *PODMAN,
            "run",
            "--rm",
            "--stop-timeout",
            "1",
            "--ulimit",
            "nofile=1024:1024",
            "--ulimit",
            "nproc=1024:1024",
        ),
        *("--network", network, "-p", "127.0.0.1:{port.client}:80", "--label", f"refute.node={label}"),
        *(IMAGE, "/bin/sh", "-c", WORK),
    ]
    room = open_room(
        2,
        nemesis={"wanted": wanted_kinds(["docker"])},
        command=command,
        ports=["client"],
        links=None,
        ready={"http": "/"},
        ready_timeout="40s",
        stop={"grace": "1s"},
        states={"page": {"http": {"path": "/", "status": 200}}},
    )
    room.nemesis.watch(
        [VictimSignal(node="n1", state="page", rule="changes")]
    )  # somebody asks it all the time
    time.sleep(1.0)
    return room


def serves(room: Room, node: str) -> bool:
    page = HttpProbe(room.cluster.address(node, "client"), "GET", "/", {}, None, 1.0)
    try:
        return page.ask()[0] == 200
    except OSError:
        return False
    finally:
        page.close()


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=pytest.mark.fault("docker", kind, shows="landing"))
        for kind in ("pause", "kill", "stop", "disconnect")
    ],
)
def test_a_container_is_hit_and_comes_back(
    engine: Engine,
    network: str,
    bystander: str,
    open_room: Callable[..., Room],
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
) -> None:
    room = opened(open_room, engine, network, monkeypatch)
    labels = {node: room.cluster.variables(node)["data"] for node in ("n1", "n2")}
    before = engine.container(labels["n1"])
    assert before
    fault = room.apply({"fault": {"plane": "docker", "kind": kind, "node": "n1"}}, "n1")
    assert eventually(lambda: room.nemesis.landing(fault).landed, 10), room.nemesis.landing(fault)
    assert not serves(room, "n1")
    assert serves(room, "n2")
    assert room.nemesis.heal(fault).failed == {}
    assert eventually(lambda: serves(room, "n1"), 20)
    after = engine.container(labels["n1"])
    assert after
    assert (after["Id"] == before["Id"]) is (kind in ("pause", "disconnect"))
    room.nemesis.close()
    assert [engine.container(label) for label in labels.values()] == [None, None]


@pytest.mark.fault("docker", "pause", shows="not landing")
@pytest.mark.fault("docker", "kill", shows="not landing")
@pytest.mark.fault("docker", "stop", shows="not landing")
@pytest.mark.fault("docker", "disconnect", shows="not landing")
def test_an_engine_that_only_says_so_has_not_landed_anything(
    engine: Engine, network: str, open_room: Callable[..., Room], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Requests that are answered and not carried out: the engine's word is taken for nothing.
    room = opened(open_room, engine, network, monkeypatch)
    plane: Any = room.nemesis._planes["docker"]
    monkeypatch.setattr(Engine, "change", lambda *_, **__: None)
    monkeypatch.setattr(Engine, "network", lambda *_, **__: None)
    monkeypatch.setattr(plane, "_wait_for_the_end", lambda _: None)
    for kind in ("pause", "kill", "stop", "disconnect"):
        fault = room.apply({"fault": {"plane": "docker", "kind": kind, "node": "n1"}}, "n1")
        time.sleep(0.6)
        assert room.nemesis.heal(fault).failed == {}
        landing = room.nemesis.landing(fault)
        assert not landing.landed
        assert not [signal for signal in landing.signals if signal.moved]
    assert serves(room, "n1")


def test_a_container_without_our_label_is_none_of_ours(
    engine: Engine,
    network: str,
    bystander: str,
    open_room: Callable[..., Room],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    room = opened(open_room, engine, network, monkeypatch, label="something-else")
    with pytest.raises(FaultInputError, match="no container carries its label"):
        room.apply({"fault": {"plane": "docker", "kind": "pause", "node": "n1"}}, "n1")
    with pytest.raises(NemesisError, match="is not ours"):
        engine.change(bystander, room.cluster.variables("n1")["data"], "pause")
    for container in (each for each in engine._listed("something-else")):
        subprocess.run([*PODMAN, "rm", "-f", container], check=True, capture_output=True)


@pytest.mark.parametrize("who", ["root", "an ordinary user"])
def test_to_ask_what_this_machine_can_do_leaves_nothing_behind(who: str) -> None:
    # A process of Podman's stays for an ordinary user who has asked it anything, with files in his home.
    mark = f"{os.getpid()}-{who}".replace(" ", "-")
    ask = [sys.executable, "-B", "-c", ASK_EVERYTHING]
    with open_home() as home:
        command = ask if who == "root" else as_ordinary_user(ask)
        done = subprocess.run(
            ["unshare", "--net", "--", *command],
            cwd=CHECKOUT,
            env={**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "PROBED_BY": mark},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout)
        assert said["tools"]["podman"]["works"]
        assert said["before"] == said["after"]
        assert "lo" in "".join(said["before"]["links"])
        assert list(home.iterdir()) == []
    assert eventually(lambda: not processes_with_mark("PROBED_BY", mark))


def test_the_probe_names_the_engine(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{engine.place}")
    found = probe("docker", "pause")
    assert found.works
    assert found.detail["socket"] == str(Path(engine.place))
