"""Exactly once: cases by hand, and counters against every choice of unknown requests."""

from __future__ import annotations

import itertools
import random

from refute.checkers import run_check
from refute.history import History, Outcome

from .nightly import how_often, many
from .scribe import Scribe

NAME = "exactly-once"


def verdict(scribe: Scribe, **options: object) -> object:
    return run_check(NAME, scribe.history(), options).valid


def names(scribe: Scribe, **options: object) -> set[str]:
    return {anomaly.name for anomaly in run_check(NAME, scribe.history(), options).anomalies}


def retried(final: object) -> Scribe:
    """A request that timed out and was sent again, and one that was sent once."""
    write = Scribe()
    write(1, "add", 0, 5, key="c", value=3, outcome="info", idempotency_key="a")
    write(1, "add", 6, 7, key="c", value=3, idempotency_key="a")
    write(1, "add", 8, 9, key="c", value=4, idempotency_key="b")
    return write(9, "read", 20, 21, key="c", out=final, final=True)


def test_a_retried_increment_counts_once() -> None:
    assert verdict(retried(7)) is True
    assert names(retried(10)) == {"duplicate-effect"}
    assert names(retried(4)) == {"missing-effect"}


def test_an_unknown_request_counts_once_or_not_at_all() -> None:
    def history(final: int) -> Scribe:
        write = Scribe()(1, "add", 0, 1, key="c", value=5, idempotency_key="a")
        write(2, "add", 0, 1, key="c", value=4, idempotency_key="b", outcome="info")
        return write(9, "read", 20, 21, key="c", out=final, final=True)

    assert [verdict(history(final)) for final in (5, 9, 7, 13)] == [True, True, False, False]
    assert names(history(7)) == {"inexact-effect"}


def test_an_element_that_is_there_twice_was_done_twice() -> None:
    write = Scribe()(1, "append", 0, 1, key="l", value="p", idempotency_key="a", outcome="info")
    write(1, "append", 2, 3, key="l", value="p", idempotency_key="a")
    assert verdict(write(9, "read", 10, 11, key="l", out=["p"], final=True)) is True
    write(9, "read", 12, 13, key="l", out=["p", "p"], final=True)
    assert names(write) == {"duplicate-effect"}


def test_two_requests_may_have_the_same_value() -> None:
    write = Scribe()(1, "append", 0, 1, key="l", value="p", idempotency_key="a")
    write(1, "append", 2, 3, key="l", value="p", idempotency_key="b")
    assert verdict(write(9, "read", 10, 11, key="l", out=["p", "p"], final=True)) is True


def test_rows_of_a_table_are_counted_by_key() -> None:
    write = Scribe()(1, "insert", 0, 1, key="o1", value={"sum": 5}, outcome="info")
    write(1, "insert", 2, 3, key="o1", value={"sum": 5})(1, "insert", 4, 5, key="o2", value={"sum": 5})
    rows = [{"key": "o1", "sum": 5}, {"key": "o2", "sum": 5}]
    assert verdict(write(9, "list", 10, 11, out=rows, final=True)) is True
    assert names(write(9, "list", 12, 13, out=[*rows, rows[0]], final=True)) == {"duplicate-effect"}


def test_the_effect_of_a_failed_request_is_named() -> None:
    write = Scribe()(1, "append", 0, 1, value="p", outcome="fail")(1, "append", 2, 3, value="q")
    assert names(write(9, "read", 10, 11, out=["q", "p"], final=True)) == {"effect-of-failed"}
    assert names(write(9, "read", 12, 13, out=["q", "z"], final=True)) == {"phantom"}


def test_an_element_is_handed_out_once() -> None:
    write = Scribe()(1, "enqueue", 0, 1, value=1)(2, "dequeue", 2, 3, out=1)(2, "dequeue", 4, 5, out=None)
    assert verdict(write) is True
    assert names(write(3, "dequeue", 6, 7, out=1)(3, "dequeue", 8, 9)) == {"duplicate-effect"}


def test_attempts_of_one_request_are_answered_alike_where_that_is_promised() -> None:
    write = Scribe()(1, "append", 0, 1, value="p", idempotency_key="a", out="id-1")
    write(1, "append", 2, 3, value="p", idempotency_key="a", out="id-2")
    write(9, "read", 10, 11, out=["p"], final=True)
    assert verdict(write) is True
    assert names(write, same_answer=True) == {"different-answers"}


