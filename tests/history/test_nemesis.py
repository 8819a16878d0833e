"""What a Jepsen nemesis logged becomes faults with a beginning and an end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from refute.checkers.windows import fault_intervals
from refute.history import FaultPhase
from refute.history.formats import load

FOREVER = 2**62


def events(*told: tuple[str, Any, int]) -> str:
    """Nemesis events around one client's operations at 0 to 100."""
    lines = [(time, f"{{:type :info, :process :nemesis, :f :{name}, :value {value}, :time {time}}}")
             for name, value, time in told]  # fmt: skip
    for number in range(10):
        lines.append(
            (number * 10, f"{{:type :invoke, :process 0, :f :read, :value nil, :time {number * 10}}}")
        )
        end = number * 10 + 5
        lines.append((end, f"{{:type :ok, :process 0, :f :read, :value nil, :time {end}}}"))
    return "\n".join(line for _, line in sorted(lines, key=lambda pair: pair[0])) + "\n"


CASES: list[tuple[str, list[tuple[str, Any, int]], list[tuple[str, int, int]]]] = [
    (
        "a partition that is healed",
        [("start-partition", ":majority", 11), ("start-partition", '{"n1" #{"n2"}}', 14),
         ("stop-partition", "nil", 40), ("stop-partition", ":healed", 44)],
        [("partition", 11, 44)],
    ),
    ("start and stop", [("start", "nil", 11), ("start", "nil", 12), ("stop", "nil", 21), ("stop", "nil", 22)],
     [("start", 11, 22)]),
    (
        "kill is ended by start, pause by resume",
        [("kill", ":one", 11), ("kill", '["n1"]', 12), ("pause", ":all", 13), ("pause", '["n2"]', 14),
         ("start", ":all", 31), ("start", "[]", 32), ("resume", ":all", 41), ("resume", "[]", 42)],
        [("kill", 11, 32), ("pause", 13, 42)],
    ),
    (
        "the last resort at the end of a run begins nothing",
        [("kill", ":one", 1), ("kill", "nil", 2), ("start", ":all", 3), ("start", "nil", 4), ("start", ":all", 91),
         ("start", "nil", 92), ("resume", "nil", 93), ("resume", "nil", 94), ("stop-partition", "nil", 95),
         ("stop-partition", "nil", 96), ("heal", "nil", 97), ("heal", "nil", 98)],
        [("kill", 1, 4)],
    ),
    ("a clock that is bumped is bumped at once", [("bump-clock", "{}", 11), ("bump-clock", '{"n1" 100}', 13)],
     [("bump-clock", 11, 13)]),
    ("a fault that nothing ends is on to the end", [("partition", "nil", 11), ("partition", "nil", 12)],
     [("partition", 11, FOREVER)]),
    (
        "heal ends a partition and not a killed node",
        [("partition", "nil", 11), ("partition", "nil", 12), ("kill", "nil", 13), ("kill", "nil", 14),
         ("heal", "nil", 21), ("heal", "nil", 22)],
        [("partition", 11, 22), ("kill", 13, FOREVER)],
    ),
    (
        "stop ends what it names",
        [("start-a", "nil", 11), ("start-a", "nil", 12), ("start-b", "nil", 13), ("start-b", "nil", 14),
         ("stop-b", "nil", 21), ("stop-b", "nil", 22)],
        [("a", 11, FOREVER), ("b", 13, 22)],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("told", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_what_ends_what(
    told: list[tuple[str, Any, int]], expected: list[tuple[str, int, int]], tmp_path: Path
) -> None:
    path = tmp_path / "history.edn"
    path.write_text(events(*told))
    history = load(path)
    kinds = [event.kind for event in history.faults if event.phase is FaultPhase.APPLIED]
    found = sorted(zip(kinds, sorted(fault_intervals(history)), strict=True))
    assert sorted((kind, *interval) for kind, interval in found) == sorted(expected)
    assert len(history) == 10


def test_targets_are_told_by_the_completion_and_operations_know_their_epoch(tmp_path: Path) -> None:
    path = tmp_path / "history.edn"
    path.write_text(events(*CASES[0][1]))
    history = load(path)
    assert {event.targets for event in history.faults} == {("n1",)}
    assert {event.plane for event in history.faults} == {"jepsen"}
    assert [operation.epoch for operation in history.operations] == [0, 0, 1, 1, 1, 2, 2, 2, 2, 2]
    assert history.completeness.notes == ("4 nemesis events are kept as faults, not as operations",)


def test_without_a_nemesis_there_are_no_faults(tmp_path: Path) -> None:
    path = tmp_path / "history.edn"
    path.write_text(events())
    assert load(path).faults == ()


def test_the_picture_shows_them_as_bands(tmp_path: Path) -> None:
    from refute.tools.histories import CheckHistoryRequest, check_history

    path = tmp_path / "history.edn"
    path.write_text(events(*CASES[0][1]))
    page = tmp_path / "page.html"
    check_history(CheckHistoryRequest(history=str(path), model="register", plot=str(page)))
    assert '"partition"' in page.read_text()
