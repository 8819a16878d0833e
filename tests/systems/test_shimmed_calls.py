"""Failing and slow calls without a tracer: the shim counts what it strikes, the node says what came of it."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from refute.nemesis.errors import FaultInputError, FaultUnavailableError, NemesisError
from refute.nemesis.healing import heal_everything
from refute.nemesis.mechanisms import probe
from refute.nemesis.preload.file_calls_page import LET_THROUGH, FileCallsPage
from tests.nemesis.conftest import Room, _own_registry  # noqa: F401 (a registry of its own for each test)
from tests.nemesis.diaries import PROGRAM, SYNCING, ask, diaries, left_in, lines, moved, storage, write
from tests.nemesis.peers import eventually
from tests.nemesis.test_clock_plane import compiled
from tests.systems.test_power_loss import OWNER

pytestmark = pytest.mark.systems
LANDS = ("landing", "nothing left")
KINDS = ("io-error", "slow-io")


def shimmed(root: Path, **changes: Any) -> AbstractContextManager[Room]:
    """Diaries that carry the shim."""
    return diaries(root, *KINDS, calls_through="preload", **{"command": SYNCING} | changes)


def page_of(room: Room) -> FileCallsPage:
    return FileCallsPage(room.cluster.root / "preload" / "n1.calls")


def carries_a_library(room: Room) -> bool:
    return b"LD_PRELOAD" in Path(f"/proc/{room.cluster.node('n1').pid}/environ").read_bytes()


def ends_at_a_write(room: Room) -> None:
    with pytest.raises(OSError, match=r"Remote end closed|reset"):
        write(room.cluster, "n1", "during")
    assert eventually(lambda: not room.cluster.node("n1").running)


def landed(room: Room, fault: str) -> bool:
    return bool(room.nemesis.landing(fault).landed)


def no_tracer(*_: object, **__: object) -> None:
    raise NemesisError("strace cannot attach: Operation not permitted")


@pytest.mark.fault("storage", "io-error", shows=LANDS)
def test_syncs_fail_until_it_is_healed(tmp_path: Path) -> None:
    with shimmed(tmp_path) as room:
        assert write(room.cluster, "n1", "before")
        fault = room.apply(storage("io-error"), "n1")
        assert ask(room.cluster, "n1", b"during") == {"error": "Input/output error"}
        assert room.nemesis.heal(fault).failed == {}
        landing = room.nemesis.landing(fault)
        assert landing.landed, landing
        assert moved(landing) == {
            "injector": ["n1: calls that were failed", "n1: shim, as long as it runs"],
            "victim": ["n1: lines that name the error"],
        }
        assert [signal.during for signal in landing.signals[:2]] == [1, "on"]
        assert [signal.source for signal in landing.signals[::2]] == [
            "counted by the preload shim",
            "the node's log",
        ]
        assert page_of(room).setting() == LET_THROUGH
        assert write(room.cluster, "n1", "after")
        (count,) = page_of(room).counts().values()
        assert sum(count.struck.values()) == 1, "what was struck stands still"


@pytest.mark.fault("storage", "io-error", shows=LANDS)
def test_every_second_write_into_its_files_fails_and_none_into_its_sockets(tmp_path: Path) -> None:
    with shimmed(tmp_path) as room:
        fault = room.apply(storage("io-error", call="write", share=0.5, error="ENOSPC"), "n1")
        # Each request has a thread of its own, and each thread is counted by itself.
        answers = [ask(room.cluster, "n1", b"line") for _ in range(3)]
        assert answers == [{"error": "No space left on device"}] * 3
        room.nemesis.heal(fault)
        assert room.nemesis.landing(fault).landed
        assert lines(room.cluster, "n1") == []


@pytest.mark.fault("storage", "io-error", shows=LANDS)
def test_each_kind_of_call_ends_with_the_error_that_is_asked_for(tmp_path: Path) -> None:
    with shimmed(tmp_path) as room:
        assert write(room.cluster, "n1", "before")
        for call, error, said in (
            ("write", "EIO", "Input/output error"),
            ("write", "ENOSPC", "No space left on device"),
            ("fsync", "ENOSPC", "No space left on device"),
        ):
            fault = room.apply(storage("io-error", call=call, error=error), "n1")
            assert ask(room.cluster, "n1", b"during") == {"error": said}, (call, error)
            assert eventually(partial(landed, room, fault)), room.nemesis.landing(fault)
            assert room.nemesis.heal(fault).failed == {}
            assert moved(room.nemesis.landing(fault)) == {
                "injector": ["n1: calls that were failed", "n1: shim, as long as it runs"],
                "victim": ["n1: lines that name the error"],
            }
            assert page_of(room).setting() == LET_THROUGH
        assert write(room.cluster, "n1", "after")
        assert lines(room.cluster, "n1") == ["before", "after"]


@pytest.mark.fault("storage", "slow-io", shows=LANDS)
def test_a_write_waits_and_a_sync_does_not(tmp_path: Path) -> None:
    with shimmed(tmp_path) as room:
        fault = room.apply(storage("slow-io", call="write", by="1s"), "n1")
        assert write(room.cluster, "n1", "during")
        assert eventually(lambda: room.nemesis.landing(fault).landed), room.nemesis.landing(fault)
        room.nemesis.heal(fault)
        landing = room.nemesis.landing(fault)
        assert landing.landed and landing.signals[0].during == 1, landing  # the sync was not struck
        assert page_of(room).held() == ()


@pytest.mark.fault("storage", "slow-io", shows=LANDS)
def test_a_sync_waits_the_kernel_shows_who_and_the_heal_lets_it_go(tmp_path: Path) -> None:
    with shimmed(tmp_path) as room, ThreadPoolExecutor(1) as pool:
        fault = room.apply(storage("slow-io", by="10min"), "n1")
        writing = pool.submit(write, room.cluster, "n1", "held")
        assert eventually(lambda: room.nemesis.landing(fault).landed)
        assert page_of(room).held() != () and not writing.done()
        assert room.nemesis.heal(fault).failed == {}
        assert page_of(room).held() == ()
        assert writing.result(), "done, long before its delay was over"
        landing = room.nemesis.landing(fault)
        assert landing.landed, landing
        assert landing.signals[0].during == 1
        assert lines(room.cluster, "n1") == ["held"]


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=pytest.mark.fault("storage", kind, shows="not landing")) for kind in KINDS],
)
def test_a_call_that_the_node_makes_elsewhere_only_is_not_landed(tmp_path: Path, kind: str) -> None:
    elsewhere = ["{python}", str(PROGRAM), "--port", "{port.client}", "--data", str(tmp_path), "--sync"]
    with shimmed(tmp_path, command=elsewhere) as room:
        fault = room.apply(storage(kind), "n1")
        assert write(room.cluster, "n1", "during")
        room.nemesis.heal(fault)
        landing = room.nemesis.landing(fault)
        assert not landing.landed
        assert moved(landing) == {"injector": ["n1: shim, as long as it runs"], "victim": []}
        assert landing.signals[0].during == 0


@pytest.mark.fault("storage", "io-error", shows="not landing")
def test_a_server_that_its_wrapper_starts_without_the_shim_is_not_landed(tmp_path: Path) -> None:
    wrapped = ["sh", "-c", 'env -u LD_PRELOAD "$@" & wait', "wrapper", *SYNCING]
    with shimmed(tmp_path, command=wrapped) as room:
        fault = room.apply(storage("io-error"), "n1")
        assert write(room.cluster, "n1", "during")
        room.nemesis.heal(fault)
        landing = room.nemesis.landing(fault)
        assert not landing.landed
        assert landing.signals[0].during == 0


def test_a_node_that_ends_because_of_it_is_struck_again_until_the_heal(tmp_path: Path) -> None:
    with shimmed(tmp_path, command=[*SYNCING, "--die"]) as room:
        fault = room.apply(storage("io-error"), "n1")
        ends_at_a_write(room)
        room.cluster.start_node("n1")
        room.cluster.wait_ready(["n1"])
        ends_at_a_write(room)
        assert room.nemesis.heal(fault).failed == {}
        landing = room.nemesis.landing(fault)
        assert landing.landed, landing
        assert landing.signals[0].during == 2  # of both processes
        room.cluster.wait_ready(["n1"])
        assert write(room.cluster, "n1", "after")


def test_by_itself_strace_is_taken_where_it_works_and_the_shim_where_it_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with diaries(tmp_path, "io-error", run="traced") as room:
        assert not carries_a_library(room)
        with pytest.raises(NemesisError, match=r"started without the preload shim.*through: preload"):
            room.apply(storage("io-error", through="preload"), "n1")
    monkeypatch.setattr("refute.nemesis.storage.system_calls.Tracer", no_tracer)
    assert probe("storage", "io-error").works
    with diaries(tmp_path, "io-error", run="shimmed", command=SYNCING) as room:
        assert carries_a_library(room)
        fault = room.apply(storage("io-error"), "n1")
        assert not write(room.cluster, "n1", "during")
        with pytest.raises(NemesisError, match="a fault of its system calls is on there already"):
            room.apply(storage("slow-io"), "n1")
        room.nemesis.heal(fault)
        assert room.nemesis.landing(fault).landed
        with pytest.raises(FaultInputError, match="reads need strace"):
            room.apply(storage("io-error", call="read"), "n1")
        with pytest.raises(NemesisError, match="strace cannot attach"):
            room.apply(storage("io-error", through="strace"), "n1")


def test_where_neither_way_works_both_reasons_are_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    static = compiled(tmp_path, "int main(void) { for (;;) ; }", "-static")
    monkeypatch.setattr("refute.nemesis.storage.system_calls.Tracer", no_tracer)
    why = r"io-error and slow-io: strace: .*not permitted; preload: .*linked statically"
    with pytest.raises(FaultUnavailableError, match=why), diaries(tmp_path, *KINDS, command=[str(static)]):
        pass


@pytest.mark.fault("storage", "io-error", shows="nothing left")
def test_when_the_owner_is_killed_the_guard_lets_all_calls_through(tmp_path: Path) -> None:
    more = json.dumps({"calls_through": "preload"})
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path), "io-error", json.dumps({}), more],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )
    page = FileCallsPage(tmp_path / "run" / "preload" / "n1.calls")
    assert owner.stdout is not None
    with owner.stdout:
        assert owner.stdout.readline(), "the owner did not start"
        assert page.setting().on
        owner.kill()
        owner.wait()
    assert eventually(lambda: not page.setting().on, 15)
    assert left_in(tmp_path / "run") == []
    assert heal_everything().clean
