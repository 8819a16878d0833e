"""The toxiproxy plane: a proxy of our own for each directed link, in front of the one that counts."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from refute.history.fault import Reading, Signal
from refute.nemesis.errors import FaultInputError
from refute.nemesis.plane import Fault, Probe, Readings, Site, Snapshot
from refute.nemesis.proxy.shapes import Links, links_of
from refute.nemesis.toxiproxy.api import Api, address
from refute.nemesis.toxiproxy.signals import signals_of
from refute.nemesis.toxiproxy.undo import VERBS
from refute.nemesis.undo import Undo, still_on, undo_each
from refute.plan.units import bytes_per_second, seconds
from refute.system.node_reference import CLIENT
from refute.system.placement import LinkAddresses, Placement
from refute.system.socket_diagnosis import Pair, established_from, socket_bytes


class ToxiproxyPlane:
    """Faults of what a node sends on the connections that it has opened itself, by a running toxiproxy."""

    name: ClassVar[str] = "toxiproxy"
    kinds: ClassVar[frozenset[str]] = frozenset({"down", "latency", "bandwidth", "timeout", "reset"})

    def __init__(self, site: Site) -> None:
        self._site = site
        self._cluster = site.cluster
        self._api: Api | None = None
        self._names: dict[tuple[str, str], str] = {}
        self._ports: dict[int, str] = {}
        self._sent: dict[str, dict[Pair, int]] = {}
        self._links: dict[str, Links] = {}

    @staticmethod
    def probe(kind: str) -> Probe:  # noqa: ARG004
        """A toxic is put on a proxy of our own and taken off again."""
        api = Api(address())
        version = api.version()
        name = f"refute-probe-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        try:
            api.create(name, "127.0.0.1:9")
            api.add(name, "probe", "latency", {"latency": 1, "jitter": 0})
            shown = [toxic["name"] for toxic in api.proxies()[name]["toxics"]]
            return Probe(
                shown == ["probe"], "" if shown else "a toxic was set and is not shown", {"version": version}
            )
        finally:
            api.delete(name)

    def prepare(self) -> Placement:
        """A proxy of toxiproxy for each directed link; it passes on to where the link led before."""
        spec = self._cluster.spec
        if spec.links is None:
            return Placement()
        if spec.links.callers != "per-link" or spec.links.transport != "tcp":
            raise FaultInputError(
                "toxiproxy cannot tell the callers of one address apart, and passes no datagrams",
                hint="use the plane proxy, which can",
            )
        self._api = Api(address())
        self._api.version()
        links: dict[tuple[str, str], str] = {}
        for caller in spec.everyone:
            for callee in (node for node in spec.everyone if node != caller):
                name = f"refute-{self._site.ledger.run}-{caller}-{callee}"
                handle = {"api": self._api.place, "proxy": name}
                self._site.ledger.resource(f"toxiproxy's {name}", Undo("remove-proxy", handle))
                listens = self._api.create(name, self._cluster.link_address(caller, callee))
                port = int(listens.rpartition(":")[2])
                links[caller, callee] = f"{self._api.host}:{port}"
                self._names[caller, callee] = name
                self._ports[port] = f"{caller}->{callee}"
        return Placement(LinkAddresses(links))

    def targets(self, fault: Fault) -> tuple[str, ...]:
        """The directed links that it hits."""
        if self._api is None:
            raise FaultInputError(f"the links of {self._cluster.spec.system!r} do not go through toxiproxy")
        if CLIENT in fault.nodes:
            raise FaultInputError("the way of the clients does not go through toxiproxy")
        pairs = links_of(list(self._cluster.spec.nodes), fault.nodes, fault.parameters, self._site.rng)
        self._links[fault.id] = pairs
        _toxic(fault)
        return tuple(f"{caller}->{callee}" for caller, callee in pairs)

    def undos(self, fault: Fault) -> tuple[Undo, ...]:
        """Take exactly this toxic off, or switch exactly these proxies on."""
        assert self._api is not None
        handles = [{"api": self._api.place, "proxy": self._names[pair]} for pair in self._links[fault.id]]
        if fault.kind == "down":
            return tuple(Undo("enable-proxy", handle) for handle in handles)
        return tuple(Undo("remove-toxic", {**handle, "toxic": _name(fault)}) for handle in handles)

    def apply(self, fault: Fault, take: Callable[[str], None]) -> Mapping[str, Any]:  # noqa: ARG002
        """Ask toxiproxy, link by link."""
        assert self._api is not None
        for pair in self._links[fault.id]:
            if fault.kind == "down":
                self._api.enable(self._names[pair], on=False)
            else:
                self._api.add(self._names[pair], _name(fault), *_toxic(fault))
        return {"toxiproxy": self._api.place}

    def measure(self) -> Snapshot:
        """Of each link: what toxiproxy shows of its proxy, and the callers' own sockets to it."""
        if self._api is None:
            return {}
        values: dict[str, Reading] = {}
        shown = self._api.proxies()
        for (caller, callee), name in self._names.items():
            of_proxy = shown.get(name)
            toxics = ", ".join(sorted(toxic["name"] for toxic in (of_proxy or {}).get("toxics") or ()))
            state = "gone" if of_proxy is None else "on" if of_proxy["enabled"] else "off"
            values[f"{caller}->{callee}.toxiproxy"] = f"{state}, {toxics or 'no toxic'}"
        return values | self._sockets()

    def signals(self, fault: Fault, readings: Readings) -> tuple[Signal, ...]:
        """What toxiproxy shows, and what arrives at the receivers of our own proxies behind it."""
        asked = fault.parameters.get("by", "100ms") if fault.kind == "latency" else None
        asked_ms = seconds(asked) * 1000 if asked is not None else None
        links = [f"{caller}->{callee}" for caller, callee in self._links.get(fault.id, ())]
        return tuple(signal for link in links for signal in signals_of(fault.kind, link, readings, asked_ms))

    def is_over(self, fault: Fault) -> bool:  # noqa: ARG002
        """A toxic stays until it is taken off."""
        return False

    def heal(self, fault: Fault, version: str | None) -> None:  # noqa: ARG002
        """Undo exactly this fault."""
        undo_each(self.undos(fault))

    def verify_healed(self, fault: Fault) -> str | None:
        """What toxiproxy still shows of it."""
        return still_on(self.undos(fault))

    def close(self) -> None:
        """Our own proxies are removed, and no other."""
        if self._api is not None:
            for name in self._names.values():
                VERBS["remove-proxy"].undo({"api": self._api.place, "proxy": name})
            self._api = None

    def _sockets(self) -> dict[str, Reading]:
        by_link: dict[str, list[Pair]] = {link: [] for link in self._ports.values()}
        for pair in established_from(self._ports):
            by_link[self._ports[pair[1][1]]].append(pair)
        values: dict[str, Reading] = {}
        for link, pairs in by_link.items():
            sent = self._sent.setdefault(link, {})
            found = socket_bytes(pairs)
            sent |= {pair: ends.acked for pair, ends in found.items()}
            values[f"{link}.sent_to_toxiproxy_bytes"] = sum(sent.values())
            values[f"{link}.caller_connections"] = f"{len(sent)} seen, {len(found)} open"
        return values


def _name(fault: Fault) -> str:
    return f"refute-{fault.id}"


def _toxic(fault: Fault) -> tuple[str, dict[str, Any]]:
    given = fault.parameters
    try:
        if fault.kind == "latency":
            by, jitter = seconds(given.get("by", "100ms")), seconds(given.get("jitter", 0))
            return "latency", {"latency": round(by * 1000), "jitter": round(jitter * 1000)}
        if fault.kind == "bandwidth":
            rate = bytes_per_second(given.get("rate", "10kB/s"))
            return "bandwidth", {"rate": max(1, round(rate / 1000))}
    except ValueError as error:
        raise FaultInputError(f"toxiproxy {fault.kind}: {error}") from error
    if fault.kind == "reset":
        return "reset_peer", {"timeout": 0}
    return "timeout", {"timeout": 0}  # bytes are dropped, and the connection is never ended by it
