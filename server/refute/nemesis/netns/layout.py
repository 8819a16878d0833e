"""Who has which address: one network of a switch to which every node and the clients are plugged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from refute.nemesis.errors import FaultInputError
from refute.system.node_reference import CLIENT

BRIDGE = "br0"
INTERFACE = "eth0"
_NETWORK = "10.77.0"
NAMES_ADDRESS = f"{_NETWORK}.254"
"""Where names are answered, at the switch."""
FORMER_ADDRESS = f"{_NETWORK}.249"
"""An address of the switch at which nobody listens: where a node is said to be that is there no more."""
_MOST = 240
_CLIENT_HOST = 250


@dataclass(frozen=True, slots=True)
class Member:
    """Somebody at the switch. `number` is part of its address and of all names that belong to it."""

    name: str
    number: int

    @property
    def address(self) -> str:
        """Its address, known to the members only."""
        return f"{_NETWORK}.{self.number}"

    @property
    def port(self) -> str:
        """The switch's end of its cable."""
        return f"port{self.number}"


def members_of(nodes: Sequence[str]) -> tuple[Member, ...]:
    """The nodes in order, then the clients. Raises FaultInputError for more than the network has room for.

    >>> [member.address for member in members_of(["n1", "n2"])]
    ['10.77.0.1', '10.77.0.2', '10.77.0.250']
    """
    if len(nodes) > _MOST:
        raise FaultInputError(f"the netns plane has room for {_MOST} nodes, not for {len(nodes)}")
    return (*(Member(node, place) for place, node in enumerate(nodes, 1)), Member(CLIENT, _CLIENT_HOST))


def at_the_switch(member: Member, process: int) -> str:
    """What `ip -batch` is told in the switch's namespace to plug in the member that lives with `process`."""
    return (
        f"link add {member.port} type veth peer name {INTERFACE} netns {process}\n"
        f"link set {member.port} addrgenmode none\n"
        f"link set {member.port} master {BRIDGE} up\n"
    )


def at_the_member(member: Member) -> str:
    """What `ip -batch` is told in the member's namespace."""
    return (
        f"link set lo up\nlink set {INTERFACE} addrgenmode none\n"
        f"addr add {member.address}/24 dev {INTERFACE}\nlink set {INTERFACE} up\n"
    )


SWITCH = f"link set lo up\nlink add {BRIDGE} type bridge\nlink set {BRIDGE} addrgenmode none up\n"
NAMES = f"addr add {NAMES_ADDRESS}/24 dev {BRIDGE}\naddr add {FORMER_ADDRESS}/24 dev {BRIDGE}\n"
