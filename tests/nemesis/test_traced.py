"""A pause of a process that somebody traces: what the tracer holds is not taken for what was not healed."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from os import kill  # also where a test puts another in its place

import pytest

from refute.nemesis.process.undo import VERBS, handle_of
from refute.nemesis.undo import Handle
from refute.system.process_table import identify, is_stopped, state
from tests.nemesis.peers import eventually

_SEIZE, _INTERRUPT, _DETACH = 0x4206, 0x4207, 17


def ptrace(request: int, pid: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    library.ptrace.restype = ctypes.c_long
    done = library.ptrace(ctypes.c_long(request), ctypes.c_long(pid), None, None)
    assert done == 0, os.strerror(ctypes.get_errno())


@pytest.fixture
def held() -> Iterator[int]:
    """A process of one thread that is in the hands of its tracer, as while strace delays a call of it."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    try:
        ptrace(_SEIZE, process.pid)
        ptrace(_INTERRUPT, process.pid)
        assert eventually(lambda: state(process.pid) == "t")
        yield process.pid
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    # Popen takes a stop that is reported to its tracer, which we are, for the end.
    kill(process.pid, signal.SIGKILL)
    while not os.WIFSIGNALED(os.waitpid(process.pid, 0)[1]):
        pass
    process.returncode = -signal.SIGKILL
    assert identify(process.pid) is None


def handle_for(pid: int) -> Handle:
    identity = identify(pid)
    assert identity is not None
    return handle_of(identity, [])


def test_what_its_tracer_holds_is_not_still_stopped_by_us(held: int) -> None:
    handle = handle_for(held)
    os.kill(held, signal.SIGSTOP)
    VERBS["continue"].undo(handle)
    assert is_stopped(held), "the tracer holds it"
    assert VERBS["continue"].left(handle) is None
    ptrace(_DETACH, held)
    assert eventually(lambda: state(held) == "S"), "no stop was left for when the tracer lets it go"


def test_one_that_may_not_be_continued_is_still_stopped(held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise PermissionError

    handle = handle_for(held)
    monkeypatch.setattr(os, "kill", refused)
    VERBS["continue"].undo(handle)
    assert VERBS["continue"].left(handle) == f"still stopped: pid {held}"


def test_one_that_is_stopped_and_that_nobody_traces_is_still_stopped() -> None:
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    try:
        os.kill(process.pid, signal.SIGSTOP)
        assert eventually(lambda: state(process.pid) == "T")
        assert VERBS["continue"].left(handle_for(process.pid)) == f"still stopped: pid {process.pid}"
    finally:
        process.kill()
        process.wait()
