"""Asking the Linux kernel about single TCP sockets over netlink: a thousandth of the cost of /proc/net/tcp.

The messages are those of inet_diag, see sock_diag(7).
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator

_SOCK_DIAG = 4
_BY_FAMILY = 20
_REQUEST, _DUMP = 1, 0x300
_DONE, _ERROR = 3, 2
_LISTEN = 1 << 10
_HEADER = struct.Struct("=IHHII")
_ASKED = struct.Struct("=BBBBI")
_WHICH = struct.Struct("!HH16s16s")
_NO_COOKIE = b"\0" * 4 + b"\xff" * 8  # no interface, and no particular socket
_PORTS = struct.Struct("!HH")
_INODE = struct.Struct("=I")
_ID_AT, _INODE_AT = 4, 68


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


def _ask(family: int, states: int, which: bytes, flags: int) -> Iterator[bytes]:
    body = _ASKED.pack(family, socket.IPPROTO_TCP, 0, 0, states) + which + _NO_COOKIE
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
