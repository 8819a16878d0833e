"""Asking the Linux kernel about single TCP sockets over netlink: a thousandth of the cost of /proc/net/tcp.

The messages are those of inet_diag, see sock_diag(7).
"""

from __future__ import annotations

import socket
import struct
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

_SOCK_DIAG = 4
_BY_FAMILY = 20
_REQUEST, _DUMP = 1, 0x300
_DONE, _ERROR = 3, 2
_ESTABLISHED, _LISTEN = 1 << 1, 1 << 10
_INFO = 2  # INET_DIAG_INFO: the attribute that holds a struct tcp_info
_HEADER = struct.Struct("=IHHII")
_ASKED = struct.Struct("=BBBBI")
_WHICH = struct.Struct("!HH16s16s")
_NO_COOKIE = b"\0" * 4 + b"\xff" * 8  # no interface, and no particular socket
_PORTS = struct.Struct("!HH")
_INODE = struct.Struct("=I")
_STATE_AT, _ID_AT, _INODE_AT, _ATTRIBUTES_AT = 1, 4, 68, 72
_ATTRIBUTE = struct.Struct("=HH")
_ACKED_RECEIVED = struct.Struct("=QQ")
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


def listening_sockets() -> list[tuple[int, str]]:
    """(port, inode) of every listening TCP socket in our network namespace. Raises OSError."""
    found = []
    for family in (socket.AF_INET, socket.AF_INET6):
        for body in _ask(family, _LISTEN, _WHICH.pack(0, 0, b"", b""), _REQUEST | _DUMP):
            port = _PORTS.unpack_from(body, _ID_AT)[0]
            found.append((port, str(_INODE.unpack_from(body, _INODE_AT)[0])))
    return found


def socket_inode(local: tuple[str, int], remote: tuple[str, int]) -> str | None:
    """The inode of the IPv4 connection from `local` to `remote`; None where there is none. Raises OSError."""
    which = _WHICH.pack(local[1], remote[1], socket.inet_aton(local[0]), socket.inet_aton(remote[0]))
    for body in _ask(socket.AF_INET, 0xFFFFFFFF, which, _REQUEST):
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
            for body in _ask(socket.AF_INET, 0xFFFFFFFF, which, _REQUEST, 1 << (_INFO - 1)):
                info = _attribute(body, _INFO)
                if len(info) >= _ACKED_AT + _ACKED_RECEIVED.size:
                    acked, received = _ACKED_RECEIVED.unpack_from(info, _ACKED_AT)
                    found[pair] = SocketBytes(body[_STATE_AT] == 1, acked, received)
    return found


def established_to(ports: Iterable[int]) -> list[Pair]:
    """The established IPv4 connections that were accepted on these ports; empty where nobody can be asked."""
    wanted: set[int] = set(ports)
    found: list[Pair] = []
    if not SOCKETS_CAN_BE_ASKED:
        return found
    with suppress(OSError):
        for family in (socket.AF_INET, socket.AF_INET6):
            for body in _ask(family, _ESTABLISHED, _WHICH.pack(0, 0, b"", b""), _REQUEST | _DUMP):
                local_port, remote_port = _PORTS.unpack_from(body, _ID_AT)
                if local_port in wanted:
                    addresses = [body[at : at + 16] for at in (_ID_AT + 4, _ID_AT + 20)]
                    local, remote = (_ipv4(family, each) for each in addresses)
                    if local and remote:
                        found.append(((local, local_port), (remote, remote_port)))
    return found


def _ipv4(family: int, address: bytes) -> str | None:
    if family == socket.AF_INET:
        return socket.inet_ntoa(address[:4])
    return socket.inet_ntoa(address[12:]) if address.startswith(_MAPPED) else None


def _attribute(body: bytes, wanted: int) -> bytes:
    at = _ATTRIBUTES_AT
    while at + _ATTRIBUTE.size <= len(body):
        length, kind = _ATTRIBUTE.unpack_from(body, at)
        if kind == wanted:
            return body[at + _ATTRIBUTE.size : at + length]
        at += max((length + 3) & ~3, _ATTRIBUTE.size)
    return b""


def _ask(family: int, states: int, which: bytes, flags: int, attributes: int = 0) -> Iterator[bytes]:
    body = _ASKED.pack(family, socket.IPPROTO_TCP, attributes, 0, states) + which + _NO_COOKIE
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _SOCK_DIAG) as netlink:
        netlink.settimeout(1.0)
        netlink.send(_HEADER.pack(_HEADER.size + len(body), _BY_FAMILY, flags, 1, 0) + body)
        while True:
            received = netlink.recv(65536)
            while received:
                length, kind, _, _, _ = _HEADER.unpack_from(received)
                message, received = received[_HEADER.size : length], received[(length + 3) & ~3 :]
                if kind == _DONE:
                    return
                if kind == _ERROR:
                    number = -struct.unpack_from("=i", message)[0]
                    if number in (0, 2):  # ENOENT: there is no such socket
                        return
                    raise OSError(number, "the kernel does not answer about sockets")
                yield message
            if not flags & _DUMP & ~_REQUEST:
                return
