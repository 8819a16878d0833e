"""No lost acknowledged write: cases by hand, and registers and queues against a slow truth."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from refute.checkers import CheckerError, run_check
from refute.history import History, Outcome, Phase

from .nightly import many
from .scribe import Scribe

NAME = "no-lost-acknowledged-write"


def verdict(scribe: Scribe, **options: object) -> object:
    return run_check(NAME, scribe.history(), options).valid


def test_a_final_read_of_an_overwritten_value_is_a_lost_write() -> None:
    write = Scribe()
    write(1, "write", 0, 1, key="x", value=1)(1, "write", 2, 3, key="x", value=2)
    write(9, "read", 10, 11, key="x", out=1, final=True, node="n1")
    result = run_check(NAME, write.history())
    assert result.valid is False
    assert result.anomalies[0].name == "lost-write"
    assert [o.input for o in result.anomalies[0].operations] == [1, 2, None]


def test_concurrent_writes_may_have_taken_effect_in_either_order() -> None:
    write = Scribe()
    write(1, "write", 0, 5, key="x", value=1)(2, "write", 4, 8, key="x", value=2)
    write(9, "read", 10, 11, key="x", out=1, final=True)
    assert verdict(write) is True


def test_a_timed_out_write_may_take_effect_after_an_acknowledged_one() -> None:
    write = Scribe()
    write(1, "write", 0, 1, key="x", value=1, outcome="info")(2, "write", 4, 8, key="x", value=2)
    write(9, "read", 10, 11, key="x", out=1, final=True)
    assert verdict(write) is True


def test_the_value_of_a_failed_write_is_an_aborted_read() -> None:
    write = Scribe()
    write(1, "write", 0, 1, key="x", value=1, outcome="fail")(2, "write", 4, 8, key="x", value=2)
    write(9, "read", 10, 11, key="x", out=1, final=True)
    assert run_check(NAME, write.history()).anomalies[0].name == "aborted-read"


def test_an_acknowledged_delete_may_not_be_undone() -> None:
    write = Scribe()
    write(1, "put", 0, 1, key="x", value=1)(1, "delete", 2, 3, key="x")
    assert verdict(write(9, "get", 10, 11, key="x", out=None, final=True)) is True
    assert verdict(write(9, "get", 12, 13, key="x", out=1, final=True)) is False


def test_without_final_reads_nothing_is_proved() -> None:
    write = Scribe()(1, "write", 0, 1, key="x", value=1)(1, "read", 2, 3, key="x", out=1)
    result = run_check(NAME, write.history())
    assert result.valid == "unknown"
    assert "no final read" in result.reason
    assert verdict(write, final="last") is True


def test_without_an_acknowledged_write_nothing_is_proved() -> None:
    write = Scribe()(1, "write", 0, 1, key="x", value=1, outcome="fail")
    assert "acknowledged" in run_check(NAME, write(2, "read", 5, 6, key="x", final=True).history()).reason


def test_one_key_without_a_final_read_makes_the_answer_unknown() -> None:
    write = Scribe()(1, "write", 0, 1, key="x", value=1)(1, "write", 2, 3, key="y", value=2)
    assert verdict(write(9, "read", 10, 11, key="x", out=1, final=True)) == "unknown"
    assert verdict(write(9, "read", 12, 13, key="y", out=2, final=True)) is True


def test_a_set_must_hold_every_acknowledged_element_on_every_node() -> None:
    write = Scribe()(1, "add", 0, 1, value=1)(1, "add", 2, 3, value=2)(
        1, "add", 4, 5, value=3, outcome="info"
    )
    write(9, "read", 10, 11, out=[1, 2], node="n1", final=True)
    assert verdict(write) is True
    write(9, "read", 12, 13, out=[1], node="n2", final=True)
    result = run_check(NAME, write.history())
    assert result.valid is False
    assert [o.input for o in result.anomalies[0].operations] == [2, None]
    assert verdict(write, require="any-node") is True
    assert verdict(write, require="quorum") is False
    write(9, "read", 14, 15, out=[1, 2, 3], node="n3", final=True)
    assert verdict(write, require="quorum") is True


def test_a_node_that_never_answers_leaves_the_answer_open() -> None:
    write = Scribe()(1, "add", 0, 1, value=1)(9, "read", 10, 11, out=[1], node="n1", final=True)
    write(9, "read", 12, 13, node="n2", final=True, outcome="info")
    assert verdict(write) == "unknown"
    assert verdict(write, require="any-node") is True


def test_a_removed_element_is_not_lost() -> None:
    write = Scribe()(1, "add", 0, 1, value=1)(2, "remove", 2, 3, value=1, outcome="info")
    assert verdict(write(9, "read", 10, 11, out=[], final=True)) is True
    write = Scribe()(2, "remove", 0, 1, value=1)(1, "add", 2, 3, value=1)
    assert verdict(write(9, "read", 10, 11, out=[], final=True)) is False


def test_a_counter_below_what_was_acknowledged_lost_something() -> None:
    write = Scribe()(1, "add", 0, 1, value=2, key="c")(1, "add", 2, 3, value=3, key="c")
    write(1, "add", 4, 5, value=7, key="c", outcome="info")
    assert verdict(write(9, "read", 10, 11, key="c", out=5, final=True)) is True
    assert verdict(write(9, "read", 12, 13, key="c", out=4, final=True)) is False


def test_a_queue_that_was_emptied_without_handing_an_element_out_lost_it() -> None:
    write = Scribe()(1, "enqueue", 0, 1, value=1)(1, "enqueue", 2, 3, value=2)(2, "dequeue", 4, 5, out=1)
    assert verdict(write) == "unknown"
    write(2, "dequeue", 6, 7, out=None)
    assert verdict(write) is False
    write(3, "dequeue", 4, None, outcome="info")
    assert verdict(write) is True


def test_rows_are_recognised_by_their_id() -> None:
    write = Scribe()(1, "insert", 0, 1, key="o1", value=5)(1, "insert", 2, 3, key="o2", value=5)
    rows = [{"id": "o1", "amount": 5}, {"id": "o2", "amount": 5}]
    assert verdict(write(9, "list", 10, 11, out=rows, final=True)) is True
    assert verdict(write(9, "list", 12, 13, out=rows[:1], final=True)) is False


def test_a_whole_map_is_a_read_of_every_key() -> None:
    write = Scribe()(1, "put", 0, 1, key="a", value=1)(1, "put", 2, 3, key="b", value=2)
    assert verdict(write(9, "read-all", 10, 11, out={"a": 1, "b": 2}, final=True)) is True
    assert verdict(write(9, "read-all", 12, 13, out={"a": 1}, final=True)) is False


def test_wall_clocks_do_not_order_the_writes_of_a_register() -> None:
    write = Scribe()(1, "write", 0, 1, key="x", value=1)(2, "write", 2, 3, key="x", value=2)
    history = write(9, "read", 10, 11, key="x", out=1, final=True).history(clock="wall")
    assert run_check(NAME, history).valid == "unknown"


def test_other_kinds_are_mapped_by_an_option() -> None:
    write = Scribe()(1, "deposit", 0, 1, value="d1")(9, "statement", 10, 11, out=[], final=True)
    assert verdict(write) == "unknown"
    assert verdict(write, write_kinds=["deposit"], read_kinds={"statement": "read"}) is False
    with pytest.raises(CheckerError, match="no kind"):
        verdict(write, write_kinds={"deposit": "nonsense"})


def small_register(rng: random.Random) -> History:
    """Up to five writes of few values, then one final read of any of them."""
    write = Scribe()
    for process in range(rng.randint(1, 5)):
        start = rng.randrange(20)
        outcome = rng.choice(["ok", "ok", "ok", "info", "fail"])
        end = start + rng.randint(1, 8)
        write(process, "write", start, end, value=rng.randrange(4), outcome=outcome)
    start = rng.randrange(5, 40)
    return write(9, "read", start, start + 3, out=rng.choice([None, 0, 1, 2, 3]), final=True).history()


def register_truth(history: History) -> bool:
    """Tries every order of every choice of unknown writes."""
    (read,) = (o for o in history.operations if o.phase is Phase.FINAL)
    writes = [o for o in history.operations if o.kind == "write" and o.outcome is not Outcome.FAIL]
    sure = [o for o in writes if o.outcome is Outcome.OK]
    unknown = [o for o in writes if o.outcome is Outcome.INFO]
    for count in range(len(unknown) + 1):
        for chosen in itertools.combinations(unknown, count):
            for order in itertools.permutations([*sure, *chosen, read]):
                position = {id(o): place for place, o in enumerate(order)}
                real_time = all(
                    position[id(a)] < position[id(b)]
                    for a in order
                    for b in order
                    if a.outcome is Outcome.OK and (a.completed_ns or 0) < b.invoked_ns
                )
                at = position[id(read)]
                if real_time and (order[at - 1].input if at else None) == read.output:
                    return True
    return False


def fuzz_registers(seeds: range) -> tuple[int, int]:
    seen = [0, 0]
    for seed in seeds:
        rng = random.Random(seed)
        history = small_register(rng)
        read = next(o for o in history.operations if o.kind == "read")
        if not any(
            o.outcome is Outcome.OK and (o.completed_ns or 0) < read.invoked_ns
            for o in history.operations
            if o.kind == "write"
        ):
            continue
        truth = register_truth(history)
        assert run_check(NAME, history).valid is truth, history
        seen[truth] += 1
    return seen[0], seen[1]


def test_registers_agree_with_every_order_of_the_writes() -> None:
    false, true = fuzz_registers(range(3_000))
    assert false > 300
    assert true > 300


@many()
def test_registers_agree_with_every_order_of_the_writes_at_length(seeds: range) -> None:
    false, true = fuzz_registers(seeds)
    assert min(false, true) > 400


def small_set(rng: random.Random) -> History:
    """Adds and removals of few elements, then one final read a node."""
    write = Scribe()
    for process in range(rng.randint(1, 5)):
        start = rng.randrange(20)
        kind = rng.choice(["add", "add", "add", "remove"])
        outcome = rng.choice(["ok", "ok", "info", "fail"])
        write(process, kind, start, start + rng.randint(1, 8), value=rng.randrange(3), outcome=outcome)
    for number in range(rng.randint(1, 2)):
        start = rng.randrange(15, 40)
        out = [value for value in range(3) if rng.random() < 0.6]
        write(9, "read", start, start + 1, out=out, node=f"n{number}", final=True)
    return write.history()


def set_truth(history: History) -> bool:
    """Tries every order of every choice of unknown operations, for each read and element alone."""
    for read in (o for o in history.operations if o.phase is Phase.FINAL):
        for value in range(3):
            own = [o for o in history.operations if o.input == value and o.outcome is not Outcome.FAIL]
            acked = [o for o in own if o.kind == "add" and o.outcome is Outcome.OK]
            if value in read.output or not acked:
                continue
            if not any(_absent(order, read) for order in _orders(own, read)):
                return False
    return True


def _orders(own: list[Any], read: Any) -> list[tuple[Any, ...]]:
    sure = [o for o in own if o.outcome is Outcome.OK]
    unknown = [o for o in own if o.outcome is Outcome.INFO]
    found = []
    for count in range(len(unknown) + 1):
        for chosen in itertools.combinations(unknown, count):
            for order in itertools.permutations([*sure, *chosen, read]):
                place = {id(o): n for n, o in enumerate(order)}
                if all(
                    place[id(a)] < place[id(b)]
                    for a in order
                    for b in order
                    if a.outcome is Outcome.OK and (a.completed_ns or 0) < b.invoked_ns
                ):
                    found.append(order)
    return found


def _absent(order: tuple[Any, ...], read: Any) -> bool:
    there = False
    for o in order:
        if o is read:
            return not there
        there = o.kind == "add"
    return False


def fuzz_sets(seeds: range) -> list[int]:
    seen = [0, 0]
    for seed in seeds:
        rng = random.Random(seed)
        history = small_set(rng)
        result = run_check(NAME, history)
        truth = set_truth(history)
        if result.valid == "unknown":
            assert truth, history.operations
            continue
        assert result.valid is truth, history.operations
        seen[truth] += 1
    return seen


def test_sets_agree_with_every_order_of_adds_and_removals() -> None:
    assert min(fuzz_sets(range(3_000))) > 300


def small_queue(rng: random.Random) -> History:
    """Few enqueues of few values, dequeues, and an empty dequeue at the end."""
    write = Scribe()
    for process in range(rng.randint(1, 4)):
        outcome = rng.choice(["ok", "ok", "ok", "info", "fail"])
        write(process, "enqueue", process, process + 1, value=rng.randrange(3), outcome=outcome)
    for process in range(10, 10 + rng.randint(0, 3)):
        if rng.random() < 0.3:
            write(process, "dequeue", 20, None, outcome="info")
        else:
            write(process, "dequeue", 20 + process, 21 + process, out=rng.randrange(3))
    return write(9, "dequeue", 90, 91, out=None).history()


def queue_truth(history: History) -> bool:
    """Tries to hand each acknowledged element to a dequeue that returned it, or to an unknown one."""
    acked = [o.input for o in history.operations if o.kind == "enqueue" and o.outcome is Outcome.OK]
    handed = [o.output for o in history.operations if o.kind == "dequeue" and o.output is not None]
    unknown = sum(o.kind == "dequeue" and o.outcome is Outcome.INFO for o in history.operations)
    for value in acked:
        if value in handed:
            handed.remove(value)
        else:
            unknown -= 1
    return unknown >= 0


def fuzz_queues(seeds: range) -> list[int]:
    seen = [0, 0]
    for seed in seeds:
        rng = random.Random(seed)
        history = small_queue(rng)
        if not any(o.kind == "enqueue" and o.outcome is Outcome.OK for o in history.operations):
            continue
        truth = queue_truth(history)
        assert run_check(NAME, history).valid is truth, history.operations
        seen[truth] += 1
    return seen


def test_queues_agree_with_handing_out_one_by_one() -> None:
    assert min(fuzz_queues(range(3_000))) > 300


@many()
def test_queues_agree_with_handing_out_one_by_one_at_length(seeds: range) -> None:
    assert min(fuzz_queues(seeds)) > 400


@many()
def test_sets_agree_with_every_order_of_adds_and_removals_at_length(seeds: range) -> None:
    assert min(fuzz_sets(seeds)) > 400
