"""Faults and their landing evidence on disk: the readings count, not what the file claims."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.nemesis.full_disk import room_for

from refute.history import FaultEvent, FaultPhase, HistoryError, Landing, Signal
from refute.history.faults_log import FaultsWriter, read_faults, read_landing, write_landing

APPLIED = FaultEvent(
    "f1",
    FaultPhase.APPLIED,
    17,
    "process",
    "pause",
    ("n1", "n2->n3"),
    3,
    {"state": "leader", "delay_ns": 5},
    {"pid": 9},
)
HEALED = FaultEvent("f1", FaultPhase.HEALED, 99, "process", "pause", ("n1",), 4)
MOVED = Signal("injector", "state", "/proc/9/stat", "becomes", "S", "T", "S", expected="T", target="n1")
STOPPED = Signal("victim", "cpu", "n1", "stops", 12, 0, 11, target="n1")
STILL = Signal("victim", "cpu", "n1", "stops", 12, 12, 11)


def test_fault_events_read_back(tmp_path: Path) -> None:
    with FaultsWriter(tmp_path / "faults.jsonl") as writer:
        writer.append(APPLIED)
        writer.append(HEALED)
    assert read_faults(tmp_path / "faults.jsonl") == (APPLIED, HEALED)


def test_a_cut_off_last_fault_is_left_out_and_a_bad_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "faults.jsonl"
    with FaultsWriter(path) as writer:
        writer.append(APPLIED)
    whole = path.read_text()
    path.write_text(whole + whole.splitlines()[1][:40])
    assert read_faults(path) == (APPLIED,)
    path.write_text(whole + whole.splitlines()[1][:40] + "\n" + whole.splitlines()[1] + "\n")
    with pytest.raises(HistoryError) as caught:
        read_faults(path)
    assert caught.value.where == f"{path}:3"
    path.write_text(whole.replace('"applied"', '"done"'))
    with pytest.raises(HistoryError, match="unknown phase 'done'"):
        read_faults(path)


def test_an_event_for_which_there_is_no_room_leaves_no_half_of_a_line(tmp_path: Path) -> None:
    path = tmp_path / "faults.jsonl"
    with FaultsWriter(path) as writer:
        writer.append(APPLIED)
        with (
            room_for(writer._descriptor, 10),
            pytest.raises(HistoryError, match="cannot write: File too large"),
        ):
            writer.append(HEALED)
        writer.append(HEALED)
    assert read_faults(path) == (APPLIED, HEALED)


def test_landing_evidence_reads_back_and_is_judged_again(tmp_path: Path) -> None:
    path = tmp_path / "landing.json"
    traffic = Signal("traffic", "sent", "n1", "stops", 3, 0, target="n1")
    landed = Landing("f1", "process", "pause", ("n1",), (MOVED, STOPPED, traffic), "a note")
    missed = Landing("f2", "process", "pause", ("n1",), (MOVED, STILL))
    # One signal a side moved, but not the one without which it does not count.
    half = Landing("f3", "netns", "drop", ("n1->n2", "n2->n1"), (MOVED, STOPPED, replace(STILL, needed=True)))
    unfelt = replace(landed, fault="f4", signals=(*landed.signals, replace(STILL, declared="n1: cpu stops")))
    write_landing(path, [landed, missed, half, unfelt])
    assert [entry["landed"] for entry in json.loads(path.read_text())] == [True, False, False, False]
    assert read_landing(path) == (landed, missed, half, unfelt)


@pytest.mark.parametrize(
    ("old", "new"), [('"during": 0', '"during": 12'), ('"landed": true', '"landed": false')]
)
def test_a_file_that_contradicts_its_own_readings_is_refused(tmp_path: Path, old: str, new: str) -> None:
    path = tmp_path / "landing.json"
    write_landing(path, [Landing("f1", "process", "pause", ("n1",), (MOVED, STOPPED))])
    edited = path.read_text().replace(old, new)
    assert edited != path.read_text()
    path.write_text(edited)
    with pytest.raises(HistoryError, match="f1"):
        read_landing(path)


def test_a_recording_from_before_targets_were_named_reads_as_it_was_judged(tmp_path: Path) -> None:
    path = tmp_path / "landing.json"
    moved, stopped, still = (replace(each, target="") for each in (MOVED, STOPPED, STILL))
    write_landing(path, [Landing("f1", "proxy", "partition", ("n1->n2", "n1->n3"), (moved, stopped, still))])
    document = json.loads(path.read_text())
    for signal in document[0]["signals"]:
        del signal["target"], signal["needed"]
    path.write_text(json.dumps(document))
    (read,) = read_landing(path)
    assert document[0]["landed"] is read.landed is True
