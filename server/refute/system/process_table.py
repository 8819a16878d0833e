"""What the kernel says about processes and their sockets: /proc where there is one, psutil everywhere else.

This is the only module that reads /proc about processes. A process is named by its pid *and* its start
time, so that a pid that was given to somebody else is never signalled.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from refute.system.socket_diagnosis import SocketTable, listening_sockets, socket_inode

PROC = Path("/proc")
Address = tuple[str, int]
LINUX = sys.platform == "linux" and (PROC / "self" / "stat").exists()
_LISTEN = "0A"


@dataclass(frozen=True, slots=True)
class ProcessId:
    """One process for all time: `started` is clock ticks since boot on Linux, epoch seconds elsewhere."""

    pid: int
    started: float


def identify(pid: int) -> ProcessId | None:
    """The process that has this pid now; None where there is none."""
    if LINUX:
        fields = _stat(pid)
        return ProcessId(pid, float(fields[19])) if fields else None
    return _psutil_identify(pid)


def state(pid: int) -> str:
    """The state letter of a process: R, S, D, T (stopped), Z (zombie); "" where it is gone."""
    if LINUX:
        fields = _stat(pid)
        return fields[0] if fields else ""
    return _psutil_state(pid)


def at_rest(pid: int) -> bool:
    """Whether no thread of it executes anything of its own: stopped, ended, or waiting uninterruptibly.

    After a SIGSTOP none will either: a thread that waits in the kernel stops before it leaves it.
    """
    return set(_states_of_threads(pid)) <= {"T", "t", "Z", "X", "", "D"}


def is_stopped(pid: int) -> bool:
    """Whether it is stopped as a whole: where it is traced, a stop by a signal shows as `t` at each thread.

    A tracer that holds one thread for itself shows as `t` there too, but the others go on.
    """
    letter = state(pid)
    return letter == "T" or (letter == "t" and set(_states_of_threads(pid)) <= {"T", "t"})


def _states_of_threads(pid: int) -> list[str]:
    if not LINUX:
        return [_psutil_state(pid)]
    with suppress(OSError):
        tasks = os.listdir(PROC / str(pid) / "task")  # noqa: PTH208 (of numbers)
        return [(_stat(int(task)) or ("",))[0] for task in tasks]
    return []


def parent_of(pid: int) -> int | None:
    """The pid of a process's parent; None where the process is gone."""
    if LINUX:
        fields = _stat(pid)
        return int(fields[1]) if fields else None
    return _psutil_parent(pid)


def is_alive(process: ProcessId) -> bool:
    """Whether exactly this process still runs; a zombie does not."""
    return identify(process.pid) == process and state(process.pid) not in ("Z", "X", "")


def cpu_ns(pids: Iterable[int]) -> int | None:
    """CPU time that these processes have used, all threads, in nanoseconds; None where none of them is left.

    On Linux from the scheduler's own counters, which are exact; elsewhere in ticks of 10 ms.
    """
    used = [time for time in map(_cpu_of_one, pids) if time is not None]
    return sum(used) if used else None


def cpu_wait_ns(pids: Iterable[int]) -> int | None:
    """Time for which threads of these processes were ready and had no CPU, in nanoseconds.

    None where none is left, or the kernel does not say (only Linux with schedstat does).
    """
    waited, seen = 0, False
    for pid in pids if LINUX else ():
        with suppress(OSError):
            for task in os.listdir(PROC / str(pid) / "task"):  # noqa: PTH208
                with suppress(OSError):
                    waited += int((PROC / str(pid) / "task" / task / "schedstat").read_text().split()[1])
                    seen = True
    return waited if seen else None


def family(leader: int) -> list[ProcessId]:
    """The living processes of a node: the session that its leader leads, and all that these have started.

    What has left the session, as each backend of PostgreSQL does, is still the child of one that is known.
    Once its parents have ended it is nobody's: ask before they are ended. Zombies are left out.
    O(processes of the machine).
    """
    found, children = list[int](), defaultdict[int, list[int]](list)
    for pid in _pids():
        parent, session = _parent_and_session(pid)
        children[parent].append(pid)
        if session == leader:
            found.append(pid)
    known = set(found)
    for pid in found:  # which grows as it is walked
        started = [child for child in children[pid] if child not in known]
        known.update(started)
        found += started
    living = (identify(pid) for pid in found if state(pid) not in ("Z", "X", ""))
    return [process for process in living if process is not None]


