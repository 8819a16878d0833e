"""Lines of a node's log that name an error count for the fault that is on while they are written, and for no other."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from refute.nemesis.storage import node_log
from refute.nemesis.storage.node_log import NodeLogs

NAME = "n1.storage.io-error_lines"
ERROR = "2026-11-30 wal: fsync failed: input/output error (EIO)\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "n1.log"
    path.write_text("n1 serves\n")
    return path


@pytest.fixture
def logs(log: Path) -> NodeLogs:
    cluster: Any = SimpleNamespace(log_path=lambda _: log, spec=SimpleNamespace(everyone=("n1",)))
    return NodeLogs(cluster, "io-error")


def say(log: Path, text: str) -> None:
    with log.open("a") as file:
        file.write(text)


def test_a_line_counts_once_while_it_is_followed(log: Path, logs: NodeLogs) -> None:
    assert logs.measure() == {NAME: 0}
    logs.follow(["n1"])
    say(log, ERROR + "all is well\n" + ERROR + "write error")
    assert logs.measure() == {NAME: 2}
    assert logs.measure() == {NAME: 2}
    say(log, " at byte 9\n")
    assert logs.measure() == {NAME: 3}


def test_what_was_said_before_counts_for_no_later_fault(log: Path, logs: NodeLogs) -> None:
    say(log, ERROR * 3)
    assert logs.measure() == {NAME: 0}
    say(log, ERROR * 3)
    logs.follow(["n1"])
    assert logs.measure() == {NAME: 0}


def test_what_comes_of_a_fault_may_be_said_a_moment_after_it(
    log: Path, logs: NodeLogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(node_log, "time", SimpleNamespace(monotonic=lambda: now[0]))
    logs.follow(["n1"])
    logs.leave(["n1"])
    now[0] += 1.0
    say(log, ERROR)
    assert logs.measure() == {NAME: 1}
    now[0] += 10.0
    say(log, ERROR)
    assert logs.measure() == {NAME: 1}


def test_a_log_that_nobody_follows_is_not_read(
    log: Path, logs: NodeLogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*_: object) -> int:
        raise AssertionError("it was read")

    monkeypatch.setattr(node_log, "_lines_with", read)
    say(log, "too many open files\n" * 10_000)
    assert logs.measure() == {NAME: 0}
