"""Three etcd nodes in network namespaces under five shapes of partition; run by test_etcd_netns as an ordinary user."""

from __future__ import annotations

import base64
import os
import time
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from refute.nemesis.ledger import MARK
from refute.nemesis.mechanisms import wanted_kinds
from refute.nemesis.nemesis import Nemesis
from refute.plan.step import Await
from refute.plan.step_notation import read_fault
from refute.system.cluster import Cluster
from refute.system.observer import Observer, Seen
from tests.nemesis.conftest import Room
from tests.nemesis.left import nothing_left
from tests.nemesis.peers import eventually
from tests.systems.etcd import etcd_spec
from tests.systems.test_etcd_faults import ask, encoded, put, wait

SHAPES: dict[str, Any] = {
    "isolated": lambda old, others: {"isolate": old},
    "heard by nobody": lambda old, others: {"isolate": {"node": old, "direction": "out"}},
    "hears nobody": lambda old, others: {"isolate": {"node": old, "direction": "in"}},
    "in the minority": lambda old, others: {"partition": {"node": old, "shape": "majority-minority"}},
    "cut off from clients too": lambda old, others: {
        "partition": {"groups": [[old], [*others, "client"]], "clients": True}
    },
}

pytestmark = pytest.mark.systems


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    assert os.geteuid() != 0, "this is about an ordinary user"
    root = tmp_path_factory.mktemp("etcd")
    spec = etcd_spec()
    cluster = Cluster(spec, root=root, plan_dir=root)
    patch = pytest.MonkeyPatch()
    patch.setenv("REFUTE_STATE", str(root / "state"))
    with (
        Observer(spec, cluster) as observer,
        Nemesis(
            *(spec, cluster),
            run_dir=root,
            observer=observer,
            rng=Random(1),
            wanted=wanted_kinds(["netns/drop"]),
        ) as nemesis,
    ):
        nemesis.prepare()
        cluster.start()
        cluster.wait_ready()
        run = nemesis.environment[MARK]
        yield Room(cluster, observer, nemesis)
    assert nothing_left(root, run)
    patch.undo()


def read(cluster: Cluster, node: str, key: str) -> str | None:
    """The first answer of a linearizable read: a member that has just been healed may refuse for a while."""
    answers: list[dict[str, Any]] = []

    def answered() -> bool:
        answers.append(ask(cluster, node, "/v3/kv/range", {"key": encoded(key)}))
        return "header" in answers[-1]

    assert eventually(answered, 15), answers[-1]
    found = answers[-1].get("kvs", [])
    return base64.b64decode(found[0]["value"]).decode() if found else None


@pytest.mark.parametrize("shape", SHAPES)
def test_another_leader_is_elected_and_reads_are_linearizable_after_heal(room: Room, shape: str) -> None:
    old = wait(room, every_node=["has_leader"], leader="known").roles["leader"]
    others = [node for node in room.cluster.spec.nodes if node != old]
    changes = room.observer.read(others[0], "leader_changes").value
    assert put(room.cluster, old, "before", shape)
    time.sleep(0.7)  # a baseline
    action = read_fault({**SHAPES[shape](old, others), "plane": "netns"})
    began = time.monotonic()
    fault = room.nemesis.apply(action, [old] if action.target else [])
    new = room.observer.wait_for(Await.model_validate({"leader": "not old"}), {"old": old})
    assert isinstance(new, Seen), new
    elected_s = time.monotonic() - began
    assert put(room.cluster, new.roles["leader"], "during", shape)
    caught = room.nemesis._planes["netns"].measure()
    assert room.nemesis.heal(fault).failed == {}
    began = time.monotonic()
    assert read(room.cluster, new.roles["leader"], "during") == shape
    wait(room, every_node=["has_leader"])
    assert read(room.cluster, old, "during") == shape
    assert read(room.cluster, old, "before") == shape
    healed_s = time.monotonic() - began
    landing = room.nemesis.landing(fault)
    assert landing.landed, landing
    assert new.roles["leader"] != old
    assert room.observer.read(others[0], "leader_changes").value > changes
    links = [target for target in landing.targets if target in landing.proven]
    counted = {link: caught[f"{fault}.{link}.packets"] for link in links}
    assert counted
    assert all(counted.values())
    print(
        f"{shape}: {new.roles['leader']} after {elected_s:.1f} s, {old} reads {healed_s:.1f} s after heal, {counted}"
    )