def processes_with_mark(name: str, value: str) -> list[ProcessId]:
    """The living processes whose environment has `name=value`; how strays of a run are found."""
    wanted = f"{name}={value}".encode()
    found = []
    for pid in _pids():
        if wanted in _environment(pid) and state(pid) not in ("Z", "X", ""):
            process = identify(pid)
            if process is not None:
                found.append(process)
    return found


def listening_pids(
    port: int, among: Iterable[int] | None = None, namespace: SocketTable | None = None
) -> list[int]:
    """The processes that listen on a TCP port, as far as we may see them.

    `namespace` is the network namespace that is looked at; by default our own is.
    """
    if not LINUX:
        return _psutil_owners(lambda c: c.status == "LISTEN" and c.laddr and c.laddr.port == port, among)
    inodes = {inode for its_port, inode in _listening(namespace) if its_port == port}
    return [pid for pid in (_pids() if among is None else among) if inodes & _socket_inodes(pid)]


def listening_ports(namespace: SocketTable | None = None) -> set[int]:
    """All TCP ports on which somebody listens, on this machine or in another network namespace."""
    if LINUX:
        return {port for port, _ in _listening(namespace)}
    return _psutil_listening_ports()


def connection_pids(local: Address, remote: Address, among: Iterable[int]) -> list[int]:
    """Which of these processes hold the TCP connection from `local` to `remote`, both of this machine."""
    if not LINUX:
        return _psutil_owners(
            lambda c: c.raddr and c.laddr.port == local[1] and c.raddr.port == remote[1], among
        )
    inode = _connection_inode(local, remote)
    return [pid for pid in among if inode in _socket_inodes(pid)] if inode else []


def datagram_pids(local: Address, among: Iterable[int]) -> list[int]:
    """Which of these processes hold the UDP socket that is bound to `local`, or to its port everywhere."""
    if not LINUX:
        return _psutil_owners(lambda c: c.laddr and c.laddr.port == local[1], among, kind="udp")
    inodes = {
        fields[9]
        for fields in _socket_table(("udp", "udp6"))
        if int(fields[1].rpartition(":")[2], 16) == local[1]
    }
    return [pid for pid in among if inodes & _socket_inodes(pid)] if inodes else []


def command_name(pid: int) -> str:
    """The short name of a process, or `?`."""
    if LINUX:
        with suppress(OSError):
            return (PROC / str(pid) / "comm").read_text().strip()
        return "?"
    return _psutil_name(pid)


def boot_id() -> str:
    """What tells this boot of the machine from an earlier one; start times are only comparable within it."""
    if LINUX:
        with suppress(OSError):
            return (PROC / "sys/kernel/random/boot_id").read_text().strip()
    import psutil

    return str(int(psutil.boot_time()))


def _stat(pid: int) -> list[str]:
    # Fields from the third on: the second, the name, may hold blanks and parentheses.
    try:
        file = os.open(f"/proc/{pid}/stat", os.O_RDONLY)  # pathlib takes thrice as long, and all are asked
    except OSError:
        return []
    try:
        text = os.read(file, 4096).decode("ascii", "replace")
    except OSError:
        return []
    finally:
        os.close(file)
    return text.rpartition(")")[2].split()


def _parent_and_session(pid: int) -> tuple[int, int]:
    """Of a process that is gone, or that we may not see, 0 and 0."""
    if LINUX:
        fields = _stat(pid)
        return (int(fields[1]), int(fields[3])) if fields else (0, 0)
    with suppress(OSError):
        return _psutil_parent(pid) or 0, os.getsid(pid)
    return 0, 0


