"""What is said of a file system that was shut down, while the process that holds its namespace may be ending."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from refute.nemesis.errors import NemesisError
from refute.nemesis.storage.undo import VERBS
from refute.nemesis.storage.volume import Volume
from refute.system.process_table import identify

REMOUNT = VERBS["remount"]


@pytest.fixture
def holder() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["sleep", "600"])
    yield process
    process.kill()
    process.wait()


def handle_of(holder: subprocess.Popen[bytes], tmp_path: Path) -> dict[str, Any]:
    identity = identify(holder.pid)
    assert identity is not None
    return {
        "holder": [identity.pid, identity.started],
        "own_users": False,
        "mount": str(tmp_path / "n1"),
        "medium": "ext4",
        "image": str(tmp_path / "n1.img"),
        "node": None,
    }


def test_nothing_is_left_of_what_went_with_its_holder_while_it_was_looked_at(
    holder: subprocess.Popen[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = handle_of(holder, tmp_path)

    def gone_a_moment_before_its_holder(_: Volume) -> str:
        holder.kill()
        return "ENOENT"

    monkeypatch.setattr(Volume, "broken", gone_a_moment_before_its_holder)
    assert REMOUNT.left(handle) is None


def test_a_remount_that_fails_because_the_holder_ends_is_no_failure(
    holder: subprocess.Popen[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = handle_of(holder, tmp_path)

    def ended(_: Volume) -> None:
        holder.kill()
        raise NemesisError("no such namespace")

    monkeypatch.setattr(Volume, "broken", lambda volume: "EIO")
    monkeypatch.setattr(Volume, "detach", ended)
    REMOUNT.undo(handle)


def test_one_that_takes_no_writes_while_its_holder_lives_is_left(
    holder: subprocess.Popen[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = handle_of(holder, tmp_path)
    monkeypatch.setattr(Volume, "broken", lambda volume: "EIO")
    assert REMOUNT.left(handle) == f"a write to {tmp_path / 'n1'} fails: EIO"

    def fails(_: Volume) -> None:
        raise NemesisError("busy")

    monkeypatch.setattr(Volume, "detach", fails)
    with pytest.raises(NemesisError, match="busy"):
        REMOUNT.undo(handle)
