"""/proc and psutil, which stands in for it where there is none, tell the same of one process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from refute.system import proc_files, psutil_sockets, psutil_table, socket_owners

pytestmark = pytest.mark.skipif(not proc_files.LINUX, reason="compares with /proc")
MARK = "REFUTE_TEST_MARK=of this process"
WORKS_AND_STOPS = """\
import os, signal, time
while time.process_time() < 0.1:
    pass
os.kill(os.getpid(), signal.SIGSTOP)
"""


@pytest.fixture
def stopped() -> Iterator[int]:
    name, _, value = MARK.partition("=")
    argv = [sys.executable, "-c", WORKS_AND_STOPS]
    with subprocess.Popen(argv, env={name: value}, start_new_session=True) as process:
        os.waitpid(process.pid, os.WUNTRACED)
        yield process.pid
        process.kill()


@pytest.fixture
def gone() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


@pytest.mark.parametrize("source", [proc_files, psutil_table])
def test_a_stopped_process_is_told_with_its_parent_its_session_and_its_mark(
    source: ModuleType, stopped: int
) -> None:
    assert source.state(stopped) == "T"
    assert source.thread_states(stopped) == ["T"]
    assert source.parent(stopped) == os.getpid()
    assert source.parent_and_session(stopped) == (os.getpid(), stopped)
    assert MARK.encode() in source.environment(stopped)
    assert source.started(stopped) == source.started(stopped) != source.started(os.getpid())
    assert stopped in source.process_ids()


def test_both_call_a_process_by_one_name_and_count_its_cpu_time_alike(stopped: int) -> None:
    assert proc_files.command_name(stopped) == psutil_table.command_name(stopped) != "?"
    exact_ns, in_ticks_ns = proc_files.cpu_ns(stopped), psutil_table.cpu_ns(stopped)
    assert exact_ns is not None and in_ticks_ns is not None
    assert exact_ns >= 100_000_000 and abs(exact_ns - in_ticks_ns) <= 30_000_000


@pytest.mark.parametrize("source", [proc_files, psutil_table])
def test_of_a_process_that_is_gone_nothing_is_told(source: ModuleType, gone: int) -> None:
    assert source.started(gone) is source.parent(gone) is source.cpu_ns(gone) is None
    assert source.cpu_wait_ns(gone) is None
    assert source.state(gone) == "" and source.command_name(gone) == "?"
    assert source.environment(gone) == []
    assert source.parent_and_session(gone) == (0, 0)


def test_both_find_who_listens_who_is_connected_and_who_takes_datagrams() -> None:
    us, everybody = os.getpid(), [os.getpid(), os.getppid()]
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.create_connection(listener.getsockname()) as client,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams,
    ):
        datagrams.bind(("127.0.0.1", 0))
        here, there, takes = client.getsockname(), listener.getsockname(), datagrams.getsockname()
        assert socket_owners.listening_pids(there[1], everybody) == [us]
        assert psutil_sockets.listening_pids(there[1], everybody) == [us]
        assert there[1] in socket_owners.listening_ports() & psutil_sockets.listening_ports()
        assert socket_owners.connection_pids(here, there, everybody) == [us]
        assert psutil_sockets.connection_pids(here[1], there[1], everybody) == [us]
        assert socket_owners.datagram_pids(takes, everybody) == [us]
        assert psutil_sockets.datagram_pids(takes[1], everybody) == [us]
    assert socket_owners.listening_pids(there[1], everybody) == []
    assert psutil_sockets.listening_pids(there[1], everybody) == []
