"""Whatever happens to the injector, its faults are healed, and nobody else's are touched."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from refute.nemesis import healing
from refute.nemesis.guard import guard_is_alive
from refute.nemesis.healing import guard_of, heal_everything, sweep
from refute.nemesis.ledger import Ledger, read_ledger, registered_ledgers
from refute.nemesis.undo import Undo
from refute.system.process_table import identify, is_alive, state
from tests.nemesis.conftest import Room
from tests.nemesis.owners import Owner, nothing_left
from tests.nemesis.peers import eventually


def test_while_the_owner_lives_its_faults_stay_on(own: Callable[..., Owner]) -> None:
    owner = own()
    time.sleep(1.0)
    assert state(owner.nodes["n1"].pid) == "T"
    assert owner.links_on() == ["f2"]
    assert guard_is_alive(owner.ledger)
    assert owner.healed_by() == {"f1": None, "f2": None}


def test_killing_the_whole_tree_but_the_guard_heals_everything(own: Callable[..., Owner]) -> None:
    owner = own()
    tree = owner.tree()
    guard = guard_of(owner.ledger)
    assert guard is not None
    assert guard.pid not in tree
    assert {owner.host.pid, *(node.pid for node in owner.nodes.values())} < set(tree)
    for pid in tree:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    owner.process.wait()
    assert eventually(lambda: owner.healed_by() == {"f1": "guard", "f2": "guard"}, 5)
    assert eventually(lambda: not is_alive(guard))
    assert nothing_left(owner)
    assert not registered_ledgers()


def test_killing_only_the_owner_heals_what_its_children_still_have_on(own: Callable[..., Owner]) -> None:
    # The nodes and the proxy host outlive the owner: the pause and the partition are really still there.
    owner = own(linger=True)
    guard = guard_of(owner.ledger)
    assert guard is not None
    os.kill(owner.process.pid, signal.SIGKILL)
    killed = time.monotonic()
    owner.process.wait()
    assert eventually(lambda: state(owner.nodes["n1"].pid) != "T", 5)
    assert eventually(lambda: owner.healed_by() == {"f1": "guard", "f2": "guard"}, 5)
    assert time.monotonic() - killed < 5
    assert eventually(lambda: nothing_left(owner), 15)
    assert eventually(lambda: not is_alive(guard))
    assert not registered_ledgers()


def test_an_owner_whose_pipe_closes_before_it_is_gone_leaves_nothing(own: Callable[..., Owner]) -> None:
    owner = own(dies_slowly=True)
    assert owner.process.wait(10) == 9
    assert eventually(lambda: owner.healed_by() == {"f1": "guard", "f2": "guard"}, 5)
    assert eventually(lambda: nothing_left(owner), 10)
    assert eventually(lambda: not registered_ledgers())


def test_an_owner_that_hangs_is_healed_and_its_nodes_go_on(own: Callable[..., Owner]) -> None:
    owner = own(hang_s=1.5)
    os.kill(owner.process.pid, signal.SIGSTOP)
    assert eventually(lambda: owner.healed_by() == {"f1": "guard", "f2": "guard"}, 6)
    assert state(owner.nodes["n1"].pid) != "T"
    assert owner.links_on() == []
    assert all(is_alive(node) for node in owner.nodes.values())
    os.kill(owner.process.pid, signal.SIGCONT)
    owner.process.terminate()
    owner.process.wait()
    assert eventually(lambda: nothing_left(owner), 15)


def test_a_fault_that_outlives_its_time_is_healed_and_its_owner_learns_it(
    open_room: Callable[..., Room],
) -> None:
    room = open_room(3, nemesis={"ttl_s": 0.3})
    fault = room.apply({"pause": "n1"}, "n1")
    assert eventually(lambda: state(room.cluster.node("n1").pid) != "T")
    # The guard undoes first and writes after; the owner can learn of it only from what is written.
    assert eventually(lambda: read_ledger(room.nemesis.ledger_directory).entries[fault].healed_by)
    room.nemesis.heal(fault)
    assert room.events[-1].detail["by"] == "guard (its time is up)"
    assert room.nemesis.landing(fault).note == "was healed before its time by the guard (its time is up)"
    assert not room.nemesis.landing(fault).landed


def test_what_was_left_by_a_run_killed_with_its_guard_is_found_at_the_next_start(
    own: Callable[..., Owner],
) -> None:
    owner = own()
    guard = guard_of(owner.ledger)
    assert guard is not None
    os.kill(guard.pid, signal.SIGKILL)
    assert eventually(lambda: not is_alive(guard))
    os.kill(owner.process.pid, signal.SIGKILL)
    owner.process.wait()
    assert state(owner.nodes["n1"].pid) == "T"
    report = sweep()
    assert report.clean
    assert set(report.healed) == {f"f1 of {owner.run}", f"f2 of {owner.run}"}
    assert len(report.ended) >= 4
    assert nothing_left(owner)
    assert not registered_ledgers()
    assert sweep().healed == {}


def test_a_sweep_leaves_a_living_run_alone(own: Callable[..., Owner]) -> None:
    owner = own()
    report = sweep()
    assert report.healed == {}
    assert len(report.untouched) == 1
    assert state(owner.nodes["n1"].pid) == "T"
    assert owner.links_on() == ["f2"]


def test_two_runs_do_not_touch_each_other_s_faults(own: Callable[..., Owner]) -> None:
    first, second = own("first"), own("second")
    os.kill(first.process.pid, signal.SIGKILL)
    first.process.wait()
    assert eventually(lambda: nothing_left(first), 15)
    assert state(second.nodes["n1"].pid) == "T"
    assert second.links_on() == ["f2"]
    assert second.healed_by() == {"f1": None, "f2": None}


def test_healing_by_hand_heals_all_or_one_and_says_what(own: Callable[..., Owner]) -> None:
    first, second = own("first"), own("second")
    report = heal_everything(first.ledger)
    assert set(report.healed) == {f"f1 of {first.run}", f"f2 of {first.run}"}
    assert state(first.nodes["n1"].pid) != "T"
    assert state(second.nodes["n1"].pid) == "T"
    assert set(heal_everything().healed) == {f"f1 of {second.run}", f"f2 of {second.run}"}
    assert heal_everything().healed == {}
    assert all(is_alive(node) for node in second.nodes.values())  # the run goes on


def test_healing_by_hand_waits_for_a_guard_that_is_about_to_end_the_nodes(own: Callable[..., Owner]) -> None:
    # The nodes take a second to stop, so that the guard is still at it when somebody asks.
    owner = own(linger=True)
    os.kill(owner.process.pid, signal.SIGKILL)
    owner.process.wait()
    report = heal_everything(owner.ledger)
    assert (report.failed, report.untouched) == ({}, [])
    assert not guard_is_alive(owner.ledger)
    assert not any(is_alive(node) for node in owner.nodes.values())
    assert nothing_left(owner)


def test_healing_by_hand_says_whose_processes_a_guard_still_has_to_end(
    own: Callable[..., Owner], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(healing, "_GUARD_DONE_WITHIN_S", 0.2)
    owner = own(linger=True)
    guard = guard_of(owner.ledger)
    assert guard is not None
    os.kill(guard.pid, signal.SIGSTOP)
    os.kill(owner.process.pid, signal.SIGKILL)
    owner.process.wait()
    try:
        report = heal_everything(owner.ledger)
        assert set(report.healed) == {f"f1 of {owner.run}", f"f2 of {owner.run}"}
        assert report.untouched == [
            f"{owner.ledger}: its guard still has to end the processes of {owner.run}"
        ]
        assert is_alive(owner.nodes["n1"])
    finally:
        os.kill(guard.pid, signal.SIGCONT)
    assert eventually(lambda: nothing_left(owner), 15)


def test_a_pid_that_is_somebody_else_s_by_now_is_not_signalled(tmp_path: Path) -> None:
    stranger = subprocess.Popen(["sleep", "60"])
    try:
        os.kill(stranger.pid, signal.SIGSTOP)
        assert eventually(lambda: state(stranger.pid) == "T")
        known = identify(stranger.pid)
        assert known is not None
        ledger = Ledger.create(tmp_path / "ledger")
        before = {"leader": [known.pid, known.started - 1], "members": []}
        ledger.planned("f1", "process", "pause", ["n1"], [Undo("continue", before)], time.monotonic_ns())
        ledger.resource("n1", Undo("end", before))
        report = heal_everything(tmp_path / "ledger")
        assert report.clean
        assert state(stranger.pid) == "T"
    finally:
        stranger.kill()
        stranger.wait()


def test_a_heal_that_fails_stays_in_the_ledger_with_the_reason(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.planned("f1", "future", "thing", ["n1"], [Undo("unheard-of", {})], time.monotonic_ns())
    report = heal_everything()
    assert not report.clean
    assert list(report.failed.values()) == ["unheard-of: KeyError: 'unheard-of'"]
    entry = read_ledger(tmp_path / "ledger").entries["f1"]
    assert (entry.healed_by, entry.left) == (None, "unheard-of: KeyError: 'unheard-of'")
    assert registered_ledgers()


def test_a_ledger_that_was_cut_off_in_a_line_still_reads(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.planned("f1", "process", "pause", ["n1"], [], 0)
    with (tmp_path / "ledger/ledger.jsonl").open("a") as file:
        file.write('{"record": "hea')
    assert list(read_ledger(tmp_path / "ledger").entries) == ["f1"]


def test_the_undo_is_in_the_ledger_before_the_fault_is_applied(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane = room.nemesis._planes["process"]
    written: list[int] = []
    pause = plane.apply

    def look_first(*arguments: Any) -> Any:
        entry = read_ledger(room.nemesis.ledger_directory).entries["f1"]
        written.extend(undo["handle"]["leader"][0] for undo in entry.undos)
        return pause(*arguments)

    monkeypatch.setattr(plane, "apply", look_first)
    room.apply({"pause": "n1"}, "n1")
    assert written == [room.cluster.node("n1").pid]


def test_a_fault_that_cannot_be_applied_leaves_nothing_on(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    plane = room.nemesis._planes["process"]
    pause = plane.apply

    def half(*arguments: Any) -> Any:
        pause(*arguments)
        raise OSError("and then it broke")

    monkeypatch.setattr(plane, "apply", half)
    with pytest.raises(OSError, match="and then it broke"):
        room.apply({"pause": "n1"}, "n1")
    assert state(room.cluster.node("n1").pid) != "T"
    assert room.phases == ["f1 planned", "f1 healed"]
    assert room.nemesis.landings() == []
