"""The key-value store of the examples: its own tests pass, and three of its processes make a cluster."""

from __future__ import annotations

import http.client
import json
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).resolve().parents[2] / "examples" / "quorumkv"
NODES = ("n1", "n2", "n3")
START_S = 15.0


def free_ports(count: int) -> list[int]:
    """Ports below the ephemeral range, which no outgoing connection takes before the node does."""
    found: list[int] = []
    for port in random.sample(range(12000, 32000), 1000):
        with closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)) != 0:
                found.append(port)
        if len(found) == count:
            return found
    raise RuntimeError("no free ports")


def call(port: int, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
        text = None if body is None else json.dumps(body)
        connection.request(method, path, text, {"Authorization": "Bearer dev"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


class Cluster:
    def __init__(self, data: Path, *extra: str) -> None:
        ports = free_ports(6)
        self.client = dict(zip(NODES, ports[:3], strict=True))
        self.peer = dict(zip(NODES, ports[3:], strict=True))
        self.processes = {name: self._start(name, data / name, extra) for name in NODES}

    def _start(self, name: str, data: Path, extra: tuple[str, ...]) -> subprocess.Popen[bytes]:
        peers = ",".join(f"{other}=127.0.0.1:{port}" for other, port in self.peer.items() if other != name)
        command = [sys.executable, "-m", "quorumkv", "--node", name, "--data", str(data), "--peers", peers]
        command += ["--client-port", str(self.client[name]), "--peer-port", str(self.peer[name])]
        return subprocess.Popen([*command, *extra], cwd=PROJECT, stderr=subprocess.DEVNULL)

    def leader(self) -> str:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            for name, process in self.processes.items():
                if process.poll() is not None:
                    continue
                try:
                    if call(self.client[name], "GET", "/status")[1]["ready"]:
                        return name
                except OSError:
                    continue
            time.sleep(0.02)
        raise TimeoutError("no leader")

    def close(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait()


@pytest.fixture(params=["current", "next"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    with closing(Cluster(tmp_path, *(["--next"] if request.param == "next" else []))) as running:
        yield running


def test_its_own_suite_passes() -> None:
    suite = [sys.executable, "-m", "unittest", "discover", "-s", "tests", "-t", "."]
    done = subprocess.run(suite, cwd=PROJECT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    assert "Ran 0 tests" not in done.stderr


def test_three_nodes_elect_a_leader_serve_and_stop(cluster: Cluster) -> None:
    leader = cluster.leader()
    assert call(cluster.client[leader], "PUT", "/v1/kv/k", {"value": 7})[0] == 200
    assert call(cluster.client[leader], "GET", "/v1/kv/k")[1]["value"] == 7
    for process in cluster.processes.values():
        process.send_signal(signal.SIGTERM)
    assert [process.wait(10) for process in cluster.processes.values()] == [0, 0, 0]


def test_a_killed_leader_is_replaced_and_nothing_acknowledged_is_lost(cluster: Cluster) -> None:
    leader = cluster.leader()
    assert call(cluster.client[leader], "PUT", "/v1/kv/k", {"value": 7})[0] == 200
    cluster.processes[leader].kill()
    cluster.processes[leader].wait()
    second = cluster.leader()
    assert second != leader
    assert call(cluster.client[second], "GET", "/v1/kv/k")[1]["value"] == 7


def test_a_port_in_use_is_one_clear_line(cluster: Cluster, tmp_path: Path) -> None:
    cluster.leader()
    command = [sys.executable, "-m", "quorumkv", "--node", "n9", "--data", str(tmp_path / "n9")]
    command += ["--client-port", str(cluster.client["n1"]), "--peer-port", str(free_ports(1)[0])]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "address already in use" in done.stderr
