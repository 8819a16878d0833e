"""A disk that takes no record of faults any more: they are undone all the same, and nobody concludes from the rest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from refute.history import HistoryError
from refute.history.faults_log import FaultsWriter
from refute.nemesis.errors import UnrecordedError
from refute.nemesis.ledger import read_ledger
from refute.system.process_table import identify, state
from tests.nemesis.conftest import Room
from tests.nemesis.full_disk import full_disk
from tests.nemesis.peers import eventually


@pytest.fixture
def record(room: Room, tmp_path: Path) -> Iterator[FaultsWriter]:
    with FaultsWriter(tmp_path / "faults.jsonl") as writer:
        room.nemesis._events.on_event = writer.append
        yield writer
        room.nemesis._events.on_event = room.events.append


def test_a_fault_whose_time_is_up_is_healed_although_nothing_can_be_recorded(
    room: Room, record: FaultsWriter
) -> None:
    pid = room.cluster.node("n1").pid
    fault = room.apply({"pause": "n1", "for": "200ms"}, "n1")
    with full_disk(record._descriptor):
        assert eventually(lambda: room.nemesis.active() == ())
        assert state(pid) != "T"
    assert read_ledger(room.nemesis.ledger_directory).entries[fault].healed_by == "owner"
    with pytest.raises(UnrecordedError, match=r"f1 healing: .*No space left"):
        room.nemesis.close()
    assert identify(pid) is None


def test_a_fault_that_is_healed_by_name_is_told_although_nothing_can_be_recorded(
    room: Room, record: FaultsWriter
) -> None:
    fault = room.apply({"pause": "n1"}, "n1")
    with full_disk(record._descriptor):
        assert room.nemesis.heal(fault).healed == (fault,)
    assert state(room.cluster.node("n1").pid) != "T"
    with pytest.raises(UnrecordedError):
        room.nemesis.close()


def test_a_fault_that_cannot_be_recorded_is_not_applied(room: Room, record: FaultsWriter) -> None:
    pid = room.cluster.node("n1").pid
    with full_disk(record._descriptor), pytest.raises(HistoryError, match="No space left"):
        room.apply({"kill": "n1"}, "n1")
    assert room.cluster.node("n1").pid == pid and state(pid) not in ("", "Z")
    assert room.nemesis.active() == () and not read_ledger(room.nemesis.ledger_directory).on
    with pytest.raises(UnrecordedError):
        room.nemesis.close()


def test_a_fault_that_is_on_and_cannot_be_recorded_is_undone_at_once(room: Room) -> None:
    def no_room_once_it_is_on(event: object) -> None:
        if "APPLIED" in repr(event):
            raise OSError("no room")

    room.nemesis._events.on_event = no_room_once_it_is_on
    with pytest.raises(OSError, match="no room"):
        room.apply({"pause": "n1"}, "n1")
    assert state(room.cluster.node("n1").pid) != "T"
    assert room.nemesis.active() == () and room.nemesis.landings() == []
