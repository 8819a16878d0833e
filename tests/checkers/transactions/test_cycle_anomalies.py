"""Every class of cycles by hand: the shapes that have it, and the same edges with the last one turned round."""

from __future__ import annotations

import pytest
from cycle_histories import history_of

from refute.checkers import Budget, Result
from refute.checkers.transactions.anomalies import CYCLES, LEVELS
from refute.checkers.transactions.list_append import check_list_append
from refute.checkers.transactions.models import closure
from refute.checkers.transactions.rw_register import check_rw_register

SHAPES: dict[str, tuple[str, ...]] = {
    "G0": tuple(" ".join(["ww"] * length) for length in range(2, 22)),
    "G1c": (
        "wr wr", "ww wr", "wr wr wr", "ww ww wr", "ww wr wr", "wr ww wr ww", "wr wr wr wr", "ww ww ww wr",
        "wr wr ww wr wr", "ww wr ww wr ww wr", "ww ww wr wr", "ww wr ww wr", "ww wr wr wr", "ww ww ww ww wr",
        "ww ww wr ww wr", "ww ww ww wr wr", "wr wr wr wr wr", "ww ww wr wr wr", "ww wr wr ww wr wr",
        "ww ww ww ww ww wr",
    ),
    "G-single": (
        "rw ww", "rw wr", "rw ww ww", "rw wr ww", "rw ww wr", "rw wr wr", "rw ww ww ww", "rw wr ww wr",
        "rw wr wr wr wr", "rw ww wr ww wr", "rw ww ww wr", "rw ww wr ww", "rw wr ww ww", "rw wr wr ww",
        "rw wr wr wr", "rw ww wr wr", "rw ww ww ww ww", "rw wr ww wr ww", "rw ww ww ww ww ww",
        "rw wr ww ww wr wr",
    ),
    "G-nonadjacent": (
        "rw ww rw ww", "rw wr rw wr", "rw ww rw wr", "rw ww ww rw wr", "rw wr wr rw wr", "rw wr ww rw ww",
        "rw ww ww rw ww ww", "rw wr rw wr rw wr", "rw ww rw ww rw ww", "rw wr rw ww rw wr ww",
        "rw ww ww rw ww", "rw ww wr rw ww", "rw ww wr rw wr", "rw wr ww rw wr", "rw wr wr rw ww",
        "rw ww wr rw ww wr", "rw wr wr rw wr wr", "rw ww ww ww rw wr", "rw ww rw wr rw ww",
        "rw wr rw wr rw wr rw wr",
    ),
    "G2-item": (
        "rw rw", "rw rw rw", "rw rw ww", "rw rw wr", "rw rw rw rw", "rw rw ww rw", "rw rw rw ww", "rw rw wr ww",
        "rw rw ww wr", "rw rw rw wr wr", "rw rw wr wr", "rw rw ww ww", "rw rw rw wr", "rw rw wr rw",
        "rw rw wr wr wr", "rw rw rw rw rw", "rw rw ww rw ww", "rw rw wr rw wr", "rw rw ww ww ww",
        "rw rw rw ww rw ww",
    ),
}  # fmt: skip
# With one edge of time: after a shape that ends with any other edge, time may be the way back.
CASES = [
    (name + level, f"{shape} {level[1:]}".strip())
    for name, shapes in SHAPES.items()
    for level in LEVELS
    for shape in shapes
]
WEAKEST = {"G0": "read-uncommitted", "G1c": "read-committed", "G-single": "consistent-view",
           "G-nonadjacent": "snapshot-isolation", "G2-item": "serializable"}  # fmt: skip


def cycle_names(result: Result) -> set[str]:
    return {name for name in result.details["anomalies"] if name.split("-p")[0].split("-real")[0] in CYCLES}


