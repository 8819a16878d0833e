"""A run in which nothing could have gone wrong is told from one that was put to the test."""

from __future__ import annotations

from refute.history import FaultEvent, FaultPhase, Operation, Outcome
from refute.verdict import ANY, Required, fault_windows, lacking

FAULT = (
    FaultEvent("f1", FaultPhase.APPLIED, 100, "proxy", "partition", ("n1",), 1),
    FaultEvent("f1", FaultPhase.HEALED, 200, "proxy", "partition", ("n1",), 2),
)


def op(index: int, kind: str, start: int, end: int, outcome: Outcome = Outcome.OK) -> Operation:
    return Operation(index, index, kind, "k", 1, 1, outcome, start, end)


def test_operations_in_all_three_parts_are_enough() -> None:
    operations = [op(0, "write", 10, 20), op(1, "write", 150, 160), op(2, "write", 210, 220)]
    assert lacking(operations, FAULT, Required(("write",), ("write",), ("write",))) == ()


def test_each_part_is_asked_for() -> None:
    operations = [op(0, "read", 10, 20)]
    found = lacking(operations, FAULT, Required(("write",), ("read",), ("read",)))
    assert found == (
        "no write succeeded before the faults",
        "no operation was invoked while a fault was on",
        "no read succeeded while a fault was on",
        "no read succeeded after the faults",
    )


def test_an_operation_that_straddles_the_start_did_not_succeed_before() -> None:
    assert lacking([op(0, "write", 90, 110), op(1, "write", 210, 220)], FAULT, Required(("write",))) == (
        "no write succeeded before the faults",
        "no operation was invoked while a fault was on",
    )


def test_failures_alone_are_nothing() -> None:
    operations = [op(0, "write", 10, 20, Outcome.FAIL), op(1, "write", 150, 160, Outcome.INFO)]
    assert lacking(operations, FAULT, Required()) == ("no operation succeeded",)


def test_any_kind_may_be_asked_for() -> None:
    operations = [op(0, "write", 10, 20), op(1, "write", 150, 160)]
    assert lacking(operations, FAULT, Required((ANY,), (ANY,), (ANY,))) == (
        "no operation succeeded after the faults",
    )


def test_a_fault_that_was_never_undone_lasts_to_the_end() -> None:
    windows = fault_windows(FAULT[:1])
    assert windows[0].end_ns is None
    operations = [op(0, "write", 10, 20), op(1, "read", 900, 910)]
    assert lacking(operations, FAULT[:1], Required(("write",), ("read",), ("read",))) == ()
