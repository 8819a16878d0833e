"""A ledger on a full disk, cut off, or damaged: what it says is undone all the same, and nothing passes for clean."""

from __future__ import annotations

import os
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from refute.history.fault import FaultPhase
from refute.nemesis.errors import NemesisError
from refute.nemesis.healing import heal_entries, heal_everything, sweep
from refute.nemesis.ledger import Ledger, read_ledger, registered_ledgers
from refute.nemesis.undo import Undo
from refute.system.process_table import state
from tests.nemesis.conftest import Room
from tests.nemesis.full_disk import full_disk, room_for
from tests.nemesis.peers import eventually

NOTHING = Undo("true-time", {"page": "/nowhere", "node": "n1"})  # undone already: there is no such page


def pid_of(room: Room, node: str) -> int:
    return room.cluster.node(node).pid


def test_a_fault_that_cannot_be_written_down_is_not_applied(room: Room) -> None:
    ledger = room.nemesis._ledger
    assert ledger is not None
    with full_disk(ledger._file), pytest.raises(NemesisError, match=r"cannot be written: .*No space left"):
        room.apply({"pause": "n1"}, "n1")
    assert state(pid_of(room, "n1")) != "T"
    assert room.nemesis.active() == ()
    fault = room.apply({"pause": "n1"}, "n1")
    assert state(pid_of(room, "n1")) == "T"
    assert room.nemesis.heal(fault).failed == {}


def test_a_heal_that_cannot_be_written_down_is_done_for_all_faults_told_and_tried_again(room: Room) -> None:
    ledger = room.nemesis._ledger
    assert ledger is not None
    paused = [room.apply({"pause": node}, node) for node in ("n1", "n2")]
    with full_disk(ledger._file):
        healed = room.nemesis.heal("all")
        assert set(healed.failed) == set(paused)
        assert all("it is undone, but the ledger" in left for left in healed.failed.values())
        assert [state(pid_of(room, node)) == "T" for node in ("n1", "n2")] == [False, False]
    assert [event.phase for event in room.events].count(FaultPhase.HEAL_FAILED) == 2
    assert room.nemesis.heal("all").failed == {}
    assert room.nemesis.active() == ()
    assert read_ledger(ledger.directory).on == []


