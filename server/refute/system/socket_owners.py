"""Which processes hold which sockets of this machine, as far as we may see them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

from refute.system.kernel import KERNEL
from refute.system.proc_files import LINUX, PROC
from refute.system.socket_diagnosis import SocketTable, listening_sockets, socket_inode

if not LINUX:
    from refute.system import psutil_sockets

Address = tuple[str, int]
_LISTEN = "0A"
_LOCAL, _REMOTE, _STATE, _INODE = 1, 2, 3, 9  # columns of /proc/net/tcp and udp, see proc_net(5)


def listening_pids(
    port: int, among: Iterable[int] | None = None, namespace: SocketTable | None = None
) -> list[int]:
    """The processes that listen on a TCP port.

    `namespace` is the network namespace that is looked at; by default our own is.
    """
    if not LINUX:
        return psutil_sockets.listening_pids(port, among)
    inodes = {inode for its_port, inode in _listening(namespace) if its_port == port}
    return _holders(inodes, KERNEL.process_ids() if among is None else among)


def listening_ports(namespace: SocketTable | None = None) -> set[int]:
    """All TCP ports on which somebody listens, on this machine or in another network namespace."""
    if not LINUX:
        return psutil_sockets.listening_ports()
    return {port for port, _ in _listening(namespace)}


def connection_pids(local: Address, remote: Address, among: Iterable[int]) -> list[int]:
    """Which of these processes hold the TCP connection from `local` to `remote`, both of this machine."""
    if not LINUX:
        return psutil_sockets.connection_pids(local[1], remote[1], among)
    inode = _connection_inode(local, remote)
    return _holders({inode}, among) if inode else []


def datagram_pids(local: Address, among: Iterable[int]) -> list[int]:
    """Which of these processes hold the UDP socket that is bound to `local`, or to its port everywhere."""
    if not LINUX:
        return psutil_sockets.datagram_pids(local[1], among)
    rows = _socket_rows("udp", "udp6")
    inodes = {row[_INODE] for row in rows if _port(row[_LOCAL]) == local[1]}
    return _holders(inodes, among) if inodes else []


def _holders(inodes: set[str], among: Iterable[int]) -> list[int]:
    return [pid for pid in among if inodes & _socket_inodes(pid)]


def _listening(namespace: SocketTable | None) -> list[tuple[int, str]]:
    if namespace is not None:
        return namespace.listening()
    with suppress(OSError):
        return listening_sockets()
    rows = _socket_rows("tcp", "tcp6")
    return [(_port(row[_LOCAL]), row[_INODE]) for row in rows if row[_STATE] == _LISTEN]


def _connection_inode(local: Address, remote: Address) -> str | None:
    with suppress(OSError):
        return socket_inode(local, remote)
    for row in _socket_rows("tcp", "tcp6"):
        ports = [_port(row[_LOCAL]), _port(row[_REMOTE])]
        if ports == [local[1], remote[1]] and row[_INODE] != "0":
            return row[_INODE]
    return None


def _socket_rows(*tables: str) -> Iterator[list[str]]:
    for table in tables:
        with suppress(OSError):
            for line in (PROC / "net" / table).read_text().splitlines()[1:]:
                yield line.split()


def _port(address: str) -> int:
    return int(address.rpartition(":")[2], 16)


def _socket_inodes(pid: int) -> set[str]:
    inodes = set()
    folder = PROC / str(pid) / "fd"
    with suppress(OSError):
        for descriptor in os.listdir(folder):  # noqa: PTH208
            with suppress(OSError):
                target = os.readlink(folder / descriptor)  # noqa: PTH115
                if target.startswith("socket:["):
                    inodes.add(target[8:-1])
    return inodes
