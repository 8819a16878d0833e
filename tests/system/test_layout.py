"""A layout tells each node where it is and where the others are, and holds its ports."""

from __future__ import annotations

from pathlib import Path

from refute.plan.system_spec import SystemSpec
from refute.plan.template_words import known_words
from refute.system.layout import Layout
from refute.system.placement import LinkAddresses, Placement
from tests.nemesis.peers import peer_spec


def layout_of(tmp_path: Path) -> Layout:
    return Layout(peer_spec(), root=tmp_path, plan_dir=tmp_path)


def test_templates_know_the_words_that_a_plan_is_checked_against(tmp_path: Path) -> None:
    spec = peer_spec().model_copy(
        update={"ports": ("client",), "links": None, "command": ("{python}", "--version")}
    )
    with layout_of(tmp_path) as linked, Layout(spec, root=tmp_path, plan_dir=tmp_path) as layout:
        assert "link.n2" in linked.variables("n1")
        assert "link.n2" not in layout.variables("n1")
        assert layout.variables("n1")["peers"] == ""
        for each in (linked, layout):
            filled_in = set().union(*(each.variables(node) for node in each.spec.nodes))
            assert {word for word in filled_in if not word.startswith("variables.")} == known_words(each.spec)


def test_peers_are_told_the_addresses_of_the_fault_plane(tmp_path: Path) -> None:
    with layout_of(tmp_path) as layout:
        real = layout.listen_address("n2", "peer")
        assert layout.variables("n1")["link.n2"] == real
        links = {("n1", "n2"): "127.0.0.1:1", ("n3", "n2"): "127.0.0.1:2"}
        layout.place(Placement(LinkAddresses(links, clients={("n2", "client"): "127.0.0.1:3"})))
        assert layout.variables("n1")["peers"].startswith("n2=127.0.0.1:1,n3=")
        assert layout.variables("n3")["link.n2"] == "127.0.0.1:2"
        assert layout.variables("n2")["listen.peer"] == real
        assert layout.client_address("n2", "client") == "127.0.0.1:3"
        assert layout.address("n2", "client") == layout.listen_address("n2", "client")


def test_nodes_that_do_not_talk_to_each_other_need_no_port_for_it(tmp_path: Path) -> None:
    spec = SystemSpec.model_validate({"system": "alone", "nodes": 2, "ports": ["client"], "command": "true"})
    with Layout(spec, root=tmp_path, plan_dir=tmp_path) as layout:
        assert "link.n2" not in layout.variables("n1")
        assert layout.variables("n1")["n2.port.client"] == str(layout.ports["n2"]["client"])


def test_where_all_share_one_address_everybody_is_given_the_plane_s(tmp_path: Path) -> None:
    peers = {"each": "{peer}=http://{address}", "include_self": True}
    spec = peer_spec(links={"port": "peer", "callers": "shared"}, peers=peers)
    with Layout(spec, root=tmp_path, plan_dir=tmp_path) as layout:
        shared = {"n1": "127.0.0.1:1", "n2": "127.0.0.1:2", "n3": "127.0.0.1:3"}
        layout.place(Placement(LinkAddresses(shared=shared)))
        seen = [layout.variables(node) for node in spec.nodes]
    assert {each["peers"] for each in seen} == {
        "n1=http://127.0.0.1:1,n2=http://127.0.0.1:2,n3=http://127.0.0.1:3"
    }
    assert seen[1]["address.peer"] == "127.0.0.1:2"
    assert seen[1]["listen.peer"].endswith(seen[1]["port.peer"])


def test_two_layouts_never_get_the_same_port(tmp_path: Path) -> None:
    with layout_of(tmp_path / "a") as first, layout_of(tmp_path / "b") as second:
        taken = [port for each in (first, second) for ports in each.ports.values() for port in ports.values()]
        assert len(set(taken)) == 12
        for _ in range(3):
            assert first.allocate() == first.ports
        assert len(first._lease._ports) == 6
