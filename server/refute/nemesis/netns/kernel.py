"""Network namespaces as the kernel offers them: made, entered for a moment, and entered by a command.

Python 3.11 has no wrapper for these calls, so they are made through libc.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import socket
import struct
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache

from refute.nemesis.errors import FaultUnavailableError

_NEW_NETWORK, _NEW_USER = 0x40000000, 0x10000000
_DIE_WITH_PARENT = 1
_GET_FLAGS, _IS_UP = 0x8913, 1
_WITHIN_S = 10.0


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _must(result: int, what: str) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def as_holder() -> list[str]:
    """Words before a command that give it namespaces of its own, and the right to shape their network.

    Root has the right without a user namespace, so that nodes keep whatever else root may do. Raises
    FaultUnavailableError with what the kernel says where neither way is open.
    """
    plain = ["unshare", "--net", "--mount", "--propagation", "slave", "--"]
    with_user = [*plain[:1], "--user", "--map-current-user", "--keep-caps", *plain[1:]]
    said = ""
    for words in (plain, with_user) if os.geteuid() == 0 else (with_user,):
        try:
            tried = subprocess.run(
                [*words, "true"], capture_output=True, text=True, timeout=_WITHIN_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            said = str(error)
            continue
        if tried.returncode == 0:
            return words
        said = tried.stderr.strip() or f"exit {tried.returncode}"
    raise FaultUnavailableError(
        f"namespaces are refused here: {said}",
        hint="allow user namespaces (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone), "
        "or run as root",
    )


def has_user_namespace(holder: Sequence[str]) -> bool:
    """Whether the words of `as_holder` make a user namespace."""
    return "--user" in holder


def entering(process: int, *, user: bool, mounts: bool = False) -> tuple[str, ...]:
    """Words before a command that run it where this process is; the pid stays, and so does the user.

    >>> entering(7, user=False)
    ('nsenter', '--net=/proc/7/ns/net', '--')
    """
    spaces = [f"--net=/proc/{process}/ns/net"]
    if user:
        spaces = [f"--user=/proc/{process}/ns/user", "--preserve-credentials", *spaces]
    if not mounts:
        return ("nsenter", *spaces, "--")
    # Whoever enters a mount namespace stands at its root: go back to where we were, by the same path.
    there = " ".join([*spaces, f"--mount=/proc/{process}/ns/mnt"])
    return ("sh", "-c", f'exec nsenter {there} -- env -C "$(pwd -P)" "$@"', "sh")


def start_anchor() -> int:
    """A child that lives in new namespaces, keeps them alive, and dies with us. Raises OSError."""
    reading, writing = os.pipe()
    parent = os.getpid()
    if pid := os.fork():
        os.close(writing)
        said = os.read(reading, 4)
        os.close(reading)
        if said:
            os.waitpid(pid, 0)
            number = int(said)
            raise OSError(number, f"a network namespace is refused: {os.strerror(number)}")
        return pid
    try:
        _must(_libc().prctl(_DIE_WITH_PARENT, int(signal.SIGKILL), 0, 0, 0), "prctl")
        _must(_libc().unshare(_NEW_NETWORK), "unshare")
        if os.getppid() != parent:
            os._exit(1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        os.close(reading)
        os.close(writing)  # without a word: it went well
        os.closerange(3, 1024)
        while True:
            signal.pause()
    except OSError as error:
        os.write(writing, str(error.errno).encode())
    finally:
        os._exit(1)


def join_users(process: int) -> None:
    """Enter the user namespace of a process for good; only for a program of one thread."""
    with open(f"/proc/{process}/ns/user", "rb") as users:  # noqa: PTH123 (a handle of the kernel)
        _must(_libc().setns(users.fileno(), _NEW_USER), "entering the user namespace")


def join(process: int) -> None:
    """Enter the network namespace of a process for good."""
    with open(f"/proc/{process}/ns/net", "rb") as network:  # noqa: PTH123
        _must(_libc().setns(network.fileno(), _NEW_NETWORK), "entering the network namespace")


def interface_is_up(name: str) -> bool:
    """Whether an interface of the present network namespace is up. Raises OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        answer = fcntl.ioctl(asking.fileno(), _GET_FLAGS, struct.pack("16sH22x", name.encode(), 0))
    return bool(struct.unpack_from("H", answer, 16)[0] & _IS_UP)


@contextmanager
def within(process: int) -> Iterator[None]:
    """Be in the network namespace of a process for a moment; only for a program of one thread."""
    home = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        there = os.open(f"/proc/{process}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            _must(_libc().setns(there, _NEW_NETWORK), "entering a network namespace")
            yield
        finally:
            os.close(there)
            _must(_libc().setns(home, _NEW_NETWORK), "coming back from a network namespace")
    finally:
        os.close(home)
