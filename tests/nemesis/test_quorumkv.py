"""The bundled store under faults: they land, it elects another leader in its two seconds, and comes back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from random import Random

import pytest

from refute.nemesis.nemesis import Nemesis
from refute.plan.step import Await
from refute.plan.step_notation import read_fault
from refute.plan.system_spec import SystemSpec
from refute.resources import folder
from refute.system.cluster import Cluster
from refute.system.observer import Observer, Seen
from tests.nemesis.conftest import Room
from tests.nemesis.test_process_plane import moved

SPEC = SystemSpec.model_validate(
    {
        "system": "quorumkv",
        "nodes": 3,
        "ports": ["client", "peer"],
        "cwd": "{examples}/quorumkv",
        "env": {"PYTHONDONTWRITEBYTECODE": "1"},
        "command": "{python} -m quorumkv --node {node} --host {host} --client-port {port.client} --peer-port {port.peer} "
        "--peers {peers} --data {data} --tenant default:dev",
        "links": {"port": "peer"},
        "states": {
            "leader": {"http": "/status", "value": "role", "equals": "leader"},
            "term": {"http": "/status", "value": "term"},
            "in_sync": {"http": "/status", "value": "in_sync"},
        },
        "ready": [{"http": "/status"}],
    }
)
EVERYBODY = Await.model_validate({"leader": "known", "every_node": "in_sync"})


@pytest.fixture(scope="module")
def quorumkv(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    if not (folder("examples") / "quorumkv" / "quorumkv" / "__main__.py").is_file():
        pytest.skip("examples/quorumkv is not there")
    root = tmp_path_factory.mktemp("quorumkv")
    cluster = Cluster(SPEC, root=root, plan_dir=root)
    patch = pytest.MonkeyPatch()
    patch.setenv("REFUTE_STATE", str(root / "state"))
    with (
        Observer(SPEC, cluster) as observer,
        Nemesis(SPEC, cluster, run_dir=root, observer=observer, rng=Random(1)) as nemesis,
    ):
        nemesis.prepare()
        cluster.start()
        cluster.wait_ready()
        yield Room(cluster, observer, nemesis)
    assert not list((root / "state/ledgers").iterdir())
    patch.undo()


@pytest.mark.parametrize("verb", ["isolate", "pause", "kill"])
def test_another_leader_follows_and_the_old_one_comes_back(quorumkv: Room, verb: str) -> None:
    before = quorumkv.observer.wait_for(EVERYBODY)
    assert isinstance(before, Seen), before
    old = before.roles["leader"]
    time.sleep(0.6)
    fault = quorumkv.nemesis.apply(read_fault({verb: "leader as old"}), [old], trigger=before)
    after = quorumkv.observer.wait_for(Await.model_validate({"leader": "not old"}), {"old": old})
    assert isinstance(after, Seen), after
    assert quorumkv.nemesis.heal(fault).failed == {}
    assert isinstance(quorumkv.observer.wait_for(EVERYBODY), Seen)
    landing = quorumkv.nemesis.landing(fault)
    assert landing.landed, landing
    assert moved(landing)["injector"]
    assert moved(landing)["victim"]


def test_a_rolling_restart_keeps_a_majority(quorumkv: Room) -> None:
    assert isinstance(quorumkv.observer.wait_for(EVERYBODY), Seen)
    written = {"fault": {"plane": "process", "kind": "rolling-restart", "pause": "300ms"}}
    fault = quorumkv.nemesis.apply(read_fault(written), SPEC.nodes)
    deadline = time.monotonic() + 30
    while quorumkv.nemesis.active() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert quorumkv.nemesis.active() == ()
    assert isinstance(quorumkv.observer.wait_for(EVERYBODY), Seen)
    assert quorumkv.nemesis.landing(fault).landed
