"""Free loopback ports that stay ours for as long as a cluster lives, also while a node is down."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import socket
import tempfile
import threading
from contextlib import suppress
from pathlib import Path

from refute.system.errors import ClusterError
from refute.system.proc_files import LINUX
from refute.system.process_table import command_name
from refute.system.socket_owners import listening_pids

_FIRST, _LAST = 20000, 32700
_ATTEMPTS = 2000


class PortLease:
    """Ports of one cluster, each locked in a file and held bound.

    The lock keeps other runs of this user from a port while its node is down; the socket, until `release`,
    keeps other programs from it before the node starts.

    The range lies below the one that the kernel gives to outgoing connections, which would otherwise
    take the port of a killed node sooner or later.
    """

    def __init__(self) -> None:
        self._ports: set[int] = set()
        self._bound: dict[int, socket.socket] = {}
        self._choice = random.Random(os.urandom(8))

    def take(self) -> int:
        """A free port of 127.0.0.1. Raises ClusterError where none can be found."""
        last = min(_LAST, _first_ephemeral() - 1)
        first = _FIRST if last - _FIRST > 1000 else 10000
        for _ in range(_ATTEMPTS):
            port = self._choice.randint(first, last)
            if not _LOCKS.lock(port):
                continue
            try:
                self._bound[port] = _bind(port, reuse=False)
            except OSError:
                _LOCKS.unlock(port)
                continue
            self._ports.add(port)
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
        for port in self._ports:
            self.release(port)
            _LOCKS.unlock(port)
        self._ports.clear()


class _Locks:
    """One byte of one file for each port. The kernel's locks are those of a process, and are given up when
    it ends or closes the file anywhere: so it is opened once, and what this process has is kept beside."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._ours: set[int] = set()
        self._file = -1
        self._owner = 0

    def lock(self, port: int) -> bool:
        with self._guard:
            if self._owner != os.getpid():  # a forked child has the file, but none of the locks
                self._file, self._owner, self._ours = _open_lock_file(), os.getpid(), set()
            if port in self._ours:
                return False
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
            except OSError:
                return False
            self._ours.add(port)
            return True

    def unlock(self, port: int) -> None:
        with self._guard:
            if port in self._ours:
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, port)
                self._ours.discard(port)


_LOCKS = _Locks()


def _open_lock_file() -> int:
    # A machine has one set of ports, so the place must not follow TMPDIR: runs with different ones collided.
    shared = Path("/tmp")
    place = shared if os.access(shared, os.W_OK) else Path(tempfile.gettempdir())
    path = place / f"refute-ports-{os.getuid()}.lock"
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


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


def _first_ephemeral() -> int:
    if LINUX:
        with suppress(OSError, ValueError):
            return int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    return 49152
