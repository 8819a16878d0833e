"""Free loopback ports that stay ours for as long as a cluster lives, also while a node is down."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import socket
import tempfile
from contextlib import suppress
from pathlib import Path

from refute.system.errors import ClusterError
from refute.system.process_table import LINUX, command_name, listening_pids

_FIRST, _LAST = 20000, 32700
_ATTEMPTS = 2000


class PortLease:
    """Ports of one cluster. Each is locked by a file, so that no other run on this machine takes it while its
    node is down, and is held bound until `release`, so that no other program does before the node starts.

    The range lies below the one that the kernel gives to outgoing connections, which would otherwise
    take the port of a killed node sooner or later.
    """

    def __init__(self) -> None:
        self._locks: dict[int, int] = {}
        self._bound: dict[int, socket.socket] = {}
        self._choice = random.Random(os.urandom(8))

    def take(self) -> int:
        """A free port of 127.0.0.1. Raises ClusterError where none can be found."""
        last = min(_LAST, _first_ephemeral() - 1)
        first = _FIRST if last - _FIRST > 1000 else 10000
        for _ in range(_ATTEMPTS):
            port = self._choice.randint(first, last)
            if port not in self._locks and self._try(port):
                return port
        raise ClusterError(
            f"no free TCP port of 127.0.0.1 between {first} and {last}", hint="stop other clusters"
        )

    def release(self, port: int) -> None:
        """Let go of the socket, so that the node can bind it; the lock stays."""
        if held := self._bound.pop(port, None):
            held.close()

    def close(self) -> None:
        """Give all ports back."""
        for port in list(self._bound):
            self.release(port)
        for port, lock in self._locks.items():
            with suppress(OSError):
                _lock_path(port).unlink()
            os.close(lock)
        self._locks.clear()

    def _try(self, port: int) -> bool:
        lock = os.open(_lock_path(port), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._bound[port] = _bind(port, reuse=False)
        except OSError:
            os.close(lock)
            return False
        self._locks[port] = lock
        return True


def _bind(port: int, host: str = "127.0.0.1", *, reuse: bool) -> socket.socket:
    # Two sockets that both reuse addresses can be bound to one port: a held port is bound without.
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if reuse:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    return bound


def require_free(port: int, *, node: str, name: str, host: str = "127.0.0.1") -> None:
    """Raises ClusterError naming who has the port, where it is in use."""
    try:
        # Listening tells more than binding: SO_REUSEADDR lets two sockets bind, never two listen.
        with _bind(port, host, reuse=True) as probe:
            probe.listen(1)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise ClusterError(
                f"port {port} ({name}) cannot be bound: {os.strerror(error.errno or 0)}", where=node
            ) from error
        owners = ", ".join(f"{command_name(pid)} (pid {pid})" for pid in listening_pids(port))
        raise ClusterError(
            f"port {port} ({name}) is in use by {owners or 'a process of another user'}",
            where=node,
            hint="stop it, or let refute choose the port",
        ) from error


def _lock_path(port: int) -> Path:
    folder = Path(tempfile.gettempdir()) / f"refute-ports-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder / str(port)


def _first_ephemeral() -> int:
    if LINUX:
        with suppress(OSError, ValueError):
            return int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    return 49152
