"""Which engine is asked, and what is said where there is none."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from refute.nemesis.containers import engine as module
from refute.nemesis.containers.engine import Engine, GoneError, engine_socket
from refute.nemesis.containers.undo import VERBS
from refute.nemesis.errors import NemesisError
from refute.nemesis.mechanisms import probe
from refute.nemesis.targets import TargetRefusedError


@pytest.mark.parametrize(
    "host", ["tcp://10.1.2.3:2375", "ssh://root@prod", "tcp://127.0.0.1:2375", "http://x"]
)
def test_an_engine_of_another_machine_is_no_target(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setenv("DOCKER_HOST", host)
    with pytest.raises(TargetRefusedError, match="another machine"):
        engine_socket()
    assert not probe("docker", "pause").works


def test_without_an_engine_the_probe_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    found = probe("docker", "pause")
    assert not found.works
    assert found.reason == f"no container engine answers at {tmp_path}/nobody.sock"


def test_nor_is_one_made_up_where_no_socket_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setattr(module.Path, "is_socket", lambda _: False)
    with pytest.raises(NemesisError, match="no container engine is here"):
        engine_socket()


def test_a_container_of_an_engine_that_is_gone_has_nothing_on(tmp_path: Path) -> None:
    handle = {
        "engine": f"{tmp_path}/nobody.sock",
        "container": "c",
        "label": "l",
        "network": "n",
        "endpoint": {},
    }
    for verb in VERBS.values():
        assert verb.left(handle) is None
    VERBS["remove-container"].undo(handle)
    VERBS["unpause-container"].undo(handle)
    with pytest.raises(GoneError):
        Engine(handle["engine"]).version()


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[tuple[str, list[str]]]:
    """An engine with one container of somebody else and one of production, and the requests that it got."""
    requests: list[str] = []
    place = str(tmp_path / "engine.sock")
    server = socket.socket(socket.AF_UNIX)
    server.bind(place)
    server.listen()
    containers = {
        "theirs": {"Name": "/theirs", "Config": {"Labels": {"refute.node": "of another run"}}},
        "ours": {"Name": "/shop-prod-1", "Config": {"Labels": {"refute.node": "mine"}}},
    }

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                line = connection.recv(65536).decode().partition(" HTTP/")[0]
                requests.append(line)
                name = line.split("/")[2] if line.count("/") > 1 else ""
                found: Any = containers.get(name.partition("?")[0], [])
                body = json.dumps(found).encode()
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    threading.Thread(target=serve, daemon=True).start()
    yield place, requests
    server.close()


def test_nothing_is_done_to_a_container_of_somebody_else(asked: tuple[str, list[str]]) -> None:
    place, requests = asked
    with pytest.raises(NemesisError, match="is not ours"):
        Engine(place).change("theirs", "mine", "kill", signal="SIGKILL")
    with pytest.raises(NemesisError, match="is not ours"):
        Engine(place).network("theirs", "mine", "bridge", "disconnect", {})
    assert not [request for request in requests if not request.startswith("GET ")]


def test_nor_to_one_whose_name_says_production(asked: tuple[str, list[str]]) -> None:
    place, requests = asked
    with pytest.raises(TargetRefusedError, match="'prod' in its name"):
        Engine(place).change("ours", "mine", "pause")
    assert not [request for request in requests if not request.startswith("GET ")]
