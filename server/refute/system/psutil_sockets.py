"""What psutil says about who holds a socket, for macOS and whatever else has no /proc.

Each process is asked for its own sockets: macOS shows an ordinary user no table of all. Ports are those of
this machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import psutil


def listening_pids(port: int, among: Iterable[int] | None) -> list[int]:
    """The processes that listen on a TCP port, of all where `among` is None."""
    pids = psutil.pids() if among is None else among
    return _holders(pids, "tcp", lambda c: c.status == "LISTEN" and c.laddr and c.laddr.port == port)


def listening_ports() -> set[int]:
    """All TCP ports on which somebody listens."""
    listening = (c for pid in psutil.pids() for c in _sockets(pid, "tcp") if c.status == "LISTEN")
    return {c.laddr.port for c in listening}


def connection_pids(local_port: int, remote_port: int, among: Iterable[int]) -> list[int]:
    """Which of these processes hold the TCP connection between these ports, at the local one's end."""
    return _holders(
        among, "tcp", lambda c: c.raddr and (c.laddr.port, c.raddr.port) == (local_port, remote_port)
    )


def datagram_pids(local_port: int, among: Iterable[int]) -> list[int]:
    """Which of these processes hold the UDP socket of this port."""
    return _holders(among, "udp", lambda c: c.laddr and c.laddr.port == local_port)


def _holders(pids: Iterable[int], kind: str, is_it: Callable[[Any], Any]) -> list[int]:
    return [pid for pid in pids if any(is_it(each) for each in _sockets(pid, kind))]


def _sockets(pid: int, kind: str) -> list[Any]:
    try:
        return list(psutil.Process(pid).net_connections(kind=kind))
    except (psutil.Error, OSError):  # it is gone, or not ours to look at
        return []
