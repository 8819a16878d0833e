"""Asking the Linux kernel about single TCP sockets over netlink: a thousandth of the cost of /proc/net/tcp.

The messages are those of inet_diag, see sock_diag(7).
"""

from __future__ import annotations

import socket
import struct
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass

from refute.system.netlink import DUMP, REQUEST, ask, attributes, open_netlink

SOCK_DIAG = 4
_BY_FAMILY = 20
_ESTABLISHED, _LISTEN = 1 << 1, 1 << 10
_INFO = 2  # INET_DIAG_INFO: the attribute that holds a struct tcp_info
_ASKED = struct.Struct("=BBBBI")
_WHICH = struct.Struct("!HH16s16s")
_NO_COOKIE = b"\0" * 4 + b"\xff" * 8  # no interface, and no particular socket
_PORTS = struct.Struct("!HH")
_INODE = struct.Struct("=I")
_STATE_AT, _ID_AT, _INODE_AT, _ATTRIBUTES_AT = 1, 4, 68, 72
_ACKED_RECEIVED = struct.Struct("=QQ")
_ROUND_TRIP_AT = 68  # tcpi_rtt, in us
_ACKED_AT = 120  # tcpi_bytes_acked, and after it tcpi_bytes_received
_MAPPED = b"\0" * 10 + b"\xff\xff"  # before an IPv4 address in a socket of IPv6

SOCKETS_CAN_BE_ASKED = sys.platform == "linux"

Pair = tuple[tuple[str, int], tuple[str, int]]
"""One end of an IPv4 connection: its own address, and that of the other end."""


@dataclass(frozen=True, slots=True)
class SocketBytes:
    """What the kernel of one end says: bytes that the other end has acknowledged, and bytes received."""

    established: bool
    acked: int
    received: int


class SocketTable:
    """The sockets of the network namespace in which it is made, or of the one that `netlink` was opened in.

    Any thread may ask. Reading a namespace's /proc/net/tcp takes tens of milliseconds instead.
    """

    def __init__(self, netlink: socket.socket | None = None) -> None:
        self._netlink = netlink or open_netlink(SOCK_DIAG)
        self._one_at_a_time = threading.Lock()

    def listening(self) -> list[tuple[int, str]]:
        """(port, inode) of every listening TCP socket. Raises OSError."""
        found = []
        with self._one_at_a_time:
            for family in (socket.AF_INET, socket.AF_INET6):
                asked = _asked(family, _LISTEN, _WHICH.pack(0, 0, b"", b""))
                for body in ask(self._netlink, _BY_FAMILY, asked, dump=True):
                    port = _PORTS.unpack_from(body, _ID_AT)[0]
                    found.append((port, str(_INODE.unpack_from(body, _INODE_AT)[0])))
        return found

    def round_trips_us(self) -> dict[str, int]:
        """The longest smoothed round trip of the TCP connections to each IPv4 peer, in us. Raises OSError."""
        longest: dict[str, int] = {}
        with self._one_at_a_time:
            for family in (socket.AF_INET, socket.AF_INET6):
                asked = _asked(family, _ESTABLISHED, _WHICH.pack(0, 0, b"", b""), 1 << (_INFO - 1))
                for body in ask(self._netlink, _BY_FAMILY, asked, dump=True):
                    peer = _ipv4(family, body[_ID_AT + 20 : _ID_AT + 36])
                    info = dict(attributes(body[_ATTRIBUTES_AT:])).get(_INFO, b"")
                    if peer and len(info) >= _ROUND_TRIP_AT + 4:
                        took: int = struct.unpack_from("=I", info, _ROUND_TRIP_AT)[0]
                        longest[peer] = max(longest.get(peer, 0), took)
        return longest

    def descriptor(self) -> int:
        """Of the socket that asks, to be handed to another process."""
        return self._netlink.fileno()

    def close(self) -> None:
        """Give the socket up."""
        self._netlink.close()


def listening_sockets() -> list[tuple[int, str]]:
    """(port, inode) of every listening TCP socket in our network namespace. Raises OSError."""
    with closing(SocketTable()) as table:
        return table.listening()


def socket_inode(local: tuple[str, int], remote: tuple[str, int]) -> str | None:
    """The inode of the IPv4 connection from `local` to `remote`; None where there is none. Raises OSError."""
    which = _WHICH.pack(local[1], remote[1], socket.inet_aton(local[0]), socket.inet_aton(remote[0]))
    for body in _ask(socket.AF_INET, 0xFFFFFFFF, which, REQUEST):
        inode = _INODE.unpack_from(body, _INODE_AT)[0]
        return str(inode) if inode else None
    return None


def socket_bytes(pairs: Iterable[Pair]) -> dict[Pair, SocketBytes]:
    """What was sent and received at each of these ends so far; ends that are closed are left out.

    Empty where the kernel cannot be asked. About 20 us an end.
    """
    found: dict[Pair, SocketBytes] = {}
    if not SOCKETS_CAN_BE_ASKED:
        return found
    with suppress(OSError):
        for pair in pairs:
            local, remote = pair
            which = _WHICH.pack(local[1], remote[1], socket.inet_aton(local[0]), socket.inet_aton(remote[0]))
            for body in _ask(socket.AF_INET, 0xFFFFFFFF, which, REQUEST, 1 << (_INFO - 1)):
                info = dict(attributes(body[_ATTRIBUTES_AT:])).get(_INFO, b"")
                if len(info) >= _ACKED_AT + _ACKED_RECEIVED.size:
                    acked, received = _ACKED_RECEIVED.unpack_from(info, _ACKED_AT)
                    found[pair] = SocketBytes(body[_STATE_AT] == 1, acked, received)
    return found


def established_to(ports: Iterable[int]) -> list[Pair]:
    """The established IPv4 connections that were accepted on these ports; empty where nobody can be asked."""
    wanted = set(ports)
    return [pair for pair in _established(wanted) if pair[0][1] in wanted]


def established_from(ports: Iterable[int]) -> list[Pair]:
    """The established IPv4 connections to these ports, at the ends that have opened them."""
    wanted = set(ports)
    return [pair for pair in _established(wanted) if pair[1][1] in wanted]


def _established(wanted: set[int]) -> list[Pair]:
    found: list[Pair] = []
    if not SOCKETS_CAN_BE_ASKED:
        return found
    with suppress(OSError):
        for family in (socket.AF_INET, socket.AF_INET6):
            for body in _ask(family, _ESTABLISHED, _WHICH.pack(0, 0, b"", b""), REQUEST | DUMP):
                local_port, remote_port = _PORTS.unpack_from(body, _ID_AT)
                if local_port in wanted or remote_port in wanted:
                    addresses = [body[at : at + 16] for at in (_ID_AT + 4, _ID_AT + 20)]
                    local, remote = (_ipv4(family, each) for each in addresses)
                    if local and remote:
                        found.append(((local, local_port), (remote, remote_port)))
    return found


def _ipv4(family: int, address: bytes) -> str | None:
    if family == socket.AF_INET:
        return socket.inet_ntoa(address[:4])
    return socket.inet_ntoa(address[12:]) if address.startswith(_MAPPED) else None


def _ask(family: int, states: int, which: bytes, flags: int, more: int = 0) -> Iterator[bytes]:
    with open_netlink(SOCK_DIAG) as netlink:
        yield from ask(netlink, _BY_FAMILY, _asked(family, states, which, more), dump=bool(flags & DUMP))


def _asked(family: int, states: int, which: bytes, more: int = 0) -> bytes:
    return _ASKED.pack(family, socket.IPPROTO_TCP, more, 0, states) + which + _NO_COOKIE
