"""Records that invite a wrong answer: each gets the right one, or `unknown` with the reason."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import pytest

from refute.checkers import CATALOG, CheckerError, run_check
from refute.history import History, Operation, Outcome

NEEDED = {
    "bounded-staleness": {"max_versions": 0},
    "fairness": {"min_jain": 0.5},
    "slo": {"max_error_rate": 0.1},
}


def op(
    process: Any,
    kind: str,
    asked: Any,
    answered: Any,
    start: int,
    end: int | None,
    outcome: str = "ok",
    key: Any = None,
) -> Operation:
    return Operation(0, process, kind, key, asked, answered, Outcome(outcome), start, end)


def write(
    value: Any, start: int, end: int | None, process: Any = 0, outcome: str = "ok", key: Any = None
) -> Operation:
    return op(process, "write", value, None, start, end, outcome, key)


def read(
    value: Any, start: int, end: int | None, process: Any = 1, outcome: str = "ok", key: Any = None
) -> Operation:
    return op(process, "read", None, value, start, end, outcome, key)


def txn(steps: list[Any], start: int, end: int, process: Any) -> Operation:
    asked = [[name, key, None if name == "r" else value] for name, key, value in steps]
    return op(process, "txn", asked, steps, start, end)


def history(*operations: Operation, clock: Any = "monotonic") -> History:
    ordered = sorted(operations, key=lambda o: o.invoked_ns)
    return History([replace(o, index=index) for index, o in enumerate(ordered)], clock=clock)


NAN = float("nan")

LINEARIZABLE: list[tuple[str, list[Operation], dict[str, Any], Any, str]] = [
    ("a number and its text", [write(1, 0, 1), read("1", 2, 3)], {}, False, "garbage read"),
    ("one and true", [write(1, 0, 1), read(True, 2, 3)], {}, False, "garbage read"),
    ("zero and false", [write(0, 0, 1), read(False, 2, 3)], {}, False, "garbage read"),
    ("one and 1.0, which JSON does not tell apart", [write(1, 0, 1), read(1.0, 2, 3)], {}, True, ""),
    ("keys 1 and '1' are two", [write(5, 0, 1, key=1), read(5, 2, 3, key="1")], {"model": "kv"}, False, "garbage read"),
    ("keys 1 and true are two", [write(5, 0, 1, key=1), read(None, 2, 3, key=True)], {"model": "kv"}, True, ""),
    ("not a number", [write(NAN, 0, 1), read(NAN, 2, 3)], {}, True, ""),
    ("beyond 64 bits", [write(2**80, 0, 1), read(2**80, 2, 3)], {}, True, ""),
    ("beyond 64 bits, one off", [write(2**80, 0, 1), read(2**80 + 1, 2, 3)], {}, False, "garbage read"),
    ("what a float cannot hold", [write(2**53 + 1, 0, 1), read(float(2**53), 2, 3)], {}, False, "garbage read"),
    ("nil written over a value", [write(1, 0, 1), write(None, 2, 3), read(1, 4, 5)], {}, False, "stale read"),
    ("a failed write that is read", [write(1, 0, 1, outcome="fail"), read(1, 2, 3)], {}, False, "aborted read"),
    ("an unknown write before its process goes on", [write(1, 0, 5, outcome="info"), read(None, 6, 7, 0), read(1, 8, 9)], {}, True, ""),
    ("unknown operations alone", [write(1, 0, None, outcome="info")], {}, "unknown", "no operation was answered"),
    ("a process that overlaps itself", [write(1, 0, 10), read(None, 2, 3, 0)], {}, True, ""),
    ("an end before the beginning", [write(1, 10, 5), read(None, 20, 21)], {}, "unknown", "before it was invoked"),
    ("an answer without its time", [write(1, 0, 1), read(7, 2, None)], {}, "unknown", "without a time of completion"),
    ("an unknown dequeue took it", [op(0, "enqueue", 1, None, 0, 1), op(1, "dequeue", None, None, 2, 3, "info"),
     op(2, "dequeue", None, None, 5, 6)], {"model": "queue"}, True, ""),
    ("a failed dequeue took nothing", [op(0, "enqueue", 1, None, 0, 1), op(1, "dequeue", None, 1, 2, 3, "fail"),
     op(2, "dequeue", None, None, 5, 6)], {"model": "queue"}, False, "false empty"),
    ("nil in a queue is an element", [op(0, "enqueue", None, None, 0, 1), op(0, "enqueue", 1, None, 2, 3),
     op(1, "dequeue", None, 1, 5, 6)], {"model": "queue"}, False, "not linearizable"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("operations", "options", "valid", "why"),
    [case[1:] for case in LINEARIZABLE],
    ids=[case[0] for case in LINEARIZABLE],
)
def test_linearizable(operations: list[Operation], options: dict[str, Any], valid: Any, why: str) -> None:
    result = run_check("linearizable", history(*operations), options)
    assert result.valid == valid
    assert why in result.reason or why in [anomaly.name for anomaly in result.anomalies]


@pytest.mark.parametrize("value", [0.1, NAN, math.inf, True, "1", [1]])
def test_a_counter_of_other_than_whole_numbers_is_the_callers_fault(value: Any) -> None:
    said = rf"a counter needs (whole )?numbers, not {re.escape(repr(value))}"
    add, added = op(0, "add", value, None, 0, 1), op(0, "add", 1, None, 0, 1)
    with pytest.raises(CheckerError, match=f"operation 0: {said}"):
        run_check("linearizable", history(add, read(1, 2, 3)), {"model": "counter"})
    with pytest.raises(CheckerError, match=f"operation 1: {said}"):
        run_check("linearizable", history(added, read(value, 2, 3)), {"model": "counter"})
    with pytest.raises(CheckerError, match=f"initial: {said}"):
        run_check("linearizable", history(added, read(1, 2, 3)), {"model": "counter", "initial": value})


@pytest.mark.parametrize("model", ["set", "multiset"])
@pytest.mark.parametrize("answer", [None, 0, 1, "true"])
def test_what_a_set_contains_is_answered_by_true_or_false(model: str, answer: Any) -> None:
    look, add = op(0, "contains", 7, answer, 0, 1), op(0, "add", 7, None, 2, 3)
    with pytest.raises(CheckerError, match="operation 0: contains must answer true or false"):
        run_check("linearizable", history(look, add, read([7], 4, 5)), {"model": model})


READS_X, WRITES_X = ["r", "x", None], ["w", "x", 1]


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ([READS_X], None),
        ([READS_X, WRITES_X], [READS_X]),
        ([READS_X], [["r", "y", 1]]),
        ([WRITES_X], [["w", "x", 2]]),
        ([WRITES_X], [["w", "x", True]]),
        ("x", [WRITES_X]),
    ],
)
def test_a_transaction_whose_answer_is_not_told_is_not_judged(asked: Any, answered: Any) -> None:
    first, odd = op(0, "txn", [WRITES_X], [WRITES_X], 0, 1), op(1, "txn", asked, answered, 2, 3)
    with pytest.raises(CheckerError, match="operation 1: the output of a transaction"):
        run_check("linearizable", history(first, odd), {"model": "transactions"})


@pytest.mark.parametrize(("saw", "valid"), [(1, True), (None, False)])
def test_a_transaction_that_only_wrote_needs_no_output(saw: int | None, valid: bool) -> None:
    first, second = op(0, "txn", [WRITES_X], None, 0, 1), op(1, "txn", [READS_X], [["r", "x", saw]], 2, 3)
    assert run_check("linearizable", history(first, second), {"model": "transactions"}).valid is valid


def test_fractions_may_be_off_by_their_rounding() -> None:
    adds = [op(0, "add", 0.1, None, 0, 1), op(0, "add", 0.2, None, 2, 3)]
    assert run_check("counter", history(*adds, read(0.3, 4, 5))).valid is True
    assert run_check("counter", history(*adds, read(0.29, 4, 5))).valid is False


@pytest.mark.parametrize(
    ("checker", "steps"),
    [
        ("rw-register", ([["w", "x", 1]], [["r", "x", True]])),
        ("rw-register", ([["w", 1, 5]], [["r", True, 5]])),
        ("read-committed", ([["w", "x", 0]], [["r", "x", False]])),
        ("serializable-exact", ([["w", "x", 1]], [["r", "x", True]])),
        ("list-append", ([["append", "x", 1]], [["r", "x", [True]]])),
        ("list-append", ([["append", 1, 5]], [["r", True, [5]]])),
        ("list-append", ([["append", "x", True]], [["r", "x", [1]]])),
        ("list-append", ([["append", 1, 5]], [["r", "1", [5]]])),
    ],
)
def test_transactions_take_true_for_no_number(checker: str, steps: tuple[list[Any], list[Any]]) -> None:
    spoilt = history(txn(steps[0], 0, 1, 0), txn(steps[1], 2, 3, 1))
    assert run_check(checker, spoilt).valid is False
    true_to_type = history(txn(steps[0], 0, 1, 0), txn(_as_written(*steps), 2, 3, 1))
    assert run_check(checker, true_to_type).valid is True


def _as_written(written: list[Any], read_back: list[Any]) -> list[Any]:
    ((_, key, value),) = written
    ((_, _, seen),) = read_back
    return [["r", key, [value] if isinstance(seen, list) else value]]


def test_transactions_whose_values_are_bools_are_judged() -> None:
    good = [txn([["append", "x", True]], 0, 1, 0), txn([["append", "x", False]], 2, 3, 0)]
    assert run_check("list-append", history(*good, txn([["r", "x", [True, False]]], 4, 5, 1))).valid is True
    bad = run_check("list-append", history(*good, txn([["r", "x", [True, True]]], 4, 5, 1)))
    assert "duplicate-elements" in bad.details["anomalies"]
    assert "[true true]" in bad.anomalies[0].sentence


def test_times_that_run_backwards_prove_nothing_of_transactions() -> None:
    backwards = history(txn([["append", "x", 1]], 10, 5, 0), txn([["r", "x", []]], 20, 21, 1))
    result = run_check("list-append", backwards, {"model": "strict-serializable"})
    assert result.valid == "unknown"
    assert "no evidence" in result.reason


@pytest.mark.parametrize("checker", CATALOG)
def test_what_proves_nothing_is_unknown_with_a_reason(checker: str) -> None:
    for operations in (
        [],
        [
            write(1, 0, None, outcome="info", key="x"),
            replace(txn([["w", "x", 1]], 0, 1, 1), outcome=Outcome.INFO),
        ],
        [op(0, "no-such-kind", 1, 1, 0, 1)],
        [write(1, 9, 5), read(1, 10, 11)],
        [write(1, 0, 1, outcome="fail"), op(0, "txn", [["w", "x", 1]], None, 2, 3, "fail")],
    ):
        result = run_check(checker, history(*operations), NEEDED.get(checker))
        assert result.valid == "unknown", operations
        assert result.reason


SESSION_ORDER = (
    "read-your-writes",
    "monotonic-reads",
    "monotonic-writes",
    "writes-follow-reads",
    "bounded-staleness",
)


@pytest.mark.parametrize("checker", SESSION_ORDER)
def test_clocks_of_several_processes_order_no_versions(checker: str) -> None:
    """By these clocks 1 is older than 2; the clock of process 0 may be behind."""
    operations = [write(1, 0, 1, 0), write(2, 3, 4, 2), read(2, 5, 6), read(1, 7, 8), read(2, 9, 10)]
    assert run_check(checker, history(*operations, clock="wall"), NEEDED.get(checker)).valid == "unknown"


@pytest.mark.parametrize("checker", ["read-your-writes", "monotonic-reads"])
def test_one_process_s_own_clock_orders_what_it_wrote_itself(checker: str) -> None:
    operations = [write(1, 0, 1, 1), write(2, 3, 4, 1), read(2, 5, 6), read(1, 7, 8)]
    assert run_check(checker, history(*operations, clock="wall")).valid is False


def test_one_id_alone_has_nothing_to_be_equal_to() -> None:
    one = op(0, "generate", None, 7, 0, 1)
    assert run_check("unique-ids", history(one)).valid == "unknown"
    assert run_check("unique-ids", history(one, op(1, "generate", None, "7", 2, 3))).valid is True


def test_all_processes_may_overlap_themselves_or_sequential_says_that_they_do() -> None:
    overlapping = history(write(1, 0, 10), write(2, 1, 2), read(2, 11, 12), read(1, 13, 14))
    result = run_check("sequential", overlapping)
    assert result.valid == "unknown"
    assert "in flight at once" in result.reason or "two operations in flight" in result.reason


@pytest.mark.parametrize("checker", ["set-full", "g-set", "no-phantom"])
@pytest.mark.parametrize("value", [True, [1, 2], {"a": [True]}])
def test_an_anomaly_shows_a_value_as_it_was_recorded(checker: str, value: Any) -> None:
    result = run_check(checker, history(op(0, "add", 7, None, 0, 1), read([7, value], 2, 3)))
    assert result.valid is False
    assert any(f" {value!r}, which nobody " in anomaly.sentence for anomaly in result.anomalies)


def test_values_of_a_stack_are_shown_as_they_were_recorded() -> None:
    calls = [op(0, "push", [1], None, 0, 1), op(0, "push", {"a": True}, None, 2, 3)]
    result = run_check("linearizable", history(*calls, op(0, "pop", None, [1], 4, 5)), {"model": "stack"})
    (anomaly,) = result.anomalies
    assert anomaly.sentence == '{"a": true} was put after [1] and was still there when [1] was taken'


def test_a_partition_is_shown_as_it_was_recorded() -> None:
    polled = op(0, "poll", None, [[0, "a"]], 0, 1)
    (anomaly,) = run_check("kafka-log", history(replace(polled, key=["topic", 1]))).anomalies
    assert anomaly.sentence == "'a' of ['topic', 1] was polled although nobody sent it"


def test_an_anomaly_names_its_object_as_it_was_recorded() -> None:
    reads = [replace(read(value, at, at + 1), key=["a", True]) for at, value in ((0, [1, 2]), (2, [2, 1]))]
    (anomaly,) = run_check("prefix", history(*reads)).anomalies
    assert anomaly.details["key"] == ["a", True]


@pytest.mark.parametrize("answer", [True, 7, 0.5, "x"])
def test_a_feed_that_is_no_list_is_not_judged(answer: Any) -> None:
    whole, odd = op(0, "watch", None, [{"seq": 1, "value": "a"}], 2, 3), op(0, "watch", None, answer, 4, 5)
    result = run_check("change-feed", history(op(1, "write", "a", None, 0, 1), whole, odd))
    assert result.valid == "unknown"
    assert "a read of the feed returned no list of events" in result.reason


@pytest.mark.parametrize("answer", [True, 7, "x"])
def test_polls_that_are_no_list_are_not_judged(answer: Any) -> None:
    sent, polled = op(0, "send", "a", [0, "a"], 0, 1), op(1, "poll", None, {"p": answer}, 2, 3)
    result = run_check("kafka-log", history(replace(sent, key="p"), replace(polled, key=None)))
    assert result.valid == "unknown"
    assert "TypeError" not in result.reason
