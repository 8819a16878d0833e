"""The netns plane: every node in a network namespace of its own, and faults of the packets between them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, ClassVar

from refute.history.fault import Reading, Signal
from refute.nemesis.errors import FaultInputError, NemesisError
from refute.nemesis.netns.evidence import (
    of_delay,
    of_flapping,
    of_late_links,
    of_link_down,
    of_names,
    of_rate,
    of_rules,
)
from refute.nemesis.netns.layout import Member, members_of
from refute.nemesis.netns.network import Network
from refute.nemesis.netns.tcp import readings_of
from refute.nemesis.netns.trial import try_out
from refute.nemesis.plane import Fault, Probe, Readings, Site, Snapshot
from refute.nemesis.process.undo import handle_of
from refute.nemesis.proxy.shapes import Links, involves_clients, links_of, without
from refute.nemesis.undo import Undo, still_on, undo_each
from refute.plan.units import bytes_per_second, seconds
from refute.system.node_reference import CLIENT
from refute.system.placement import NodePlacement, Placement

_OF_NODES = frozenset({"link-down", "dns"})


class NetnsPlane:
    """Faults of packets. The nodes reach each other over a switch of ours, clients through a forwarder."""

    name: ClassVar[str] = "netns"
    kinds: ClassVar[frozenset[str]] = frozenset(
        {"drop", "reject", "flapping", "loss", "link-down", "rate", "delay", "dns"}
    )

    def __init__(self, site: Site) -> None:
        self._site = site
        self._cluster = site.cluster
        self._members: dict[str, Member] = {}
        self._network: Network | None = None
        self._links: dict[str, Links] = {}
        self._targets: dict[str, Links] = {}

    @staticmethod
    def probe(kind: str) -> Probe:
        """A network of two is built, the fault put on, and its effect seen."""
        return try_out(kind)

    def prepare(self) -> Placement:
        """Build the network; each node is started in its namespace, clients are forwarded into theirs."""
        spec, wanted = self._cluster.spec, self._site.wanted
        names = _with_names(wanted)
        self._members = {member.name: member for member in members_of(spec.everyone)}
        environment = {**os.environ, **self._site.environment}
        self._network = Network(
            *(self._site.ledger.run, spec.everyone, environment),
            log=self._site.run_dir / "netns.log",
            names=names,
        )
        ledger, network = self._site.ledger, self._network
        ledger.resource("netns holder", Undo("end", handle_of(network.identity, [])))
        ledger.resource("its socket", Undo("remove-socket", {"folder": str(network.folder)}))
        ports = {(node, port): self._cluster.lease_port() for node in spec.everyone for port in spec.ports}
        forwarder = network.forward(
            {way: (self._place(*way), number) for way, number in ports.items()}, environment
        )
        ledger.resource("netns forwarder", Undo("end", handle_of(forwarder, [])))
        return Placement(
            nodes={
                node: NodePlacement(
                    host=self._members[node].address,
                    prefix=network.entering(node),
                    outside={port: f"127.0.0.1:{ports[node, port]}" for port in spec.ports},
                    namespace=network.sockets[node],
                )
                for node in spec.everyone
            },
            command_prefix=network.entering(CLIENT),
        )

    def targets(self, fault: Fault) -> tuple[str, ...]:
        """The directed links, or nodes, that it hits; links to nodes that may join later are no targets."""
        if fault.kind in _OF_NODES:
            if not fault.nodes or CLIENT in fault.nodes:
                raise FaultInputError(f"{fault.kind}: name a node")
            self._links[fault.id] = self._targets[fault.id] = ()
            return fault.nodes
        _numbers(fault)  # a parameter in error is found before anything is written
        nodes = list(self._cluster.present)
        if involves_clients(fault.nodes, fault.parameters):
            nodes.append(CLIENT)
        late = self._cluster.absent
        links = links_of(nodes, fault.nodes, fault.parameters, self._site.rng, late=late)
        self._links[fault.id], self._targets[fault.id] = links, without(late, links)
        return tuple(f"{sender}->{receiver}" for sender, receiver in self._targets[fault.id])

    def undos(self, fault: Fault) -> tuple[Undo, ...]:
        """Ask the holder to take it off."""
        return (Undo("take-off", self._require().handle(fault.id)),)

    def apply(self, fault: Fault, take: Callable[[str], None]) -> Mapping[str, Any]:  # noqa: ARG002
        """Tell the holder; the fault is on, and read back, when it has answered."""
        answer = self._require().ask(
            "apply",
            fault=fault.id,
            kind=fault.kind,
            links=self._links[fault.id],
            nodes=fault.nodes,
            parameters=_numbers(fault),
        )
        return {"on_ns": answer["time_ns"]}

    def measure(self) -> Snapshot:
        """What arrived on each link, what each fault has caught, and each node's own counters of TCP."""
        if self._network is None:
            return {}
        stats = self._require().ask("stats")
        values: dict[str, Reading] = {}
        for group in ("links", "faults", "names"):
            for name, read in stats[group].items():
                values |= {f"{name}.{what}": value for what, value in read.items()}
        for name, anchor in self._network.anchors.items():
            values |= {f"{name}.{what}": value for what, value in readings_of(anchor).items()}
        return values

    def signals(self, fault: Fault, readings: Readings) -> tuple[Signal, ...]:
        """What was done to the packets of each link, and what of them arrived."""
        if fault.kind == "link-down":
            return tuple(of_link_down(fault.id, fault.nodes, readings))
        if fault.kind == "dns":
            return tuple(of_names(fault.id, fault.nodes, _numbers(fault)["answer"], readings))
        links = self._targets[fault.id]
        if fault.kind == "rate":
            return tuple(of_rate(fault.id, links, _numbers(fault)["rate_bytes"], readings))
        if fault.kind == "delay":
            return tuple(of_delay(fault.id, links, _numbers(fault)["delay_s"], readings))
        signals = of_rules(fault.id, fault.kind, links, readings)
        late = [link for link in self._links[fault.id] if link not in links]
        signals += tuple(of_late_links(fault.id, fault.kind, late, readings))
        return (of_flapping(fault.id, readings), *signals) if fault.kind == "flapping" else signals

    def is_over(self, fault: Fault) -> bool:  # noqa: ARG002
        """None of them ends by itself."""
        return False

    def heal(self, fault: Fault, version: str | None) -> None:  # noqa: ARG002
        """Ask the holder to take it off."""
        undo_each(self.undos(fault))

    def verify_healed(self, fault: Fault) -> str | None:
        """What the kernel says is left of it."""
        return still_on(self.undos(fault))

    def close(self) -> None:
        """The forwarder and the holder leave, and the kernel removes what they held."""
        if self._network is not None:
            self._network.close()
            self._network = None

    def _place(self, node: str, port: str) -> tuple[str, int]:
        return self._members[node].address, self._cluster.ports[node][port]

    def _require(self) -> Network:
        if self._network is None:
            raise NemesisError("the netns plane is not prepared")
        return self._network