def model_of(name: str) -> str:
    base = name.removesuffix("-process").removesuffix("-realtime")
    prefix = name.removeprefix(base)
    if prefix == "-realtime":
        return "strict-serializable" if base == "G2-item" else f"strong-{WEAKEST[base]}"
    return f"strong-session-{WEAKEST[base]}" if prefix else WEAKEST[base]


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize(("name", "shape"), CASES)
def test_a_cycle_of_appends_has_its_name_and_rules_out_its_model(
    name: str, shape: str, unknown: bool
) -> None:
    history = history_of(shape, unknown=unknown)
    result = check_list_append(history, budget=Budget(), model=model_of(name))
    assert cycle_names(result) == {name}
    assert result.valid is False
    assert [anomaly.name for anomaly in result.anomalies if anomaly.name in cycle_names(result)] == [name]
    count = len(shape.split())
    shown = next(anomaly for anomaly in result.anomalies if anomaly.name == name)
    assert len(shown.operations) == len(shown.details["edges"]) == count


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize(("name", "shape"), CASES)
def test_the_same_edges_without_the_way_back_have_no_anomaly(name: str, shape: str, unknown: bool) -> None:
    result = check_list_append(
        history_of(shape, closed=False, unknown=unknown), budget=Budget(), model=model_of(name)
    )
    assert result.details["anomalies"] == {}
    assert result.valid is True


def test_every_class_has_twenty_shapes_with_it_and_twenty_without() -> None:
    names = [name for name, _ in set(CASES)]
    assert {name: names.count(name) for name in names} == {
        cycle + level: 20 for cycle in CYCLES for level in LEVELS
    }


# What a transaction read and then replaced orders the versions only where circular flow is forbidden, and
# is a read dependency anyway: to see a cycle of writes alone, one must watch the keys advance.
BY_READS = [(name, shape) for name, shape in CASES if not name.startswith("G0")]
WATCHED = [(name, shape) for name, shape in CASES if name.startswith("G0")]


@pytest.mark.parametrize(("name", "shape"), BY_READS)
def test_a_cycle_of_registers_has_its_name(name: str, shape: str) -> None:
    result = check_rw_register(history_of(shape, register=True), budget=Budget(), model=model_of(name))
    assert cycle_names(result) == {name}
    assert result.valid is False


@pytest.mark.parametrize(("name", "shape"), BY_READS)
def test_registers_without_the_way_back_have_no_anomaly(name: str, shape: str) -> None:
    history = history_of(shape, closed=False, register=True)
    result = check_rw_register(history, budget=Budget(), model=model_of(name))
    assert result.details["anomalies"] == {}
    assert result.valid is True, result.reason


@pytest.mark.parametrize(("name", "shape"), WATCHED)
def test_a_cycle_of_writes_to_registers_that_are_watched_has_its_name(name: str, shape: str) -> None:
    history = history_of(shape, register=True, watched=True)
    result = check_rw_register(history, budget=Budget(), model=model_of(name), sequential_keys=True)
    assert name in result.details["anomalies"]
    assert closure(cycle_names(result)) == closure([name])
    assert result.valid is False


@pytest.mark.parametrize(("name", "shape"), WATCHED)
def test_watched_registers_without_the_way_back_have_no_anomaly(name: str, shape: str) -> None:
    history = history_of(shape, closed=False, register=True, watched=True)
    result = check_rw_register(history, budget=Budget(), model=model_of(name), sequential_keys=True)
    assert result.details["anomalies"] == {}
    assert result.valid is True, result.reason


def test_the_sentence_of_a_cycle_names_the_reads_and_what_they_missed() -> None:
    result = check_list_append(history_of("rw wr"), budget=Budget())
    single = next(anomaly for anomaly in result.anomalies if anomaly.name == "G-single")
    assert "T0 read k0=[] without 1 that T1 appended" in single.sentence
    assert "T0 read k1=[1] with 1 that T1 appended" in single.sentence
    assert sorted(single.details["edges"]) == [
        [0, 1, "rw", "key k0: missed 1"],
        [1, 0, "wr", "key k1: read 1"],
    ]