def test_without_final_reads_nothing_is_proved() -> None:
    write = Scribe()(1, "add", 0, 1, key="c", value=5, idempotency_key="a")
    assert verdict(write) == "unknown"
    assert verdict(write(9, "read", 4, 5, key="c", outcome="fail", final=True)) == "unknown"


def test_replacing_writes_cannot_be_counted() -> None:
    write = Scribe()(1, "put", 0, 1, key="c", value=5, idempotency_key="a")
    assert verdict(write(9, "read", 4, 5, key="c", out=5, final=True)) == "unknown"


def counter_truth(history: History, value: int) -> bool:
    """Tries every choice of the unknown requests."""
    by_key: dict[str, list[tuple[Outcome, int]]] = {}
    for operation in history.operations:
        if operation.kind == "add":
            by_key.setdefault(operation.extra["idempotency_key"], []).append(
                (operation.outcome, operation.input)
            )
    choices = []
    for attempts in by_key.values():
        amount = attempts[0][1]
        outcomes = {outcome for outcome, _ in attempts}
        if Outcome.OK in outcomes:
            choices.append((amount,))
        elif Outcome.INFO in outcomes:
            choices.append((0, amount))
    return any(sum(choice) == value for choice in itertools.product(*choices))


def compared(rng: random.Random) -> bool | None:
    write = Scribe()
    amounts = {name: rng.randint(-3, 6) for name in "abcde"}
    for at in range(rng.randint(1, 8)):
        name = rng.choice("abcde")
        outcome = rng.choice(["ok", "info", "info", "fail"])
        write(at, "add", at, at + 1, key="c", value=amounts[name], outcome=outcome, idempotency_key=name)
    value = rng.randint(-6, 15)
    history = write(9, "read", 50, 51, key="c", out=value, final=True).history()
    if all(o.outcome is Outcome.FAIL for o in history.operations if o.kind == "add"):
        return None
    truth = counter_truth(history, value)
    assert run_check(NAME, history).valid is truth
    return truth


def test_counters_agree_with_every_choice_of_unknown_requests() -> None:
    assert min(how_often(compared, range(3_000))) > 300


@many()
def test_counters_agree_with_every_choice_of_unknown_requests_at_length(seeds: range) -> None:
    assert min(how_often(compared, seeds)) > 400


def list_truth(history: History) -> bool:
    """Every element is there as often as some choice of the unknown requests makes it."""
    read = history.operations[-1]
    requests: dict[tuple[str, str], set[Outcome]] = {}
    for o in history.operations:
        if o.kind == "append":
            requests.setdefault((o.input, o.extra["idempotency_key"]), set()).add(o.outcome)
    for value in {*read.output, *(value for value, _ in requests)}:
        outcomes = [found for (name, _), found in requests.items() if name == value]
        sure = sum(Outcome.OK in found for found in outcomes)
        most = sure + sum(Outcome.OK not in found and Outcome.INFO in found for found in outcomes)
        if not sure <= read.output.count(value) <= most:
            return False
    return True


def compared_lists(rng: random.Random) -> bool | None:
    write = Scribe()
    owner = {name: rng.choice("xyz") for name in "abc"}
    expected = []
    for at in range(rng.randint(1, 6)):
        name = rng.choice("abc")
        outcome = rng.choice(["ok", "ok", "info", "fail"])
        write(at, "append", at, at + 1, key="l", value=owner[name], outcome=outcome, idempotency_key=name)
        expected += [owner[name]] if rng.random() < 0.5 else []
    history = write(9, "read", 50, 51, key="l", out=expected, final=True).history()
    if all(o.outcome is Outcome.FAIL for o in history.operations if o.kind == "append"):
        return None
    truth = list_truth(history)
    assert run_check(NAME, history).valid is truth, history.operations
    return truth


def test_lists_agree_with_every_choice_of_unknown_requests() -> None:
    assert min(how_often(compared_lists, range(3_000))) > 300


@many()
def test_lists_agree_with_every_choice_of_unknown_requests_at_length(seeds: range) -> None:
    assert min(how_often(compared_lists, seeds)) > 400
