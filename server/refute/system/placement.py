"""What the fault planes change about how nodes are started: addresses, environment, wrappers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from refute.system.socket_diagnosis import SocketTable


@dataclass(frozen=True, slots=True)
class LinkAddresses:
    """Where the traffic between nodes is sent so that it passes the fault plane, as `host:port`.

    `links[("n1", "n2")]` is the address at which n1 reaches n2. `shared["n2"]` is the one at which everybody
    does, where all nodes must be given the same. `clients[("n1", "client")]` is the address at which clients
    reach port `client` of n1, where their way is on the plane too.
    """

    links: Mapping[tuple[str, str], str] = field(default_factory=dict)
    shared: Mapping[str, str] = field(default_factory=dict)
    clients: Mapping[tuple[str, str], str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NodePlacement:
    """What one node is started with: `host` it listens on, words before its command, environment, data
    directory. `outside` maps a port name to the address at which this process reaches it, where that
    differs from host and port. `namespace` tells of the sockets of the node's network
    namespace, where that is not ours. `preload` are libraries that the loader puts before all
    others, `alone` is environment of the node's process that its commands do not get. `inside` are the words
    before any other program that has to see the node's files.
    """

    host: str = "127.0.0.1"
    prefix: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    data: Path | None = None
    outside: Mapping[str, str] = field(default_factory=dict)
    namespace: SocketTable | None = None
    preload: tuple[Path, ...] = ()
    alone: Mapping[str, str] = field(default_factory=dict)
    inside: tuple[str, ...] = ()

    def with_(self, other: NodePlacement) -> NodePlacement:
        """Both together; what `other` sets wins, its words come first (outermost)."""
        return NodePlacement(
            host=other.host if other.host != "127.0.0.1" else self.host,
            prefix=(*other.prefix, *self.prefix),
            env={**self.env, **other.env},
            data=other.data or self.data,
            outside={**self.outside, **other.outside},
            namespace=other.namespace or self.namespace,
            preload=tuple(dict.fromkeys((*self.preload, *other.preload))),
            alone={**self.alone, **other.alone},
            inside=(*other.inside, *self.inside),
        )


@dataclass(frozen=True, slots=True)
class Placement:
    """The contributions of all planes: addresses of links, and what each node is started with.

    `command_prefix` are words before the system's own commands, where these have to run elsewhere to reach
    the nodes.
    """

    links: LinkAddresses = LinkAddresses()
    nodes: Mapping[str, NodePlacement] = field(default_factory=dict)
    command_prefix: tuple[str, ...] = ()

    def with_(self, other: Placement) -> Placement:
        """Both together; of two planes that route the same link, `other` wins."""
        names = {*self.nodes, *other.nodes}
        none = NodePlacement()
        return Placement(
            LinkAddresses(
                {**self.links.links, **other.links.links},
                {**self.links.shared, **other.links.shared},
                {**self.links.clients, **other.links.clients},
            ),
            {name: self.nodes.get(name, none).with_(other.nodes.get(name, none)) for name in names},
            (*other.command_prefix, *self.command_prefix),
        )