def _pids() -> Iterator[int]:
    if LINUX:
        for name in os.listdir(PROC):  # noqa: PTH208 (hot path: thousands of entries)
            if name.isdigit():
                yield int(name)
        return
    import psutil

    yield from psutil.pids()


def _cpu_of_one(pid: int) -> int | None:
    if not LINUX:
        return _psutil_cpu_ns(pid)
    total, seen = 0, False
    try:
        for task in os.listdir(PROC / str(pid) / "task"):  # noqa: PTH208
            with suppress(OSError):
                total += int((PROC / str(pid) / "task" / task / "schedstat").read_text().split()[0])
                seen = True
    except OSError:
        return None
    if seen:
        return total
    fields = _stat(pid)  # a kernel without schedstat
    tick_ns = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    return (int(fields[11]) + int(fields[12])) * tick_ns if fields else None


def _environment(pid: int) -> list[bytes]:
    if LINUX:
        try:
            return (PROC / str(pid) / "environ").read_bytes().split(b"\0")
        except OSError:
            return []
    import psutil

    try:
        return [f"{name}={value}".encode() for name, value in psutil.Process(pid).environ().items()]
    except (psutil.Error, OSError):
        return []


def _listening(namespace: SocketTable | None = None) -> list[tuple[int, str]]:
    if namespace is not None:
        return namespace.listening()
    with suppress(OSError):
        return listening_sockets()
    return [
        (int(fields[1].rpartition(":")[2], 16), fields[9]) for fields in _tcp_table() if fields[3] == _LISTEN
    ]


def _connection_inode(local: Address, remote: Address) -> str | None:
    with suppress(OSError):
        return socket_inode(local, remote)
    for fields in _tcp_table():
        ports = [int(fields[column].rpartition(":")[2], 16) for column in (1, 2)]
        if ports == [local[1], remote[1]] and fields[9] != "0":
            return fields[9]
    return None


def _tcp_table() -> Iterator[list[str]]:
    return _socket_table(("tcp", "tcp6"))


def _socket_table(names: tuple[str, ...]) -> Iterator[list[str]]:
    for name in names:
        with suppress(OSError):
            for line in (PROC / "net" / name).read_text().splitlines()[1:]:
                yield line.split()


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


# --- psutil: macOS and whatever else has no /proc ---------------------------------------------------------


def _psutil_identify(pid: int) -> ProcessId | None:
    import psutil

    try:
        return ProcessId(pid, psutil.Process(pid).create_time())
    except psutil.Error:
        return None


def _psutil_state(pid: int) -> str:
    import psutil

    letters = {"running": "R", "sleeping": "S", "disk-sleep": "D", "stopped": "T", "zombie": "Z", "idle": "S"}
    try:
        return letters.get(psutil.Process(pid).status(), "S")
    except psutil.Error:
        return ""


def _psutil_parent(pid: int) -> int | None:
    import psutil

    with suppress(psutil.Error):
        return psutil.Process(pid).ppid()
    return None


def _psutil_cpu_ns(pid: int) -> int | None:
    import psutil

    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.Error:
        return None
    return int((times.user + times.system) * 1e9)


def _psutil_name(pid: int) -> str:
    import psutil

    try:
        return psutil.Process(pid).name()
    except psutil.Error:
        return "?"


def _psutil_listening_ports() -> set[int]:
    import psutil

    ports = set()
    for process in psutil.process_iter():  # the table of all sockets is not for ordinary users on macOS
        try:
            connections = process.net_connections(kind="tcp")
        except (psutil.Error, OSError):
            continue
        ports |= {each.laddr.port for each in connections if each.status == "LISTEN"}
    return ports


def _psutil_owners(matches: object, among: Iterable[int] | None, kind: str = "tcp") -> list[int]:
    import psutil

    assert callable(matches)
    owners = []
    for pid in psutil.pids() if among is None else among:
        try:
            connections = psutil.Process(pid).net_connections(kind=kind)
        except (psutil.Error, OSError):
            continue
        if any(matches(connection) for connection in connections):
            owners.append(pid)
    return owners
