"""Counters, sets, queues, stacks, logs, locks, leases, transactions, and models that a person wrote."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from refute.checkers import CheckerError, run_check
from refute.history import History, Operation, Outcome
from tests.checkers import brute_force, plain_objects, small_histories
from tests.checkers.nightly import many
from tests.checkers.test_linearizable import check, history, op

OBJECTS = [
    "counter", "set", "set-by-element", "set-grown", "multiset", "multiset-grown", "queue", "queue-repeated", "stack", "priority-queue",
    "log", "log-unique", "transactions", "transactions-unique", "lock",
]  # fmt: skip
KINDS = {
    "counter": ["add", "sub", "read", "read", "add-and-get", "get-and-add"],
    "set": ["add", "remove", "contains", "read"],
    "set-by-element": ["add", "remove", "contains"],
    "set-grown": ["add", "add", "contains", "read"],
    "multiset": ["add", "remove", "contains", "read"],
    "multiset-grown": ["add", "add", "contains", "read"],
    "queue": ["enqueue", "dequeue"],
    "queue-repeated": ["enqueue", "dequeue"],
    "stack": ["push", "pop"],
    "priority-queue": ["insert", "delete-min"],
    "log": ["append", "read", "read-all"],
    "log-unique": ["append", "append", "read-all"],
    "transactions": ["txn"],
    "transactions-unique": ["txn"],
}


def small(rng: random.Random, name: str) -> History:
    plain = (
        name.removesuffix("-by-element")
        .removesuffix("-repeated")
        .removesuffix("-grown")
        .removesuffix("-unique")
    )
    fresh = itertools.count(1)
    spare = rng.random()

    def micro(rng: random.Random) -> list[Any]:
        kind = rng.choice(["r", "r", "w", "append"])
        key = rng.choice("xy") if kind == "r" else {"w": "x", "append": "y"}[kind]
        value = next(fresh) if name.endswith("-unique") else rng.randrange(3)
        return [kind, key, None if kind == "r" else value]

    def misread(rng: random.Random, micro: list[Any]) -> Any:
        some = rng.randint(1, 6) if name.endswith("-unique") else 1
        shorter = (micro[2][:-1] or None) if isinstance(micro[2], list) else None
        return rng.choice([shorter, micro[2], some if micro[1] == "x" else [some]])

    def make(rng: random.Random) -> tuple[str, Any, Any]:
        kind = rng.choice(KINDS[name])
        if kind in ("dequeue", "pop", "delete-min", "read-all") or (kind == "read" and name != "log"):
            return kind, None, None
        if kind == "txn":
            return kind, None, [micro(rng) for _ in range(rng.randint(1, 3))]
        if (
            name in ("queue", "stack")
            or (kind in ("add", "append") and name.endswith(("-grown", "-unique")))
            or (name == "priority-queue" and spare < 0.7)
        ):
            return kind, None, next(fresh)
        return kind, None, rng.randrange(3)

    def spoil(rng: random.Random, kind: str, output: Any) -> Any:
        if kind == "txn":
            return [[m[0], m[1], misread(rng, m) if m[0] == "r" else m[2]] for m in output]
        if isinstance(output, bool):
            return rng.choice([None, not output]) if kind != "contains" else not output
        if isinstance(output, list):
            return rng.choice([output[1:], [*output, 2], output[::-1]])
        if kind in ("enqueue", "push", "insert", "add", "sub", "remove") or name == "log-unique":
            return None
        return rng.choice([None, 0, 1, 2, 3]) if name != "counter" else rng.randrange(-1, 4)

    def run(state: Any, kind: str, value: Any) -> tuple[Any, Any]:
        after, answer = plain_objects.run(plain, state, kind, value)
        return after, None if name == "log-unique" and kind == "append" else answer

    initial = plain_objects.FIRST.get(plain, ())
    return small_histories.history(
        rng,
        make,
        run,
        spoil,
        initial=initial,
        size=rng.randint(1, 8),
        clients=rng.randint(1, 4),
    )


def small_lock(rng: random.Random) -> History:
    """Processes that acquire and release, with answers that are not always true."""
    operations = []
    clock = [0, 0, 0]
    for _ in range(rng.randint(1, 8)):
        process = rng.randrange(3)
        start = clock[process] + rng.randint(0, 3)
        end = start + rng.randint(0, 5)
        clock[process] = end + 1
        kind = rng.choice(["acquire", "acquire", "release"])
        outcome = rng.choices([Outcome.OK, Outcome.INFO, Outcome.FAIL], [8, 2, 1])[0]
        output = rng.choice([None, True, False]) if kind == "acquire" and outcome is Outcome.OK else None
        operations.append(
            Operation(
                0,
                process,
                kind,
                None,
                None,
                output,
                outcome,
                start,
                None if rng.random() < 0.2 and outcome is Outcome.INFO else end,
            )
        )
    return history(*operations)


def try_many(name: str, seeds: range) -> dict[bool, int]:
    plain = (
        name.removesuffix("-by-element")
        .removesuffix("-repeated")
        .removesuffix("-grown")
        .removesuffix("-unique")
    )
    seen = {True: 0, False: 0}
    step = plain_objects.step(plain)
    for seed in seeds:
        rng = random.Random(seed)
        tried = small_lock(rng) if name == "lock" else small(rng, name)
        result = run_check("linearizable", tried, {"model": plain})
        if result.valid == "unknown":
            assert not any(one.outcome is Outcome.OK for one in tried.operations), (seed, result)
            continue
        first = plain_objects.FIRST.get(plain, plain_objects.EMPTY)
        truth = brute_force.linearizable(tried.operations, [first], step)
        assert result.valid is truth, (name, seed, result, list(tried.operations))
        seen[truth] += 1
        if not truth:
            (anomaly,) = result.anomalies
            proof = [one for one in anomaly.operations if one.outcome is not Outcome.FAIL]
            assert not brute_force.linearizable(proof, [first], step), (name, seed, anomaly)
    return seen


@pytest.mark.parametrize("name", OBJECTS)
def test_fast_and_slow_agree_on_small_histories(name: str) -> None:
    seen = try_many(name, range(3000))
    assert min(seen.values()) > 100, seen


@many()
@pytest.mark.parametrize("name", OBJECTS)
def test_fast_and_slow_agree_on_very_many_small_histories(name: str, seeds: range) -> None:
    seen = try_many(name, seeds)
    assert min(seen.values()) > 120, seen


def act(
    process: int, kind: str, asked: Any, answered: Any, start: int, end: int | None, outcome: str = "ok"
) -> Operation:
    ms = 1_000_000
    return Operation(
        0,
        process,
        kind,
        "q",
        asked,
        answered,
        Outcome(outcome),
        start * ms,
        None if end is None else end * ms,
    )


def test_a_queue_that_changes_the_order_is_named() -> None:
    result = check(
        act(0, "enqueue", 1, None, 0, 1), act(0, "enqueue", 2, None, 2, 3),
        act(1, "dequeue", None, 2, 4, 5), act(1, "dequeue", None, 1, 6, 7), model="queue",
    )  # fmt: skip
    assert result.valid is False
    assert result.algorithm == "patterns"
    assert result.anomalies[0].name == "reordered"
    assert result.anomalies[0].sentence == "1 was put before 2, yet 2 was taken before it"
    assert len(result.anomalies[0].operations) == 4


def test_an_unknown_dequeue_may_have_removed_something() -> None:
    put = [act(0, "enqueue", 1, None, 0, 1), act(0, "enqueue", 2, None, 2, 3)]
    took = act(1, "dequeue", None, 2, 8, 9)
    assert check(*put, took, model="queue").valid is False
    assert check(*put, act(2, "dequeue", None, None, 4, None, "info"), took, model="queue").valid is True
    late = act(2, "dequeue", None, None, 10, None, "info")
    assert check(*put, late, took, model="queue").valid is False


def test_a_value_taken_twice_is_named() -> None:
    result = check(
        act(0, "enqueue", 1, None, 0, 1), act(1, "dequeue", None, 1, 2, 3), act(1, "dequeue", None, 1, 4, 5),
        model="queue",
    )  # fmt: skip
    assert result.anomalies[0].name == "duplicate"


def test_a_queue_with_something_in_it_is_not_empty() -> None:
    result = check(
        act(0, "enqueue", 1, None, 0, 1), act(1, "dequeue", None, None, 2, 3), act(1, "dequeue", None, 1, 4, 5),
        model="queue",
    )  # fmt: skip
    assert result.valid is False
    assert result.anomalies[0].name == "false empty"


def test_a_failed_put_whose_value_is_taken_is_named() -> None:
    result = check(act(0, "enqueue", 1, None, 0, 1, "fail"), act(1, "dequeue", None, 1, 2, 3), model="queue")
    assert result.anomalies[0].name == "aborted read"
    assert len(result.anomalies[0].operations) == 2


@pytest.mark.parametrize(
    ("kind", "asked", "answered", "holds"),
    [
        ("read", None, 5, True),
        ("read", None, 4, False),
        ("read", None, 9, True),
        ("read", None, 10, False),
        ("add-and-get", 1, 6, True),
        ("add-and-get", 1, 5, False),
        ("add-and-get", 1, 10, True),
        ("get-and-add", 1, 5, True),
        ("get-and-add", 1, 4, False),
        ("get-and-add", 1, 10, False),
    ],
)
def test_a_counter_holds_what_was_over_and_some_of_what_was_under_way(
    kind: str, asked: Any, answered: int, holds: bool
) -> None:
    changes = [act(0, "add", 5, None, 0, 1), act(1, "add", 4, None, 0, 1, "info")]
    result = check(*changes, act(2, kind, asked, answered, 2, 3), model="counter")
    assert result.valid is holds
    assert result.algorithm == ("search" if holds else "bounds")


def test_a_lease_hands_out_growing_tokens_and_fences_old_ones() -> None:
    def use(token: int, start: int, answered: Any = None) -> Operation:
        return act(1, "write", token, answered, start, start + 1)

    first, second = act(1, "acquire", None, 33, 0, 1), act(2, "acquire", None, 34, 4, 5)
    assert check(first, use(33, 2), second, use(34, 6), model="lease").valid is True
    assert check(first, second, use(34, 6), use(33, 8), model="lease").valid is False
    assert check(first, second, use(34, 6), use(33, 8, False), model="lease").valid is True
    assert check(first, use(33, 2, False), model="lease").valid is False
    assert check(first, act(2, "acquire", None, 33, 4, 5), model="lease").valid is False
    with pytest.raises(CheckerError, match="token"):
        check(act(1, "acquire", None, "abc", 0, 1), model="lease")


class Semaphore:
    """Two may be inside at once."""

    init = 0
    by_key = True

    def step(self, state: int, operation: Operation) -> tuple[bool, int]:
        if operation.kind == "enter":
            return state < 2, state + 1
        return state > 0, state - 1


class Backwards:
    """States that cannot be hashed, a function as `init`."""

    def init(self) -> list[int]:
        return []

    def step(self, state: list[int], operation: Operation) -> tuple[bool, list[int]]:
        if operation.kind == "push":
            return True, [*state, operation.input]
        return operation.outcome is Outcome.INFO or operation.output == state[::-1], state

    def reads(self, operation: Operation) -> bool:
        return operation.kind == "list"


def test_a_model_that_a_person_wrote() -> None:
    enter = [act(number, "enter", None, None, number, number + 1) for number in (0, 10, 20)]
    assert check(*enter[:2], model=Semaphore).valid is True
    result = check(*enter, model=Semaphore)
    assert result.valid is False
    assert len(result.anomalies[0].operations) == 3
    assert check(*enter[:2], act(5, "leave", None, None, 15, 16), enter[2], model=Semaphore()).valid is True
    pushes = [act(0, "push", 1, None, 0, 1), act(0, "push", 2, None, 2, 3)]
    assert check(*pushes, act(1, "list", None, [2, 1], 4, 5), model=Backwards).valid is True
    assert check(*pushes, act(1, "list", None, [1, 2], 4, 5), model=Backwards).valid is False


def test_a_model_that_is_none_is_the_callers_fault() -> None:
    class Nothing:
        pass

    class Odd:
        init = 0

        def step(self, state: int, operation: Operation) -> int:
            return state

    with pytest.raises(CheckerError, match="is not a model"):
        check(op(0, "write", 1, 0, 1), model=Nothing)
    with pytest.raises(CheckerError, match="must return"):
        check(op(0, "write", 1, 0, 1), model=Odd)


@pytest.mark.parametrize("offset", [5.0, 5.5, "0", " 5", "-1"])
def test_an_offset_that_is_no_whole_number_is_no_missing_one(offset: Any) -> None:
    with pytest.raises(CheckerError, match=f"operation 0: append was told an offset .*: {offset!r}"):
        check(act(0, "append", 7, offset, 0, 1), act(1, "read-all", None, [7], 2, 3), model="log")


@pytest.mark.parametrize("answer", [None, True, "ok", "1526919030474-55"])
def test_an_append_need_not_be_told_its_offset(answer: Any) -> None:
    told = act(0, "append", 7, answer, 0, 1)
    assert check(told, act(1, "read-all", None, [7], 2, 3), model="log").valid is True
    assert check(told, act(1, "read-all", None, [], 2, 3), model="log").valid is False


def test_a_log_is_read_at_an_offset() -> None:
    with pytest.raises(CheckerError, match="operation 1: read of a log needs an offset, not '0'"):
        check(act(0, "append", 7, 0, 0, 1), act(1, "read", "0", 7, 2, 3), model="log")


def test_values_without_an_order_are_in_no_priority_queue() -> None:
    with pytest.raises(CheckerError, match="have no order among each other"):
        check(
            act(0, "insert", 1, None, 0, 1), act(0, "insert", "a", None, 2, 3),
            act(1, "delete-min", None, 1, 4, 5), model="priority-queue",
        )  # fmt: skip
