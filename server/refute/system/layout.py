"""How a system is laid out on this machine: where each node is, and with what it is started.

Nothing is started here.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from refute.errors import UnavailableError
from refute.plan.system_spec import FIRST, SystemSpec
from refute.resources import folder
from refute.system.errors import ClusterInputError
from refute.system.placement import NodePlacement, Placement
from refute.system.ports import PortLease
from refute.system.templates import render, render_words

_NOWHERE_ELSE = NodePlacement()


class Layout:
    """Ports, addresses, directories, environments and commands of the nodes of a system description.

    `root` has a directory of data for each node (`data/n1`) and its log (`logs/n1.log`). What fault planes
    put between or around the nodes comes by `place`. Leaving the context gives the ports back.
    """

    def __init__(
        self,
        spec: SystemSpec,
        *,
        root: Path,
        plan_dir: Path,
        variables: Mapping[str, str] | None = None,
        placement: Placement | None = None,
    ) -> None:
        self.spec = spec
        self.root = root.resolve()
        self.plan_dir = plan_dir.resolve()
        self.placement = placement or Placement()
        self.ports: dict[str, dict[str, int]] = {}
        self._joined: set[str] = set()
        self._lease = PortLease()
        self._given = {**spec.variables, **(variables or {})}
        if unknown := set(variables or {}) - set(spec.variables):
            raise ClusterInputError(f"the system {spec.system!r} has no variable {min(unknown)!r}")

    def __enter__(self) -> Self:
        """Take the ports, so that addresses are known before anything starts."""
        self.allocate()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give up all that is held."""
        self.close()

    def close(self) -> None:
        """Give the ports back."""
        self._lease.close()

    def allocate(self) -> Mapping[str, Mapping[str, int]]:
        """A free loopback port for each port of each node, the same at every call."""
        for node in self.spec.everyone:
            if node not in self.ports:
                self.ports[node] = {name: self._lease.take() for name in self.spec.ports}
        return self.ports

    @property
    def absent(self) -> tuple[str, ...]:
        """The spares that take no part now."""
        return tuple(spare for spare in self.spec.spares if spare not in self._joined)

    @property
    def present(self) -> tuple[str, ...]:
        """The nodes that take part now: those of the description, and the spares that were started."""
        return (*self.spec.nodes, *(spare for spare in self.spec.spares if spare in self._joined))

    def lease_port(self) -> int:
        """Another free loopback port that stays ours as those of the nodes do; the caller binds it."""
        port = self._lease.take()
        self._lease.release(port)
        return port

    def place(self, placement: Placement) -> None:
        """Use what the fault planes have prepared; before `start`."""
        self.placement = self.placement.with_(placement)

    def address(self, node: str, port: str) -> str:
        """`host:port` at which this process reaches a port of a node, past the fault planes."""
        self._require_known(node)
        if port not in self.spec.ports:
            raise ClusterInputError(
                f"there is no port {port!r}; there are {list(self.spec.ports)}", where=node
            )
        return self._placed(node).outside.get(port) or self.listen_address(node, port)

    def client_address(self, node: str, port: str) -> str:
        """`host:port` that clients are given: on the fault plane where `links.clients` is `proxied`."""
        return self.placement.links.clients.get((node, port)) or self.address(node, port)

    def listen_address(self, node: str, port: str) -> str:
        """`host:port` on which the node itself listens."""
        return f"{self._placed(node).host}:{self.allocate()[node][port]}"

    def link_address(self, caller: str, callee: str) -> str:
        """`host:port` at which one node reaches another: a link of the fault plane, if there is one."""
        links, port = self.placement.links, self._link_port()
        if callee in links.shared:
            return links.shared[callee]
        return links.links.get((caller, callee)) or self.listen_address(callee, port)

    def variables(self, node: str) -> dict[str, str]:
        """What templates in commands of this node stand for, by name."""
        values = self._own_variables(node)
        for other in self.spec.everyone:
            values |= {f"{other}.{name}": value for name, value in self._own_variables(other).items()}
            if other != node and self._has_links():
                values[f"link.{other}"] = self.link_address(node, other)
        for port in self.spec.ports:
            values[f"addresses.{port}"] = ",".join(
                self.listen_address(each, port) for each in self.spec.nodes
            )
        values["peers"] = self._peers(node)
        for name, value in self._given.items():
            values[f"variables.{name}"] = render(value, values, where=f"variables.{name}")
        return values

    def log_path(self, node: str) -> Path:
        """The log of a node, of all its runs."""
        return self.root / "logs" / f"{node}.log"

    def data_directory(self, node: str) -> Path:
        """What `{data}` stands for: as the node sees it, which may be in a namespace of its own."""
        return self._placed(node).data or self.root / "data" / node

    def working_directory(self, node: str) -> Path:
        """Where a node's commands run: `cwd` of the description, from the plan's folder; else its data."""
        if self.spec.cwd is None:
            return self.data_directory(node)
        return self.plan_dir / render(self.spec.cwd, self._own_variables(node), where="cwd")

    def environment(self, node: str, version: str | None = None) -> dict[str, str]:
        """The environment of the commands of a node, in a version of it."""
        written = dict(self.spec.env)
        if version in self.spec.versions:
            written |= self.spec.versions[version].env
        values = self.variables(node)
        rendered = {name: render(value, values, where=f"env.{name}") for name, value in written.items()}
        return {**os.environ, **rendered, **self._placed(node).env}

    def process_environment(self, node: str, version: str | None) -> dict[str, str]:
        """The environment of a node's process: that of its commands, and what it is given alone."""
        placed, found = self._placed(node), self.environment(node, version)
        if placed.preload:
            there = found.get("LD_PRELOAD", "").replace(":", " ").split()
            found["LD_PRELOAD"] = ":".join([*map(str, placed.preload), *there])
        return {**found, **placed.alone}

    def command(self, node: str, version: str | None = None) -> list[str]:
        """The words with which a node is started, in a version of it. Raises ClusterInputError."""
        words = self.spec.command
        if version and version != FIRST:
            if version not in self.spec.versions:
                known = ", ".join((FIRST, *self.spec.versions))
                raise ClusterInputError(f"there is no version {version!r}; there are: {known}", where=node)
            words = self.spec.versions[version].command or words
        return render_words(words, self.variables(node), where=f"command of {node}")

    def _own_variables(self, node: str) -> dict[str, str]:
        host = self._placed(node).host
        values = {
            "node": node,
            "index": str(self.spec.everyone.index(node) + 1),
            "host": host,
            "data": str(self.data_directory(node)),
            "python": sys.executable,
            "plan_dir": str(self.plan_dir),
        }
        with suppress(UnavailableError):  # a template that asks for it says so
            values["examples"] = str(folder("examples"))
        for port, number in self.allocate()[node].items():
            values[f"port.{port}"] = str(number)
            values[f"listen.{port}"] = f"{host}:{number}"
            values[f"address.{port}"] = f"{host}:{number}"
        if self.spec.links and node in self.placement.links.shared:
            values[f"address.{self.spec.links.port}"] = self.placement.links.shared[node]
        return values

    def _peers(self, node: str) -> str:
        peers, rendered = self.spec.peers, []
        if not self._has_links():
            return ""
        # A spare that is about to join knows of all that are there, and of itself.
        for peer in (*self.present, *(spare for spare in (node,) if spare not in self.present)):
            if peer == node and not peers.include_self:
                continue
            address = self.link_address(node, peer)
            host, _, port = address.rpartition(":")
            values = {"peer": peer, "address": address, "host": host, "port": port}
            rendered.append(render(peers.each, values, where="peers.each"))
        return peers.join.join(rendered)

    def _has_links(self) -> bool:
        # Nodes that share a machine and no protocol have no port for one another.
        return self.spec.links is not None or "peer" in self.spec.ports

    def _link_port(self) -> str:
        return self.spec.links.port if self.spec.links else "peer"

    def _placed(self, node: str) -> NodePlacement:
        return self.placement.nodes.get(node, _NOWHERE_ELSE)

    def _require_known(self, node: str) -> None:
        if node not in self.spec.everyone:
            raise ClusterInputError(f"there is no node {node!r}; there are {', '.join(self.spec.everyone)}")
