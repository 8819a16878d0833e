"""What a node has started is the node, also where it has left the session and cleared its environment."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from refute.nemesis.process.undo import VERBS, handle_of
from refute.system.node import NodeProcess
from refute.system.process_table import ProcessId, family, identify, is_alive, is_stopped
from tests.nemesis.peers import eventually

WORKER = (
    "import pathlib, os, sys, time; pathlib.Path(sys.argv[1]).write_text(str(os.getpid())); time.sleep(600)"
)
# Starts a worker in a session of its own, without any environment, and waits for whatever comes.
NODE = """\
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", sys.argv[1], sys.argv[2]], start_new_session=True, env={})
time.sleep(600)
"""


@pytest.fixture
def node(tmp_path: Path) -> Iterator[NodeProcess]:
    argv = [sys.executable, "-c", NODE, WORKER, str(tmp_path / "worker")]
    process = NodeProcess(
        "n1", argv, cwd=tmp_path, env=dict(os.environ), log=tmp_path / "n1.log", version=None
    )
    yield process
    process.kill()


def worker_of(folder: Path) -> ProcessId:
    told = folder / "worker"
    assert eventually(lambda: told.exists() and told.read_text() != "")
    worker = identify(int(told.read_text()))
    assert worker is not None
    return worker


def test_a_worker_that_has_left_the_session_is_stopped_continued_and_killed_with_its_node(
    node: NodeProcess, tmp_path: Path
) -> None:
    worker = worker_of(tmp_path)
    assert os.getsid(worker.pid) != node.pid
    assert set(family(node.pid)) == {node.identity, worker}
    node.send(signal.SIGSTOP)
    assert eventually(lambda: is_stopped(worker.pid) and is_stopped(node.pid))
    node.send(signal.SIGCONT)
    assert eventually(lambda: not is_stopped(worker.pid) and not is_stopped(node.pid))
    node.kill()
    assert not is_alive(worker)


def test_a_worker_that_outlives_its_parent_is_still_the_nodes(node: NodeProcess, tmp_path: Path) -> None:
    worker = worker_of(tmp_path)
    assert worker in node.members()
    os.kill(node.pid, signal.SIGKILL)
    assert node.wait(10) is not None
    assert worker not in family(node.pid), "nobody's child any more, but it was seen before"
    assert node.members() == [worker]
    node.kill()
    assert not is_alive(worker)


def test_a_polite_end_is_asked_of_the_session_and_what_is_left_is_ended(
    node: NodeProcess, tmp_path: Path
) -> None:
    worker = worker_of(tmp_path)
    assert str(node.terminate(grace_s=10.0)) == "SIGTERM"
    assert not is_alive(worker)
    assert node.members() == []


def test_who_ends_an_abandoned_node_ends_a_worker_that_will_not_go(tmp_path: Path) -> None:
    stubborn = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {WORKER}"
    argv = [sys.executable, "-c", NODE, stubborn, str(tmp_path / "worker")]
    node = NodeProcess("n1", argv, cwd=tmp_path, env=dict(os.environ), log=tmp_path / "n1.log", version=None)
    worker = worker_of(tmp_path)
    VERBS["end"].undo(handle_of(node.identity, []))
    assert node.wait(10) is not None
    assert eventually(lambda: not is_alive(worker), 5)
    node.kill()


def test_nobody_belongs_to_a_leader_that_is_gone() -> None:
    assert family(0x7FFFFFF0) == []
