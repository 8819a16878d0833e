"""The proxy plane: faults of directed links, injected by TCP proxies between the nodes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from refute.history.fault import Reading, Signal
from refute.nemesis.errors import FaultInputError, NemesisError
from refute.nemesis.plane import Fault, Probe, Readings, Site, Snapshot
from refute.nemesis.proxy.asked import require_transport, rule_of
from refute.nemesis.proxy.datagram_witness import DatagramWitness, Session
from refute.nemesis.proxy.host_process import HostProcess
from refute.nemesis.proxy.node_sockets import Looking, NodeSockets
from refute.nemesis.proxy.shapes import Links, involves_clients, links_of, without
from refute.nemesis.proxy.signals import INJECTED, SEEN_IN_PASSING, of_a_late_link, signals_of
from refute.nemesis.undo import Undo, still_on, undo_each
from refute.plan.units import seconds
from refute.system.node import NodeProcess
from refute.system.node_reference import CLIENT
from refute.system.placement import LinkAddresses, Placement


class ProxyPlane:
    """Faults of directed links. New connections are accepted by the proxy even while a link is cut."""

    name: ClassVar[str] = "proxy"
    kinds: ClassVar[frozenset[str]] = frozenset(INJECTED)

    def __init__(self, site: Site) -> None:
        self._site = site
        self._cluster = site.cluster
        self._host: HostProcess | None = None
        self._links: dict[str, Links] = {}
        self._targets: dict[str, Links] = {}
        self._sockets = NodeSockets(map("->".join, self._all_links()), self._pids)
        self._looking: dict[str, Looking] = {}
        self._witness: DatagramWitness | None = None

    @staticmethod
    def probe(kind: str) -> Probe:  # noqa: ARG004
        """It needs nothing but loopback sockets."""
        listener = {"host": "127.0.0.1", "caller": "a", "callee": "b", "target": ["127.0.0.1", 9]}
        host = HostProcess([listener], (("a", "b"),), environment=os.environ, log=Path(os.devnull))
        return Probe(host.close() == 0)

    def prepare(self) -> Placement:
        """Start the proxy host; every directed link between nodes gets an address on it."""
        spec = self._cluster.spec
        if spec.links is None:
            return Placement()
        listeners = self._listeners()
        self._host = HostProcess(
            [
                {
                    "host": "127.0.0.1",
                    "caller": caller,
                    "callee": callee,
                    "target": self._place(callee, port),
                    "transport": spec.links.transport if port == spec.links.port else "tcp",
                }
                for caller, callee, port in listeners
            ],
            self._all_links(),
            environment={**os.environ, **self._site.environment},
            log=self._site.run_dir / "proxy.log",
        )
        for name, undo in self._host.resources().items():
            self._site.ledger.resource(name, undo)
        self._cluster.on_started.append(self._announce)
        addresses = self._host.addresses
        links: dict[tuple[str, str], str] = {}
        shared: dict[str, str] = {}
        clients: dict[tuple[str, str], str] = {}
        for (caller, callee, port), address in zip(listeners, addresses, strict=True):
            if caller == CLIENT:
                clients[callee, port] = address
            elif caller is None:
                shared[callee] = address
            else:
                links[caller, callee] = address
        self._witness = self._look_at_datagrams(addresses)
        return Placement(LinkAddresses(links, shared, clients))

    def targets(self, fault: Fault) -> tuple[str, ...]:
        """The directed links that it hits; those to nodes that may join later are no targets yet."""
        spec = self._cluster.spec
        if spec.links is None or self._host is None:
            raise FaultInputError(
                f"the links of {spec.system!r} are not on the proxy plane",
                hint="say in the system's links which port carries the traffic between nodes",
            )
        if CLIENT in fault.nodes and spec.links.clients != "proxied":
            raise FaultInputError(
                "clients reach the nodes past the proxy plane", hint="write links: {clients: proxied}"
            )
        nodes = list(self._cluster.present)
        if involves_clients(fault.nodes, fault.parameters):
            nodes.append(CLIENT)
        late = self._cluster.absent
        pairs = links_of(nodes, fault.nodes, fault.parameters, self._site.rng, late=late)
        real = set(self._all_links())
        self._links[fault.id] = tuple(pair for pair in pairs if pair in real)
        if not self._links[fault.id]:
            raise FaultInputError(f"no such link is on the plane: {pairs}")
        require_transport(fault.kind, spec.links.transport)
        rule_of(fault)  # a parameter in error is found before anything is written
        self._targets[fault.id] = without(late, self._links[fault.id])
        return tuple(f"{caller}->{callee}" for caller, callee in self._targets[fault.id])

    def undos(self, fault: Fault) -> tuple[Undo, ...]:
        """Ask the proxy host to lift it."""
        assert self._host is not None
        identity = self._host.identity
        handle = {
            "control": str(self._host.control_path),
            "host": [identity.pid, identity.started],
            "fault": fault.id,
        }
        return (Undo("lift", handle),)

    def apply(self, fault: Fault, take: Callable[[str], None]) -> Mapping[str, Any]:  # noqa: ARG002
        """Tell the proxy host; the fault is on when it has answered."""
        answer = self._ask("apply", fault=fault.id, links=self._links[fault.id], rule=rule_of(fault))
        if fault.kind in SEEN_IN_PASSING:
            self._looking[fault.id] = Looking(
                self._sockets, map("->".join, self._links[fault.id]), self._refresh
            )
            self._looking[fault.id].start()
        return {"connections": answer["connections"], "on_ns": answer["time_ns"]}

    def measure(self) -> Snapshot:
        """All counters of all links: `n1->n2.held_bytes`, and those of the nodes' own sockets."""
        if self._host is None:
            return {}
        answer = self._ask("stats")
        values: dict[str, Reading] = {
            f"{link}.{name}": value
            for link, counters in answer["links"].items()
            for name, value in counters.items()
        }
        self._refresh()
        self._sockets.look()
        values |= self._sockets.values()
        if self._witness is not None:
            self._witness.settle()
            for name, seen in self._witness.values().items():
                known = values.get(name)  # where a port carries both, what came in streams
                values[name] = seen + known if isinstance(known, int) and isinstance(seen, int) else seen
        return values

    def signals(self, fault: Fault, readings: Readings) -> tuple[Signal, ...]:
        """What the proxy did to the bytes of each link, and what of them arrived at its receiver."""
        links = [f"{caller}->{callee}" for caller, callee in self._targets.get(fault.id, ())]
        late = [f"{caller}->{callee}" for caller, callee in self._links.get(fault.id, ())]
        asked = fault.parameters.get("by") if fault.kind == "delay" else None
        asked_ms = seconds(asked) * 1000 if asked is not None else None
        spec = self._cluster.spec
        streams = spec.links is not None and spec.links.transport == "tcp"
        of_those_that_were_there = (
            signal
            for link in links
            for signal in signals_of(fault.kind, link, readings, asked_ms, streams=streams)
        )
        joined = (of_a_late_link(fault.kind, link, readings) for link in late if link not in links)
        return (*of_those_that_were_there, *filter(None, joined))

    def is_over(self, fault: Fault) -> bool:  # noqa: ARG002
        """A reset is over as soon as it is done, but is healed late enough to see who came back."""
        return False

    def heal(self, fault: Fault, version: str | None) -> None:  # noqa: ARG002
        """Ask the proxy host to lift it."""
        if looking := self._looking.pop(fault.id, None):
            looking.end()
        undo_each(self.undos(fault))

    def verify_healed(self, fault: Fault) -> str | None:
        """What the proxy host says is on."""
        return still_on(self.undos(fault))

    def close(self) -> None:
        """The proxy host leaves; its directory is removed."""
        for looking in self._looking.values():
            looking.end()
        if self._witness is not None:
            self._witness.end()
            self._witness = None
        if self._host is not None:
            self._host.close()
            self._host = None

    def _refresh(self) -> None:
        self._sockets.update(self._ask("connections")["connections"], self._ports())

    def _look_at_datagrams(self, addresses: Iterable[str]) -> DatagramWitness | None:
        spec = self._cluster.spec
        assert spec.links is not None
        if spec.links.transport == "tcp":
            return None
        targets = {_address(self._cluster.listen_address(n, spec.links.port)): n for n in spec.everyone}
        try:
            witness = DatagramWitness(
                self._all_links(), self._sessions, targets, map(_address, addresses), self._pids
            )
        except (OSError, AttributeError):  # it needs a right, and Linux; the proxy's own counts stand in
            return None
        witness.start()
        return witness

    def _sessions(self) -> list[Session]:
        return [Session.from_json(each) for each in self._ask("sessions")["sessions"]]

    def _pids(self) -> dict[str, int]:
        return {name: node.pid for name, node in list(self._cluster.nodes.items()) if node.running}

    def _ports(self) -> dict[int, str]:
        # Where connections between nodes arrive; clients have ports of their own, or are on the plane.
        spec = self._cluster.spec
        assert spec.links is not None
        return {self._cluster.ports[node][spec.links.port]: node for node in spec.everyone}

    def _listeners(self) -> list[tuple[str | None, str, str]]:
        spec = self._cluster.spec
        assert spec.links is not None
        port = spec.links.port
        if spec.links.callers == "shared":
            found: list[tuple[str | None, str, str]] = [(None, callee, port) for callee in spec.everyone]
        else:
            found = [(a, b, port) for a in spec.everyone for b in spec.everyone if a != b]
        if spec.links.clients == "proxied":
            found += [(CLIENT, node, each) for node in spec.everyone for each in spec.ports if each != port]
        return found

    def _all_links(self) -> Links:
        spec = self._cluster.spec
        nodes = list(spec.everyone)
        if spec.links is not None and spec.links.clients == "proxied":
            nodes.append(CLIENT)
        return tuple((a, b) for a in nodes for b in nodes if a != b)

    def _announce(self, node: NodeProcess) -> None:
        self._ask("nodes", pids={node.node: node.pid})

    def _ask(self, do: str, **fields: Any) -> dict[str, Any]:
        if self._host is None:
            raise NemesisError("the proxy host is gone")
        return self._host.ask(do, **fields)

    def _place(self, node: str, port: str) -> list[Any]:
        return list(_address(self._cluster.listen_address(node, port)))


def _address(written: str) -> tuple[str, int]:
    host, _, port = written.rpartition(":")
    return host, int(port)
