"""A cluster starts whole or not at all, keeps its data and logs, and leaves nothing behind."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from refute.system.cluster import Cluster
from refute.system.errors import ClusterError, ClusterInputError
from refute.system.placement import NodePlacement, Placement
from refute.system.process_table import family, is_alive
from tests.nemesis.peers import ask, eventually, peer_spec


def cluster_of(tmp_path: Path, **changes: object) -> Cluster:
    return Cluster(peer_spec(**changes), root=tmp_path, plan_dir=tmp_path)  # type: ignore[arg-type]


def test_nodes_start_get_ready_and_stop_with_nothing_left(tmp_path: Path) -> None:
    with cluster_of(tmp_path) as cluster:
        cluster.start()
        cluster.wait_ready()
        started = [node.identity for node in cluster.nodes.values()]
        assert [ask(cluster, name)["name"] for name in ("n1", "n2", "n3")] == ["n1", "n2", "n3"]
        assert all(is_alive(process) for process in started)
        ended = cluster.stop()
    assert {name: str(exit_) for name, exit_ in ended.items()} == dict.fromkeys(("n1", "n2", "n3"), "exit 0")
    assert not any(is_alive(process) for process in started)
    assert "ready as n2" in (tmp_path / "logs/n2.log").read_text()


def test_what_a_node_started_itself_ends_with_it(tmp_path: Path) -> None:
    spec = peer_spec(1)
    spec = spec.model_copy(update={"command": (*spec.command, "--child")})
    with Cluster(spec, root=tmp_path, plan_dir=tmp_path) as cluster:
        cluster.start()
        cluster.wait_ready()
        pid = cluster.node("n1").pid
        assert len(family(pid)) == 2
        cluster.kill("n1")
        assert family(pid) == []


def test_a_node_that_is_started_again_has_its_ports_and_its_data(tmp_path: Path) -> None:
    with cluster_of(tmp_path) as cluster:
        cluster.start()
        cluster.wait_ready()
        before = ask(cluster, "n2")
        assert str(cluster.kill("n2")) == "SIGKILL"
        cluster.start_node("n2")
        cluster.wait_ready(["n2"])
        after = ask(cluster, "n2")
        assert (before["boots"], after["boots"]) == (1, 2)
        assert after["pid"] != before["pid"]
        assert (tmp_path / "logs/n2.log").read_text().count("--- refute: n2 starts") == 2


def test_a_node_is_restarted_in_another_version_and_keeps_it(tmp_path: Path) -> None:
    command = [*peer_spec().command, "--version", "second"]
    with cluster_of(tmp_path, versions={"next": {"command": command}}) as cluster:
        cluster.start()
        cluster.wait_ready()
        cluster.restart("n1", "next")
        cluster.wait_ready(["n1"])
        assert ask(cluster, "n1")["version"] == "second"
        cluster.restart("n1")
        cluster.wait_ready(["n1"])
        assert ask(cluster, "n1")["version"] == "second"
        with pytest.raises(ClusterInputError, match="no version 'third'"):
            cluster.restart("n1", "third")


def test_a_node_that_ends_early_is_named_with_the_end_of_its_log(tmp_path: Path) -> None:
    spec = peer_spec()
    spec = spec.model_copy(update={"command": (*spec.command, "--fail", "the disk is on fire")})
    with Cluster(spec, root=tmp_path, plan_dir=tmp_path) as cluster:
        cluster.start()
        with pytest.raises(
            ClusterError, match=r"(?s)n\d: it ended \(exit 1\).*the disk is on fire"
        ) as raised:
            cluster.wait_ready()
        assert raised.value.hint is None


def test_a_command_that_names_a_file_from_elsewhere_is_told_where_it_runs(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text("print('never found')")
    spec = peer_spec(1).model_copy(update={"command": ("{python}", "server.py")})
    with Cluster(spec, root=tmp_path / "run", plan_dir=tmp_path) as cluster:
        cluster.start()
        with pytest.raises(ClusterError, match="ended") as raised:
            cluster.wait_ready()
        assert f"server.py is looked for in {cluster.working_directory('n1')}" in str(raised.value)
        assert "{plan_dir}/…" in str(raised.value)


def test_a_node_that_never_gets_ready_is_named_with_the_probe(tmp_path: Path) -> None:
    spec = peer_spec(1, ready={"http": "/nowhere"})
    with Cluster(spec, root=tmp_path, plan_dir=tmp_path) as cluster:
        cluster.start()
        with pytest.raises(ClusterError, match=r"n1: not ready: ready\[0\] is 404"):
            cluster.wait_ready(timeout_s=0.5)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"command": "no-such-program --x"}, "the command 'no-such-program' does not exist"),
        ({"command": "{python} {nothing.such}"}, r"nothing is known as \{nothing.such\}"),
        ({"cwd": "not/there"}, "working directory .* does not exist"),
    ],
)
def test_a_wrong_description_is_one_clear_message(
    tmp_path: Path, changes: dict[str, object], says: str
) -> None:
    with cluster_of(tmp_path, **changes) as cluster, pytest.raises(ClusterInputError, match=says) as raised:
        cluster.start()
    assert raised.value.exit_code == 64


def test_if_one_node_cannot_start_none_is_left_running(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/n3").write_text("a file where the directory should be")
    with cluster_of(tmp_path) as cluster:
        with pytest.raises(ClusterError, match=r"n3: its directory .* cannot be written"):
            cluster.start()
        assert sorted(cluster.nodes) == ["n1", "n2"]
        assert not any(node.running for node in cluster.nodes.values())


def test_a_port_in_use_is_named_with_its_owner(tmp_path: Path) -> None:
    with cluster_of(tmp_path) as cluster:
        port = cluster.allocate()["n1"]["client"]
        cluster._lease.release(port)
        with socket.create_server(("127.0.0.1", port)), pytest.raises(ClusterError) as raised:
            cluster.start()
    assert f"port {port} (client) is in use by" in str(raised.value)
    assert "pid" in str(raised.value)
    assert raised.value.exit_code == 69


def test_a_port_stays_ours_while_its_node_is_down(tmp_path: Path) -> None:
    with cluster_of(tmp_path) as cluster:
        port = cluster.allocate()["n1"]["client"]
        cluster._lease.release(port)
        script = f"from refute.system.ports import _LOCKS; print(_LOCKS.lock({port}), _LOCKS.lock(1))"
        said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert said.stdout.split() == ["False", "True"]
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["True", "True"]


def test_a_plane_can_wrap_a_node_and_change_its_environment(tmp_path: Path) -> None:
    spec = peer_spec(1, command=["sh", "-c", "echo $WHO; sleep 60"], ready={"log": "^me$"}, links=None)
    with Cluster(spec, root=tmp_path, plan_dir=tmp_path) as cluster:
        cluster.place(Placement(nodes={"n1": NodePlacement(prefix=("env", "WHO=me"), env={"WHO": "you"})}))
        cluster.start()
        cluster.wait_ready(timeout_s=5)


def test_the_systems_own_commands_run_with_a_node_s_variables(tmp_path: Path) -> None:
    commands = {"say": ["echo", "{node}", "{n2.port.client}", "{addresses.client}"], "slow": ["sleep", "30"]}
    with cluster_of(tmp_path, commands=commands) as cluster:
        (tmp_path / "data/n3").mkdir(parents=True)
        said = cluster.run_command("say", "n3", ["more"])
        assert said.exit_code == 0
        assert said.output.split()[:2] == ["n3", str(cluster.ports["n2"]["client"])]
        assert said.output.split()[-1] == "more"
        assert cluster.run_command("slow", "n3", timeout_s=0.1).exit_code is None
        with pytest.raises(ClusterInputError, match="no command 'shout'; there are: say, slow"):
            cluster.run_command("shout")


def test_a_paused_node_is_stopped_too(tmp_path: Path) -> None:
    import signal

    with cluster_of(tmp_path) as cluster:
        cluster.start()
        cluster.wait_ready()
        cluster.node("n1").send(signal.SIGSTOP)
        assert eventually(lambda: cluster.node("n1").running)
        ended = cluster.stop()
    assert str(ended["n1"]) == "exit 0"
