"""What the transaction checkers do with models, budgets, doubtful records and recorded samples."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cycle_histories import history_of
from tiny_transactions import history, transaction

from refute.checkers import CATALOG, Budget, CheckerError, Result, run_check
from refute.checkers.transactions import exact
from refute.checkers.transactions.models import MODELS, ruled_out
from refute.history import Completeness, History, Outcome
from refute.history.formats.load import load

SAMPLES = Path(__file__).parents[4] / "shared" / "histories"
CHECKERS = [name for name, entry in CATALOG.items() if entry.function.startswith("transactions.")]


def check(name: str, *lines: str, **options: Any) -> Result:
    return run_check(name, history(*lines), options)


# Models


@pytest.mark.parametrize(
    ("anomaly", "weakest"),
    [
        ("G0", "read-uncommitted"),
        ("G1a", "read-committed"),
        ("G1c", "read-committed"),
        ("lost-update", "cursor-stability"),
        ("G-monotonic", "monotonic-atomic-view"),
        ("G-single", "consistent-view"),
        ("G-nonadjacent", "snapshot-isolation"),
        ("G2-item", "repeatable-read"),
        ("G0-process", "strong-session-read-uncommitted"),
        ("G2-item-process", "strong-session-serializable"),
        ("G-single-realtime", "strong-consistent-view"),
        ("G2-item-realtime", "strict-serializable"),
    ],
)
def test_an_anomaly_rules_out_its_model_and_all_above_it(anomaly: str, weakest: str) -> None:
    out = ruled_out([anomaly])
    assert weakest in out
    assert "strict-serializable" in out
    above = {name for name, model in MODELS.items() if model.forbids >= MODELS[weakest].forbids}
    assert above <= set(out)


# The smallest histories that the guide shows, and the weakest models that they rule out.
SMALLEST = {
    "G0": ("x+1 y+1; x+2 y+2; x=1,2 y=2,1", "read-uncommitted"),
    "G1a": ("! x+1; x=1", "read-committed"),
    "G1c": ("x+1 y=1; y+1 x=1", "read-committed"),
    "dirty-update": ("! x+1; x+2; x=1,2", "read-committed"),
    "incompatible-order": ("x+1; x+2; x=1; x=2", "read-committed"),
    "cyclic-versions": ("x->2 x:=1; x->1 x:=2", "read-committed"),
    "lost-update": ("x= x+1; x= x+2", "cursor-stability"),
    "G-monotonic": ("x+1 y+1; x=1 y=", "monotonic-atomic-view"),
    "fractured-read": ("x+1 y+1; y= x=1", "read-atomic"),
    "internal": ("x+1 x=", "read-atomic"),
    "G-single": ("x= y+2; x+1 y+1; y=1,2", "consistent-view"),
    "G-nonadjacent": ("x= w=1; x+1 y+1; y=1 z=; z+1 w+1", "snapshot-isolation"),
    "G2-item": ("x= y+1; y= x+1", "serializable"),
    "duplicate-elements": ("x+1; x=1,1", "read-uncommitted"),
    "garbage-read": ("x=7", "read-uncommitted"),
}


@pytest.mark.parametrize("name", SMALLEST)
def test_the_smallest_history_of_an_anomaly_rules_out_its_model_and_nothing_weaker(name: str) -> None:
    text, weakest = SMALLEST[name]
    checker = "rw-register" if ":=" in text else "list-append"
    details = check(checker, *(line.strip() for line in text.split(";"))).details
    assert name in details["anomalies"]
    assert weakest in details["weakest_ruled_out"]


def test_write_skew_rules_out_serializable_and_leaves_snapshot_isolation() -> None:
    details = check("list-append", ["x= y+1", " y= x+1"][0], "y= x+1", "y=1 x=1").details
    assert details["weakest_ruled_out"] == ["repeatable-read", "serializable"]
    assert "snapshot-isolation" in details["not_ruled_out"]
    assert check("list-append", "x= y+1", "y= x+1", model="snapshot-isolation").valid is True


def test_what_the_model_allows_is_reported_beside_the_verdict() -> None:
    result = check("list-append", "x= y+1", "y= x+1", model="PL-SI")
    assert result.valid is True
    assert [anomaly["name"] for anomaly in result.details["also"]] == ["G2-item"]


def test_a_stale_read_of_another_session_is_strict_only() -> None:
    lines = ("0-1 x+1", "2-3 x=")
    assert check("list-append", *lines).valid is True
    assert check("list-append", *lines, model="strong-session-serializable").valid is True
    assert check("list-append", *lines, model="strict-serializable").valid is False


def test_operations_that_only_touch_in_time_overlap() -> None:
    assert check("list-append", "0-2 x+1", "2-3 x=", model="strict-serializable").valid is True


def test_session_order_is_not_taken_for_the_anti_dependency_beside_it() -> None:
    # b ran twice, and what it read first the second one wrote: by that alone there are two adjacent
    # anti-dependencies (a missed the 6, b the 8), by its session order there is one.
    lines = ("@c0-1 y+2", "@b3-6 x= y+6", "@a6-11 y=2 x=8", "@b9-12 y= x+8")
    result = check("list-append", *lines, model="strong-session-snapshot-isolation")
    assert result.valid is False
    assert "G-single-process" in result.details["anomalies"]


@pytest.mark.parametrize("name", ["list-append", "rw-register"])
def test_an_unknown_model_is_the_callers_error(name: str) -> None:
    with pytest.raises(CheckerError, match="no isolation model"):
        check(name, "x+1", model="best-effort")


def test_real_time_is_no_evidence_where_clocks_differ() -> None:
    stale = replace(history("0-1 x+1", "2-3 x="), clock="wall")
    result = run_check("list-append", stale, {"model": "strict-serializable"})
    assert result.valid == "unknown"
    assert "several clocks" in result.reason
    assert run_check("list-append", stale, {"model": "serializable"}).valid is True


# Unknown and failed transactions


def test_an_unknown_append_that_nobody_read_forces_nothing() -> None:
    assert check("list-append", "? x+1", "x=", "x=").valid is True


def test_an_unknown_transaction_whose_append_was_read_happened_whole() -> None:
    result = check("list-append", "? x+1 y+1", "x=1 y=")
    assert result.valid is False
    assert "G-single" in result.details["anomalies"]


def test_an_unknown_transaction_may_take_effect_after_its_client_went_on() -> None:
    lines = ("?@a0-1 x+1", "@a2-3 x=", "4-5 x=1")
    assert check("list-append", *lines, model="strict-serializable").valid is True


def test_a_value_written_again_after_a_failure_belongs_to_the_attempt_that_did_not_fail() -> None:
    result = check("list-append", "! x+1", "x+1", "x=1")
    assert result.valid is True
    assert any("again after a failed attempt" in sentence for sentence in result.assumptions)
    assert check("rw-register", "! x:=1", "x:=1", "x->1").valid is True


def test_a_read_of_a_failed_write_says_what_it_may_be() -> None:
    for name, lines in (("list-append", ("! x+1", "x=1")), ("rw-register", ("! x:=1", "x->1"))):
        anomaly = check(name, *lines).anomalies[0]
        assert anomaly.name == "G1a"
        assert "an aborted read or a mislabelled error" in anomaly.sentence


# Doubt


@pytest.mark.parametrize("name", CHECKERS)
def test_no_operations_prove_nothing(name: str) -> None:
    assert run_check(name, History([])).valid == "unknown"


@pytest.mark.parametrize("name", CHECKERS)
def test_writes_alone_prove_nothing(name: str) -> None:
    result = check(name, *(("x+1", "x+2") if name == "list-append" else ("x:=1", "x:=2")))
    assert result.valid == "unknown"
    assert "nothing could be seen" in result.reason


@pytest.mark.parametrize("name", CHECKERS)
def test_a_value_written_twice_is_never_passed_over_in_silence(name: str) -> None:
    lines = ("x+1", "x+1", "x=1") if name == "list-append" else ("x:=1", "x:=1", "x->1")
    result = check(name, *lines)
    assert result.valid == "unknown"
    assert "left out" in result.reason


def test_an_anomaly_on_another_key_stands_though_one_key_is_ambiguous() -> None:
    assert check("list-append", "x+1", "x+1", "x=1", "y+1 z+1", "y=1 z=").valid is False


BROKEN: list[tuple[str, Any, Any]] = [
    ("not a list", 7, 7),
    ("no answer", [["r", "x", None]], None),
    ("another length", [["r", "x", None]], []),
    ("two fields", [["r", "x"]], [["r", "x"]]),
    ("another function", [["cas", "x", 1]], [["cas", "x", 1]]),
    ("another key answered", [["r", "x", None]], [["r", "y", None]]),
    ("no micro-operation", ["r"], ["r"]),
    ("no fields", [None], [None]),
]


@pytest.mark.parametrize("name", CHECKERS)
@pytest.mark.parametrize(("what", "asked", "answered"), BROKEN, ids=[case[0] for case in BROKEN])
def test_a_transaction_of_a_wrong_shape_is_counted_and_a_doubt(
    name: str, what: str, asked: Any, answered: Any
) -> None:
    good = history("x+1", "x=1") if name == "list-append" else history("x:=1", "x->1")
    bad = transaction(9, asked, answered, Outcome.OK, process="p9", start=9, end=1009)
    result = run_check(name, History([*good.operations, bad]))
    assert result.valid == "unknown"
    assert result.ignored["malformed transactions"] == 1
    assert "shape" in result.reason


def test_a_value_that_may_stand_on_an_unreadable_line_is_a_doubt_and_no_anomaly() -> None:
    whole = history("x+1", "x=1,2")
    assert run_check("list-append", whole).valid is False
    torn = replace(whole, completeness=Completeness(unreadable_lines=1))
    result = run_check("list-append", torn)
    assert result.valid == "unknown"
    assert "1 unreadable lines" in result.reason


def test_other_kinds_of_operation_are_passed_over_and_counted() -> None:
    good = history("x+1", "x=1")
    other = replace(good.operations[0], kind="read", index=5)
    assert run_check("list-append", History([*good.operations, other])).ignored == {"kind read": 1}


def test_keys_and_values_may_be_lists() -> None:
    def append(value: Any) -> list[Any]:
        return [["append", ["t", 1], value]]

    operations = [
        transaction(0, append([1]), append([1]), Outcome.OK, process=0, start=0, end=9),
        transaction(1, append([2]), append([2]), Outcome.OK, process=1, start=0, end=9),
        *(
            transaction(
                number, [["r", ["t", 1], None]], [["r", ["t", 1], seen]], Outcome.OK, process=number, start=0, end=9
            )
            for number, seen in ((2, [[1], [2]]), (3, [[2]]))
        ),
    ]  # fmt: skip
    assert run_check("list-append", History(operations[:3])).valid is True
    assert "incompatible-order" in run_check("list-append", History(operations)).details["anomalies"]


def test_transactions_that_overlap_within_a_process_give_no_session_order() -> None:
    result = check("list-append", "@a0-9 x+1", "@a5-12 x=", model="strong-session-serializable")
    assert result.valid is True
    assert any("had ended" in sentence for sentence in result.assumptions)


@pytest.mark.parametrize("name", CHECKERS)
def test_a_spent_budget_is_unknown_with_the_reason(name: str) -> None:
    lines = ("x+1", "x=1") if name == "list-append" else ("x:=1", "x->1")
    result = run_check(name, history(*lines), budget=Budget(time_limit_s=0.0))
    assert result.valid == "unknown"
    assert "time limit" in result.reason


# Registers


def test_open_version_orders_are_settled_by_a_serial_order() -> None:
    result = check("rw-register", "x:=1", "x:=2", "x->1", "x->2")
    assert result.valid is True
    assert result.details["keys_with_open_version_order"] == 1
    assert "explains every read" in result.details["proof"]


def test_what_inference_does_not_see_is_found_by_search() -> None:
    # Two observers that see two blind writes in opposite orders: each order of x and y contradicts one.
    lines = ("x:=1", "x:=2", "x->1 a:=1", "a->1 x->2 b:=1", "b->1 x->1")
    result = check("rw-register", *lines)
    assert result.valid is False
    assert result.anomalies[0].name == "not-serializable"
    assert check("rw-register", *lines, model="read-committed").valid is True


def test_linearizable_keys_find_a_stale_read_that_needs_the_order_of_blind_writes() -> None:
    lines = ("0-1 x:=1", "2-3 x:=2", "4-5 y:=1 x->1", "4-5 y->1")
    assert check("rw-register", *lines).valid is True
    result = check("rw-register", *lines, linearizable_keys=True)
    assert any("linearizable keys" in sentence for sentence in result.assumptions)
    assert "cyclic-versions" in result.details["anomalies"]


def test_sequential_keys_find_a_process_that_goes_back() -> None:
    lines = ("x:=1", "x:=2", "@a10-11 x->1", "@a20-21 x->2", "@a30-31 x->1")
    assert check("rw-register", *lines).valid is True
    result = check("rw-register", *lines, sequential_keys=True)
    assert "cyclic-versions" in result.details["anomalies"]
    assert any("sequential keys" in sentence for sentence in result.assumptions)


def test_the_assumptions_about_version_order_stand_in_the_result() -> None:
    text = " ".join(check("rw-register", "x:=1", "x->1").assumptions)
    assert "initial state" in text
    assert "writes follow reads" in text


def test_a_history_too_large_for_the_search_is_unknown_unless_inference_is_accepted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Blind writers and readers in an order that time does not suggest, so that the guess fails.
    lines = [f"{2 * n}-{10_000 + n} x:={n + 1}" for n in range(201)]
    lines += [f"{5_000 - n}-{30_000 - 2 * n} x->{n + 1} y:={n + 1} z->{n if n else ''} z:={n + 1}"
              for n in range(120)]  # fmt: skip
    assert run_check("rw-register", history(*lines)).valid is True
    monkeypatch.setattr(exact, "MOST_SERIAL", 100)
    result = run_check("rw-register", history(*lines))
    assert result.valid == "unknown"
    assert "leaves the order open" in result.reason
    accepted = run_check("rw-register", history(*lines), {"accept_inferred": True})
    assert accepted.valid is True
    assert any("inference suffices" in sentence for sentence in accepted.assumptions)


def test_an_exact_refutation_shows_few_transactions() -> None:
    lines = ("x-> y:=1", "y-> x:=1", *(f"k{n}:=1" for n in range(20)), *(f"k{n}->1" for n in range(20)))
    result = check("serializable-exact", *lines)
    assert result.valid is False
    assert {operation.index for operation in result.anomalies[0].operations} == {0, 1}
    assert check("snapshot-isolation-exact", *lines).valid is True


def test_an_unknown_order_is_the_callers_error() -> None:
    with pytest.raises(CheckerError, match="no order"):
        check("serializable-exact", "x:=1", order="lamport")


# Evidence


@pytest.mark.parametrize("shape", ["ww ww", "ww wr", "rw ww", "rw ww rw ww", "rw rw", "rw rw process"])
def test_the_operations_of_a_cycle_still_fail_alone_with_what_read_them(shape: str) -> None:
    whole = history_of(shape)
    result = run_check("list-append", whole, {"model": "strict-serializable"})
    named = {operation.index for operation in result.anomalies[0].operations}
    observer = [operation for operation in whole.operations if operation.process == "observer"]
    alone = History([op for op in whole.operations if op.index in named or op in observer])
    assert run_check("list-append", alone, {"model": "strict-serializable"}).valid is False


def test_the_edges_of_the_first_cycle_are_at_hand_for_a_picture() -> None:
    details = check("list-append", "x= y+1", "y= x+1").details
    assert sorted(details["edges"]) == [[0, 1, "rw", "key x: missed 1"], [1, 0, "rw", "key y: missed 1"]]


# Recorded samples


sampled = pytest.mark.skipif(not SAMPLES.is_dir(), reason="no recorded samples beside the checkout")


@sampled
@pytest.mark.parametrize("twin", ["edn", "json"])
def test_the_example_of_the_elle_paper_has_a_single_anti_dependency(twin: str) -> None:
    # T3 read 255 with the 8 of T2 and comes before T4 (256), which read 255 without that 8.
    result = run_check("list-append", load(SAMPLES / "elle-cli" / f"paper-example.{twin}"))
    assert result.valid is False
    assert "G-single" in result.details["anomalies"]
    assert {operation.index for operation in result.anomalies[0].operations} <= {1, 2, 3}


@sampled
@pytest.mark.parametrize("twin", ["edn", "json"])
def test_a_register_sample_reads_a_value_that_nobody_wrote(twin: str) -> None:
    result = run_check("rw-register", load(SAMPLES / "elle-cli" / f"rw-register.{twin}"))
    assert result.valid is False
    assert [anomaly.name for anomaly in result.anomalies] == ["garbage-read"]


def test_reads_of_empty_lists_miss_appends_that_nobody_read() -> None:
    lines = ("@c0-4 d+2 e+5", "@a1-8 b= c= d+0", "@b2-6 c+1 b+4 d=", "@c5-9 b+8", "@b7-10 c+7 d+10")
    result = check("list-append", *lines)
    assert result.valid is False
    assert "G2-item" in result.details["anomalies"]


@sampled
def test_the_sample_of_empty_reads_has_two_adjacent_anti_dependencies() -> None:
    result = run_check("list-append", load(SAMPLES / "elle-cli" / "list-append-gh-30.edn"))
    assert result.valid is False
    assert "G2-item" in result.details["anomalies"]


_LEVELS = ("read-committed", "read-atomic", "causal")
_SESSIONS = sorted((SAMPLES / "awdit").glob("*/*.txt")) if SAMPLES.is_dir() else []


@sampled
@pytest.mark.parametrize("path", _SESSIONS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_folder_names_the_strongest_level_that_holds(path: Path) -> None:
    strongest = _LEVELS.index(path.parent.name) if path.parent.name != "none" else -1
    verdicts = [run_check(level, load(path)).valid for level in _LEVELS]
    assert verdicts == [place <= strongest for place in range(3)]


WEAK = [
    # history, and whether read committed, read atomic and causal consistency hold
    (("x:=1 y:=1", "x->1 y->1"), (True, True, True)),
    (("x:=1 y:=1", "x->1 y->"), (False, False, False)),
    (("x:=1 y:=1", "y-> x->1"), (True, False, False)),
    (("x:=1", "x-> x->1"), (True, False, False)),
    (("x:=1", "x->1 x->"), (False, False, False)),
    (("@a0-1 x:=1", "@a2-3 x->"), (True, False, False)),
    (("@a0-1 x:=1", "@a2-3 x:=2", "@b0-1 x->2", "@b2-3 x->1"), (True, True, False)),
    (("x:=1", "x->1 y:=1", "y->1 x->"), (True, True, False)),
    (("x:=1", "y:=1", "x->1 y->", "y->1 x->"), (True, True, True)),
    (("x-> x:=1", "x-> x:=2"), (True, True, True)),
    (("x->2 y:=1", "y->1 x:=2"), (False, False, False)),
    (("! x:=1", "x->1"), (False, False, False)),
    (("x:=1 x:=2", "x->1"), (False, False, False)),
    (("? x:=1 y:=1", "y-> x->1"), (True, False, False)),
    (("?@a0-1 x:=1", "@a2-3 x->", "x->1"), (True, True, True)),
    (("x:=1 x->",), (False, False, False)),
    (("y:=1 x:=1", "x:=2 z:=2", "y->1 x->1 x->2", "z->2"), (True, False, False)),
    (("y:=1 x:=1", "x:=2 z:=2", "y->1 x->1 x->2", "z->2 x->2 x->1"), (False, False, False)),
]


@pytest.mark.parametrize(("lines", "expected"), WEAK)
def test_weak_levels_by_hand(lines: tuple[str, ...], expected: tuple[bool, ...]) -> None:
    assert tuple(check(level, *lines).valid for level in _LEVELS) == expected
