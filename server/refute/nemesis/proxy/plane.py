"""The proxy plane: faults of directed links, injected by TCP proxies between the nodes."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from refute.history.fault import Reading, Signal
from refute.interpreter import python
from refute.nemesis.errors import FaultInputError, NemesisError
from refute.nemesis.plane import Fault, Probe, Readings, Site, Snapshot
from refute.nemesis.process.undo import handle_of
from refute.nemesis.proxy.asked import require_transport, rule_of
from refute.nemesis.proxy.control import Control
from refute.nemesis.proxy.datagram_witness import DatagramWitness, Session
from refute.nemesis.proxy.node_sockets import Looking, NodeSockets
from refute.nemesis.proxy.shapes import Links, involves_clients, links_of, without
from refute.nemesis.proxy.signals import INJECTED, SEEN_IN_PASSING, of_a_late_link, signals_of
from refute.nemesis.proxy.undo import VERBS
from refute.nemesis.undo import Undo, still_on, undo_each
from refute.plan.units import seconds
from refute.system.node import NodeProcess
from refute.system.node_reference import CLIENT
from refute.system.placement import LinkAddresses, Placement
from refute.system.process_table import ProcessId, identify, is_alive

_UP_WITHIN_S = 10.0
_GONE_WITHIN_S = 5.0


class ProxyPlane:
    """Faults of directed links. New connections are accepted by the proxy even while a link is cut."""

    name: ClassVar[str] = "proxy"
    kinds: ClassVar[frozenset[str]] = frozenset(INJECTED)

    def __init__(self, site: Site) -> None:
        self._site = site
        self._cluster = site.cluster
        self._process: subprocess.Popen[str] | None = None
        self._identity = ProcessId(0, 0)
        self._control: Control | None = None
        self._folder: Path | None = None
        self._links: dict[str, Links] = {}
        self._targets: dict[str, Links] = {}
        self._sockets = NodeSockets(map("->".join, self._all_links()), self._pids)
        self._looking: dict[str, Looking] = {}
        self._witness: DatagramWitness | None = None

    @staticmethod
    def probe(kind: str) -> Probe:  # noqa: ARG004
        """It needs nothing but loopback sockets."""
        with tempfile.TemporaryDirectory(prefix="refute-") as folder:
            owner = identify(os.getpid())
            assert owner is not None
            configuration = {
                "owner": [owner.pid, owner.started],
                "control": f"{folder}/control",
                "listeners": [
                    {"host": "127.0.0.1", "caller": "a", "callee": "b", "target": ["127.0.0.1", 9]}
                ],
                "links": [["a", "b"]],
            }
            process = _start_host(configuration, dict(os.environ), Path(os.devnull))[0]
            try:
                with Control(Path(folder) / "control") as control:
                    control.ask("exit")
                return Probe(process.wait(_GONE_WITHIN_S) == 0)
            finally:
                process.kill()
                process.wait()

    def prepare(self) -> Placement:
        """Start the proxy host; every directed link between nodes gets an address on it."""
        spec = self._cluster.spec
        if spec.links is None:
            return Placement()
        self._folder = Path(tempfile.mkdtemp(prefix="refute-"))  # a path of a socket has to be short
        listeners = self._listeners()
        owner = identify(os.getpid())
        assert owner is not None
        configuration = {
            "owner": [owner.pid, owner.started],
            "control": str(self._folder / "control"),
            "listeners": [
                {
                    "host": "127.0.0.1",
                    "caller": caller,
                    "callee": callee,
                    "target": self._place(callee, port),
                    "transport": spec.links.transport if port == spec.links.port else "tcp",
                }
                for caller, callee, port in listeners
            ],
            "links": [list(pair) for pair in self._all_links()],
        }
        self._process, addresses = _start_host(
            configuration, {**os.environ, **self._site.environment}, self._site.run_dir / "proxy.log"
        )
        self._identity = identify(self._process.pid) or ProcessId(self._process.pid, 0)
        self._site.ledger.resource("proxy host", Undo("end", handle_of(self._identity, [])))
        self._site.ledger.resource("its socket", Undo("remove-socket", {"folder": str(self._folder)}))
        self._control = Control(self._folder / "control")
        self._cluster.on_started.append(self._announce)
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
        if spec.links is None or self._control is None:
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
        assert self._folder is not None
        return (
            Undo(
                "lift",
                {
                    "control": str(self._folder / "control"),
                    "host": [self._identity.pid, self._identity.started],
                    "fault": fault.id,
                },
            ),
        )

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
        if self._control is None:
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
        if self._control is not None:
            with suppress(NemesisError):  # gone already
                self._control.ask("exit")
            self._control.close()
            self._control = None
        if self._process is not None:
            try:
                self._process.wait(_GONE_WITHIN_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        if self._folder is not None:
            VERBS["remove-socket"].undo({"folder": str(self._folder)})
            self._folder = None

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
        if self._control is None or not is_alive(self._identity):
            raise NemesisError("the proxy host is gone")
        return self._control.ask(do, **fields)

    def _place(self, node: str, port: str) -> list[Any]:
        return list(_address(self._cluster.listen_address(node, port)))


def _address(written: str) -> tuple[str, int]:
    host, _, port = written.rpartition(":")
    return host, int(port)


def _start_host(
    configuration: Mapping[str, Any], environment: Mapping[str, str], log: Path
) -> tuple[subprocess.Popen[str], list[str]]:
    with log.open("ab") as errors:
        process = subprocess.Popen(
            python("-m", "refute.nemesis.proxy.host"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env=dict(environment),
            start_new_session=True,
        )
    assert process.stdin is not None and process.stdout is not None
    began = time.monotonic()
    try:
        process.stdin.write(json.dumps(configuration))
        process.stdin.close()
        line = process.stdout.readline()
        process.stdout.close()
        return process, json.loads(line)["addresses"]
    except (OSError, ValueError) as error:
        process.kill()
        process.wait()
        took = time.monotonic() - began
        raise NemesisError(f"the proxy host did not start ({took:.1f} s); see {log}") from error