def _with_names(wanted: frozenset[tuple[str, str]]) -> bool:
    """Whether nodes ask our name server. Raises FaultInputError where that cannot go with what is wanted."""
    if ("netns", "dns") not in wanted:
        return False
    storage = any(plane == "storage" for plane, _ in wanted)
    if all(("netns", kind) in wanted for kind in NetnsPlane.kinds):
        # All of the plane was asked for, and nobody named this fault: the others are not given up for it.
        return not storage and find_spec("dnslib") is not None
    if storage:
        raise FaultInputError(
            "names and storage cannot be tampered with in one run: each needs a mount namespace",
            hint="put the faults of storage and netns/dns into two scenarios",
        )
    return True


def _numbers(fault: Fault) -> dict[str, Any]:
    """The parameters of the kind in SI units, as the holder takes them. Raises FaultInputError."""
    given = fault.parameters
    try:
        match fault.kind:
            case "flapping":
                down, up = given.get("down", "200ms"), given.get("up", "200ms")
                return {"down_s": seconds(down), "up_s": seconds(up)}
            case "loss":
                return {"share": float(given.get("share", 0.1))}
            case "dns":
                return {"answer": given.get("answer", "nothing")}
            case "rate":
                return {"rate_bytes": bytes_per_second(given.get("rate", "100kB/s"))}
            case "delay":
                by, jitter = given.get("by", "100ms"), given.get("jitter", 0)
                return {"delay_s": seconds(by), "jitter_s": seconds(jitter)}
    except ValueError as error:
        raise FaultInputError(f"{fault.plane} {fault.kind}: {error}") from error
    return {}
