"""What the linearizability checker says, on histories that were worked out by hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from refute.checkers import Budget, CheckerError, run_check
from refute.history import Completeness, History, Operation, Outcome

MS = 1_000_000


def op(
    process: int, kind: str, value: Any, start: int, end: int | None, outcome: str = "ok", key: Any = "x"
) -> Operation:
    """A read's value is its output, anything else's its input; times in ms."""
    reads = kind in ("read", "get")
    return Operation(
        0,
        process,
        kind,
        key,
        None if reads else value,
        value if reads else None,
        Outcome(outcome),
        start * MS,
        None if end is None else end * MS,
    )


def history(*operations: Operation, clock: Any = "monotonic", **more: Any) -> History:
    from dataclasses import replace

    ordered = sorted(operations, key=lambda operation: operation.invoked_ns)
    return History([replace(one, index=n) for n, one in enumerate(ordered)], clock=clock, **more)


def check(*operations: Operation, **options: Any) -> Any:
    return run_check("linearizable", history(*operations), options)


def test_a_stale_read_is_named_with_the_write_that_it_missed() -> None:
    result = check(
        op(0, "write", 3, 0, 10),
        op(0, "write", 4, 20, 30),
        op(1, "read", 3, 42, 50),
        op(1, "read", 4, 60, 70),
    )
    assert result.valid is False
    (anomaly,) = result.anomalies
    assert anomaly.name == "stale read"
    assert anomaly.sentence == 'read of "x" returned 3 although 4 was acknowledged 12 ms before it began'
    assert [one.index for one in anomaly.operations] == [0, 1, 2]


def test_a_read_that_overlaps_the_write_may_return_the_old_value() -> None:
    assert check(op(0, "write", 3, 0, 10), op(0, "write", 4, 20, 30), op(1, "read", 3, 25, 50)).valid is True


def test_an_operation_that_begins_as_another_ends_overlaps_it() -> None:
    assert check(op(0, "write", 3, 0, 10), op(1, "read", None, 10, 20)).valid is True
    assert check(op(0, "write", 3, 0, 10), op(1, "read", None, 11, 20)).valid is False


def test_a_timed_out_write_may_have_happened() -> None:
    assert check(op(0, "write", 3, 0, None, "info"), op(1, "read", 3, 5, 6)).valid is True


def test_a_timed_out_write_may_never_have_happened() -> None:
    assert check(op(0, "write", 3, 0, None, "info"), op(1, "read", None, 5, 6)).valid is True


def test_a_timed_out_write_may_happen_long_after_the_client_gave_up() -> None:
    assert (
        check(
            op(0, "write", 3, 0, 1, "info"),
            op(1, "write", 4, 5, 6),
            op(1, "read", 4, 7, 8),
            op(1, "read", 3, 90, 91),
        ).valid
        is True
    )


def test_a_timed_out_write_cannot_happen_twice() -> None:
    result = check(
        op(0, "write", 3, 0, 1, "info"),
        op(1, "read", 3, 5, 6),
        op(1, "write", 4, 7, 8),
        op(1, "read", 3, 9, 10),
    )
    assert result.valid is False
    assert result.anomalies[0].name == "stale read"
    assert "4, which replaced it" in result.anomalies[0].sentence
    assert len(result.anomalies[0].operations) == 4


def test_a_failed_write_whose_value_is_read_is_named() -> None:
    result = check(op(0, "write", 3, 0, 1, "fail"), op(1, "read", 3, 5, 6))
    assert result.valid is False
    assert result.anomalies[0].name == "aborted read"
    assert "wrongly called a failure" in result.anomalies[0].sentence
    assert len(result.anomalies[0].operations) == 2


def test_a_value_that_nobody_wrote_is_named() -> None:
    result = check(op(0, "write", 3, 0, 1), op(1, "read", 7, 5, 6))
    assert result.anomalies[0].name == "garbage read"
    assert result.anomalies[0].sentence == 'read of "x" returned 7, which nobody had written'


def test_a_read_before_its_write_is_named() -> None:
    result = check(op(1, "read", 3, 0, 1), op(0, "write", 3, 13, 14))
    assert result.anomalies[0].name == "future read"
    assert "12 ms before anybody began to write it" in result.anomalies[0].sentence


def test_two_reads_that_go_back_in_time_are_named() -> None:
    result = check(
        op(0, "write", 1, 0, 100), op(1, "write", 2, 0, 100), op(2, "read", 2, 10, 20),
        op(2, "read", 1, 30, 40), op(2, "read", 2, 50, 60),
    )  # fmt: skip
    assert result.valid is False
    assert len(result.anomalies[0].operations) <= 5


def test_two_compare_and_sets_cannot_both_win() -> None:
    result = check(
        op(0, "write", 1, 0, 1),
        op(1, "cas", [1, 2], 10, 20),
        op(2, "cas", [1, 3], 10, 20),
        model="cas-register",
    )
    assert result.valid is False
    assert result.anomalies[0].name == "lost update"
    assert len(result.anomalies[0].operations) == 3


def test_a_compare_and_set_from_an_old_value_is_a_lost_update() -> None:
    result = check(op(0, "write", 1, 0, 1), op(0, "write", 4, 2, 3), op(1, "cas", [1, 2], 10, 20))
    assert result.anomalies[0].name == "lost update"
    assert "although 4 was acknowledged 7 ms before it began" in result.anomalies[0].sentence


def test_a_missed_compare_and_set_says_what_the_register_was_not() -> None:
    from dataclasses import replace

    missed = replace(op(1, "cas", [1, 2], 10, 20), output=False)
    assert check(op(0, "write", 1, 0, 1), missed).valid is False
    assert check(op(0, "write", 3, 0, 1), missed).valid is True
    assert check(op(0, "write", 1, 0, 1), op(0, "write", 3, 2, None, "info"), missed).valid is True


def test_a_failed_compare_and_set_says_nothing() -> None:
    assert check(op(0, "write", 1, 0, 1), op(1, "cas", [1, 2], 10, 20, "fail")).valid is True


def test_keys_are_independent() -> None:
    result = check(
        op(0, "write", 1, 0, 1, key="x"), op(0, "write", 2, 2, 3, key="y"), op(1, "read", None, 5, 6, key="x")
    )
    assert result.valid is False
    assert {one.key for one in result.anomalies[0].operations} == {"x"}
    assert result.consumed == {"operations": 3, "ok": 3, "info": 0, "keys": 2}


def test_true_is_not_one() -> None:
    assert check(op(0, "write", 1, 0, 1), op(1, "read", True, 5, 6)).valid is False
    assert check(op(0, "write", 1, 0, 1), op(1, "read", 1.0, 5, 6)).valid is True


def test_a_deleted_key_reads_as_nothing() -> None:
    gone = op(0, "delete", None, 2, 3)
    assert check(op(0, "put", 1, 0, 1), gone, op(1, "get", None, 5, 6), model="kv").valid is True
    assert check(op(0, "put", 1, 0, 1), gone, op(1, "get", 1, 5, 6), model="kv").valid is False


def test_appends_build_a_value() -> None:
    first, second = op(0, "append", "a", 0, 1), op(0, "append", "b", 2, 3)
    assert check(first, second, op(1, "get", "ab", 5, 6), model="kv").valid is True
    assert check(first, second, op(1, "get", "ba", 5, 6), model="kv").valid is False
    assert check(op(1, "get", "", 0, 1), op(0, "append", "a", 2, 3), model="kv").valid is True


def test_the_initial_value_is_what_was_said() -> None:
    read = op(1, "read", 0, 5, 6)
    assert check(read).valid is False
    assert check(read, initial=0).valid is True
    assert check(read, unknown_initial=True).valid is True
    assert check(read, op(1, "read", 1, 7, 8), unknown_initial=True).valid is False


def test_several_clocks_decide_nothing() -> None:
    stale = history(op(0, "write", 3, 0, 10), op(1, "read", None, 20, 30), clock="wall")
    result = run_check("linearizable", stale)
    assert result.valid == "unknown"
    assert "several clocks" in result.reason


def test_several_clocks_still_show_what_no_clock_can_excuse() -> None:
    back = history(
        op(0, "write", 3, 0, 10), op(0, "read", 3, 20, 30), op(0, "read", None, 40, 50), clock="wall"
    )
    result = run_check("linearizable", back)
    assert result.valid is False
    assert result.checker == "linearizable"
    assert "several clocks" in result.assumptions[0]


def test_lines_that_could_not_be_read_leave_no_verdict() -> None:
    lost = history(op(1, "read", 3, 20, 30), completeness=Completeness(unreadable_lines=2))
    result = run_check("linearizable", lost)
    assert result.valid == "unknown"
    assert "2 lines" in result.reason


def test_operations_that_the_model_does_not_know_leave_no_verdict() -> None:
    result = check(op(0, "write", 1, 0, 1), op(0, "increment", 1, 2, 3), op(1, "read", 2, 5, 6))
    assert result.valid == "unknown"
    assert "'increment'" in result.reason
    elsewhere = check(op(0, "write", 1, 0, 1), op(0, "increment", 1, 2, 3, key="n"), op(1, "read", 1, 5, 6))
    assert elsewhere.valid is True
    assert sum(elsewhere.ignored.values()) == 1


def test_nothing_consumed_proves_nothing() -> None:
    assert check().valid == "unknown"
    assert check(op(0, "write", 1, 0, 1, "fail")).valid == "unknown"


def test_wrong_options_are_the_callers_fault() -> None:
    with pytest.raises(CheckerError, match="no model 'regster'"):
        check(op(0, "read", None, 0, 1), model="regster")
    with pytest.raises(CheckerError, match="compare-and-set needs"):
        check(op(0, "cas", 5, 0, 1))


def explosive(clients: int) -> History:
    """Compare-and-sets that all overlap: an order is an Eulerian walk, and there are too many to try."""
    edges = [[client * 5 % 7, (client * 3 + client // 7 + 1) % 7] for client in range(clients)]
    winners = [
        op(client, "cas", edge, client, 100) for client, edge in enumerate(edges) if edge[0] != edge[1]
    ]
    return history(
        *winners, op(0, "write", 0, -2, -1), op(99, "read", 8, 200, 300), op(98, "write", 8, 0, 100)
    )


def test_a_budget_ends_in_unknown_with_the_reason() -> None:
    timed = run_check("linearizable", explosive(40), budget=Budget(0.3, None))
    assert timed.valid == "unknown"
    assert timed.reason == "the time limit of 0.3 s is used up"
    tight = run_check("linearizable", explosive(40), budget=Budget(60.0, 5_000_000))
    assert tight.valid == "unknown"
    assert tight.reason == "the memory limit of 5 MB is used up"


def test_a_memory_limit_is_kept() -> None:
    program = (
        "import resource\n"
        "from tests.checkers.test_linearizable import explosive\n"
        "from refute.checkers import Budget, run_check\n"
        "tried = explosive(60)\n"
        "run_check('linearizable', explosive(4))\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "result = run_check('linearizable', tried, budget=Budget(60.0, 60_000_000))\n"
        "assert 'memory limit' in result.reason, result.reason\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True
    )
    unit = 1 if sys.platform == "darwin" else 1024
    assert int(done.stdout) * unit < 66_000_000
