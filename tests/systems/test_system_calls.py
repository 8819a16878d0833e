"""Failing and slow system calls: strace says which it changed, the node says what came of it, and goes on."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refute.nemesis.errors import NemesisError
from refute.nemesis.healing import heal_everything
from refute.nemesis.mechanisms import probe
from refute.nemesis.storage.tracer import MARK
from tests.nemesis.conftest import Room, _own_registry  # noqa: F401 (a registry of its own for each test)
from tests.nemesis.diaries import (
    SYNCING,
    ask,
    diaries,
    left_in,
    lines,
    moved,
    read_from_disk,
    storage,
    write,
)
from tests.nemesis.peers import eventually
from tests.systems.test_power_loss import OWNER

pytestmark = pytest.mark.systems
LANDS = ("landing", "nothing left")


def tracers(room: Room) -> list[int]:
    """The processes that trace a node of this room."""
    status = Path(f"/proc/{room.cluster.node('n1').pid}/status").read_text()
    return [
        int(line.split()[1])
        for line in status.splitlines()
        if line.startswith("TracerPid")
        if line[-1] != "0"
    ]


@pytest.mark.parametrize("kind", ["io-error", "slow-io"])
def test_it_works_here_tried_out(kind: str) -> None:
    assert probe("storage", kind).works, probe("storage", kind)


@pytest.mark.fault("storage", "io-error", shows=LANDS)
def test_syncs_fail_until_it_is_healed(tmp_path: Path) -> None:
    with diaries(tmp_path, command=SYNCING) as room:
        assert write(room.cluster, "n1", "before")
        fault = room.apply(storage("io-error"), "n1")
        assert ask(room.cluster, "n1", b"during") == {"error": "Input/output error"}
        time.sleep(0.3)
        assert room.nemesis.heal(fault).failed == {}
        landing = room.nemesis.landing(fault)
        assert landing.landed, landing
        assert moved(landing) == {
            "injector": ["n1: calls that were failed", "n1: tracer, as long as it runs"],
            "victim": ["n1: lines that name the error"],
        }
        assert tracers(room) == []
        assert write(room.cluster, "n1", "after")


@pytest.mark.fault("storage", "io-error", shows=LANDS)
def test_every_second_write_into_its_files_fails_and_none_into_its_sockets(tmp_path: Path) -> None:
    with diaries(tmp_path) as room:
        assert write(room.cluster, "n1", "before")
        fault = room.apply(storage("io-error", call="write", share=0.5), "n1")
        answers = [write(room.cluster, "n1", str(number)) for number in range(4)]
        time.sleep(0.3)
        room.nemesis.heal(fault)
        assert room.nemesis.landing(fault).landed
        # Each request has a thread of its own, and strace counts for each thread.
        assert answers == [False] * 4
        assert lines(room.cluster, "n1") == ["before"]


@pytest.mark.fault("storage", "io-error", shows=LANDS)
def test_each_kind_of_call_ends_with_the_error_that_is_asked_for(tmp_path: Path) -> None:
    with diaries(tmp_path, command=SYNCING) as room:
        assert write(room.cluster, "n1", "before")
        whole = read_from_disk(room.cluster, "n1")

        def fails(call: str, error: str, said: str, ask_it: Callable[[], dict[str, Any]]) -> None:
            fault = room.apply(storage("io-error", call=call, error=error), "n1")
            assert ask_it() == {"error": said}, call
            assert eventually(lambda: room.nemesis.landing(fault).landed), room.nemesis.landing(fault)
            assert room.nemesis.heal(fault).failed == {}
            landing = room.nemesis.landing(fault)
            assert moved(landing) == {
                "injector": ["n1: calls that were failed", "n1: tracer, as long as it runs"],
                "victim": ["n1: lines that name the error"],
            }
            assert tracers(room) == []

        def line() -> dict[str, Any]:
            return ask(room.cluster, "n1", b"during")

        fails("write", "ENOSPC", "No space left on device", line)
        fails("read", "EIO", "Input/output error", lambda: read_from_disk(room.cluster, "n1"))
        assert read_from_disk(room.cluster, "n1") == whole, "no byte of a refused write is there"
        fails("fsync", "ENOSPC", "No space left on device", line)
        assert write(room.cluster, "n1", "after")
        assert lines(room.cluster, "n1") == ["before", "after"]


@pytest.mark.fault("storage", "slow-io", shows=LANDS)
def test_writes_take_longer_and_reads_do_not(tmp_path: Path) -> None:
    with diaries(tmp_path) as room:
        assert write(room.cluster, "n1", "before")
        fault = room.apply(storage("slow-io", call="write", by="300ms"), "n1")
        assert "bytes" in read_from_disk(room.cluster, "n1")
        assert room.nemesis.landing(fault).signals[0].during in (0, None)
        began = time.monotonic()
        assert write(room.cluster, "n1", "during")
        assert time.monotonic() - began > 0.3
        assert eventually(lambda: room.nemesis.landing(fault).landed), room.nemesis.landing(fault)
        room.nemesis.heal(fault)
        landing = room.nemesis.landing(fault)
        assert landing.landed and landing.signals[0].during == 1, landing
        assert tracers(room) == []


@pytest.mark.fault("storage", "slow-io", shows=LANDS)
def test_syncs_take_longer(tmp_path: Path) -> None:
    with diaries(tmp_path, command=SYNCING) as room:
        assert write(room.cluster, "n1", "before")
        fault = room.apply(storage("slow-io", by="300ms"), "n1")
        began = time.monotonic()
        assert all(write(room.cluster, "n1", text) for text in "abc")
        assert time.monotonic() - began > 0.9
        time.sleep(0.3)
        room.nemesis.heal(fault)
        landing = room.nemesis.landing(fault)
        assert landing.landed, landing
        assert landing.signals[2].during == 3
        assert lines(room.cluster, "n1") == ["before", "a", "b", "c"]


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=pytest.mark.fault("storage", kind, shows="not landing"))
        for kind in ("io-error", "slow-io")
    ],
)
def test_a_call_that_the_node_never_makes_is_not_landed(tmp_path: Path, kind: str) -> None:
    with diaries(tmp_path) as room:  # a diary that syncs nothing
        fault = room.apply(storage(kind, call="fsync"), "n1")
        assert write(room.cluster, "n1", "during")
        time.sleep(0.3)
        room.nemesis.heal(fault)
        landing = room.nemesis.landing(fault)
        assert not landing.landed
        assert moved(landing) == {"injector": ["n1: tracer, as long as it runs"], "victim": []}


@pytest.mark.fault("process", "pause", shows=LANDS)
def test_a_node_that_is_traced_can_be_paused(tmp_path: Path) -> None:
    with diaries(tmp_path, command=SYNCING) as room:
        fails = room.apply(storage("io-error"), "n1")
        busy_until = time.monotonic() + 1.0
        while time.monotonic() < busy_until:  # the CPU time that a pause stops
            assert ask(room.cluster, "n1", b"during") == {"error": "Input/output error"}
        paused = room.apply({"pause": "n1"}, "n1")
        assert eventually(lambda: room.nemesis.landing(paused).landed), room.nemesis.landing(paused)
        assert room.nemesis.heal(paused).failed == {}
        landing = room.nemesis.landing(paused)
        assert (landing.signals[0].during, landing.landed) == ("T", True), landing
        assert ask(room.cluster, "n1", b"later") == {"error": "Input/output error"}
        assert room.nemesis.heal(fails).failed == {}
        assert tracers(room) == []


def test_a_node_that_ends_because_of_it_is_started_again(tmp_path: Path) -> None:
    dies = [*SYNCING, "--die"]
    with diaries(tmp_path, command=dies) as room:
        fault = room.apply(storage("io-error"), "n1")
        with pytest.raises(OSError, match=r"Remote end closed|reset"):
            write(room.cluster, "n1", "during")
        assert eventually(lambda: not room.cluster.node("n1").running)
        assert room.nemesis.heal(fault).failed == {}
        assert "n1: how it ended" in moved(room.nemesis.landing(fault))["victim"]
        assert write(room.cluster, "n1", "after")


def test_a_node_that_is_started_again_meanwhile_is_traced_again(tmp_path: Path) -> None:
    with diaries(tmp_path, command=SYNCING) as room:
        slow = room.apply(storage("slow-io", by="300ms"), "n1")
        assert write(room.cluster, "n1", "before")
        down = room.apply({"kill": "n1"}, "n1")
        room.nemesis.heal(down)
        room.cluster.wait_ready(["n1"])
        began = time.monotonic()
        assert write(room.cluster, "n1", "after")
        assert time.monotonic() - began > 0.3
        assert eventually(lambda: room.nemesis.landing(slow).signals[-1].during == 2)
        room.nemesis.heal(slow)
        landing = room.nemesis.landing(slow)
        assert landing.landed, landing
        assert landing.signals[0].during == 2  # of both processes
        assert tracers(room) == []


def test_a_node_that_runs_on_without_its_tracer_is_not_landed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot(*_: object, **__: object) -> None:
        raise NemesisError("strace cannot attach: no word")

    with diaries(tmp_path, command=SYNCING) as room:
        slow = room.apply(storage("slow-io", by="300ms"), "n1")
        assert write(room.cluster, "n1", "before")
        assert eventually(lambda: room.nemesis.landing(slow).landed)
        monkeypatch.setattr("refute.nemesis.storage.system_calls.Tracer", cannot)
        down = room.apply({"kill": "n1"}, "n1")
        assert room.nemesis.heal(down).failed == {}
        room.cluster.wait_ready(["n1"])
        assert write(room.cluster, "n1", "after")
        room.nemesis.heal(slow)
        landing = room.nemesis.landing(slow)
        assert not landing.landed
        assert landing.signals[1].during == "the node runs without it"


def test_a_node_that_comes_up_after_the_guard_has_healed_is_not_traced_again(tmp_path: Path) -> None:
    with diaries(tmp_path, command=SYNCING) as room:
        slow = room.apply(storage("slow-io", by="300ms"), "n1")
        heal_everything(room.nemesis.ledger_directory)
        assert eventually(lambda: tracers(room) == [])
        down = room.apply({"kill": "n1"}, "n1")
        room.nemesis.heal(down)
        assert tracers(room) == []
        room.nemesis.heal(slow)
        assert room.nemesis.landing(slow).note == "was healed before its time by the hand (asked for by hand)"


def test_what_cannot_be_traced_is_refused_with_the_reason(tmp_path: Path) -> None:
    with diaries(tmp_path) as room:
        room.apply(storage("slow-io"), "n1")
        with pytest.raises(NemesisError, match="a fault of its system calls is on there already"):
            room.apply(storage("io-error"), "n1")
        room.nemesis.heal("all")
        room.cluster.kill("n1")
        with pytest.raises(NemesisError, match="it has ended"):
            room.apply(storage("io-error"), "n1")


@pytest.mark.fault("storage", "io-error", shows="nothing left")
@pytest.mark.fault("storage", "slow-io", shows="nothing left")
@pytest.mark.parametrize("kind", ["io-error", "slow-io"])
def test_when_the_owner_is_killed_no_tracer_is_left(tmp_path: Path, kind: str) -> None:
    root = Path(__file__).parents[2]
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path), kind, json.dumps({})],
        cwd=root,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdout is not None
    with owner.stdout:
        run = owner.stdout.readline().strip()
        assert run, "the owner did not start"
        assert marked(run)
        owner.kill()
        owner.wait()
    assert eventually(lambda: not marked(run), 15)
    assert left_in(tmp_path / "run") == []
    assert heal_everything().clean


def marked(run: str) -> list[str]:
    """The tracers of a run."""
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"{MARK}={run}:".encode() in environ.read_bytes():
                found.append(environ.parent.name)
        except OSError:
            continue
    return found