def test_an_attempt_that_breaks_on_a_full_disk_is_undone(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, plane = room.nemesis._ledger, room.nemesis._planes["process"]
    assert ledger is not None
    pause = plane.apply
    with ExitStack() as disk:

        def half(*arguments: Any) -> Any:
            pause(*arguments)
            disk.enter_context(full_disk(ledger._file))
            raise OSError("and then it broke")

        monkeypatch.setattr(plane, "apply", half)
        with pytest.raises(OSError, match="and then it broke"):
            room.apply({"pause": "n1"}, "n1")
        assert state(pid_of(room, "n1")) != "T"
        assert room.phases[-1] == "f1 heal-failed"
    assert room.nemesis.heal("all").failed == {}


def test_a_guard_goes_on_where_it_cannot_write(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger")
    for number in (1, 2):
        ledger.planned(f"f{number}", "clock", "jump", ["n1"], [NOTHING], 0)
    entries = read_ledger(ledger.directory).on
    with full_disk(ledger._file):
        failed = heal_entries(ledger, entries, by="guard", why="its time is up")
    assert set(failed) == {"f1", "f2"}
    assert heal_entries(ledger, entries, by="guard", why="its time is up") == {}
    assert read_ledger(ledger.directory).on == []


def test_a_line_that_was_cut_off_in_its_middle_costs_no_line_after_it(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.planned("f1", "clock", "jump", ["n1"], [NOTHING], 0)
    with room_for(ledger._file, 40), pytest.raises(NemesisError, match="cannot be written"):
        ledger.planned("f2", "clock", "jump", ["n1"], [NOTHING], 0)
    ledger.planned("f3", "clock", "jump", ["n1"], [NOTHING], 0)
    known = read_ledger(ledger.directory)
    assert list(known.entries) == ["f1", "f3"]  # f2 was never applied
    assert known.unreadable == []
    assert heal_everything().clean


@pytest.mark.parametrize(
    "damage",
    [
        b"\x00\xff\x00 garbage\n",
        b"{}\n",
        b"5\n",
        b"null\n",
        b'{"record": "planned"}\n',
        b'{"record": "resource", "name": 3}\n',
    ],
)
def test_damage_in_a_ledger_keeps_nothing_from_being_undone_and_is_told(
    tmp_path: Path, damage: bytes
) -> None:
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.planned("f1", "clock", "jump", ["n1"], [NOTHING], 0)
    os.write(ledger._file, damage)
    ledger.planned("f2", "clock", "jump", ["n1"], [NOTHING], 0)
    report = heal_everything()
    assert set(report.healed) == {f"{fault} of {ledger.run}" for fault in ("f1", "f2")}
    assert not report.clean
    assert list(report.failed) == [f"line 3 of {ledger.run}"]
    assert not heal_everything().clean  # until a person has looked


def test_a_ledger_without_its_beginning_is_told_and_stays_known(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger")
    ledger.planned("f1", "clock", "jump", ["n1"], [NOTHING], 0)
    file = ledger.directory / "ledger.jsonl"
    file.write_bytes(file.read_bytes()[40:])
    for report in (heal_everything(), sweep(), heal_everything(ledger.directory)):
        assert not report.clean
        assert "does not say whose it is" in next(iter(report.failed.values()))
    assert registered_ledgers()


def test_a_ledger_that_is_only_being_opened_is_no_damage(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger")
    (ledger.directory / "ledger.jsonl").write_bytes(b"")
    assert sweep().clean
    assert registered_ledgers()


def test_the_guard_leaves_a_fault_to_its_owner_while_that_heals_it(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, plane = room.nemesis.ledger_directory, room.nemesis._planes["process"]
    heal = plane.heal
    monkeypatch.setattr(room.nemesis, "_ttl_s", 3.0)
    fault = room.apply({"pause": "n1"}, "n1")
    deadline_ns = read_ledger(ledger).entries[fault].deadline_ns

    def slow(*arguments: Any) -> Any:
        assert read_ledger(ledger).entries[fault].deadline_ns > deadline_ns + 10_000_000_000
        while time.monotonic_ns() < deadline_ns + 500_000_000:  # the guard looks every tenth of a second
            time.sleep(0.1)
        assert read_ledger(ledger).entries[fault].healed_by is None
        return heal(*arguments)

    monkeypatch.setattr(plane, "heal", slow)
    assert room.nemesis.heal(fault).failed == {}
    assert read_ledger(ledger).entries[fault].healed_by == "owner"


def test_a_fault_comes_once_and_is_healed_as_often_as_you_like(room: Room) -> None:
    fault = room.apply({"pause": "n1"}, "n1")
    with pytest.raises(NemesisError, match="it is paused already"):
        room.apply({"pause": "n1"}, "n1")
    cuts = [room.apply({"partition": {"links": ["n2->n3"]}}) for _ in range(2)]
    assert room.nemesis.heal(cuts[0]).healed == (cuts[0],)
    assert room.nemesis.active() == (fault, cuts[1])
    for _ in range(3):
        assert room.nemesis.heal("all").failed == {}
        assert room.nemesis.heal(fault).failed == {}
        assert heal_everything(room.nemesis.ledger_directory).healed == {}
    assert room.nemesis.active() == ()
    assert eventually(lambda: state(pid_of(room, "n1")) != "T")


def test_what_is_registered_and_cannot_be_read_is_not_taken_for_nothing(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger")
    (pointer,) = registered_ledgers()
    assert heal_everything().clean
    was = pointer.read_text()
    for damaged in ("[]", "{", '{"ledger": 7}'):
        pointer.write_text(damaged)
        report = heal_everything()
        assert not report.clean and "does not say where its ledger is" in report.failed[str(pointer)]
    pointer.write_text("")
    assert heal_everything().clean, "that run was killed before it had a ledger"
    pointer.write_text(was)
    ledger.close(unregister=True)


def test_a_registry_that_is_closed_to_us_is_not_taken_for_an_empty_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state").mkdir(exist_ok=True)
    (tmp_path / "state" / "ledgers").write_text("no folder, so that not even root can list it")
    report = heal_everything()
    assert report.failed == {str(tmp_path / "state" / "ledgers"): "cannot be read: Not a directory"}
    (tmp_path / "state" / "ledgers").unlink()
    assert heal_everything().clean
