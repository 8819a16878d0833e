"""What is planted in queues, sets, logs, locks and transactions is a violation: everything is tried."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from random import Random
from typing import Any

import pytest

from refute.checkers.planted import operators_for
from refute.checkers.planted import simulated_objects as simulated
from refute.checkers.planted import simulated_services as services
from refute.checkers.planted.ground import Ground
from refute.checkers.planted.simulated import Shape
from refute.checkers.planted.simulated_transactions import transactions
from refute.history import History, Operation, Outcome

Step = Callable[[Any, Operation], tuple[bool, Any]]
"""Whether an operation may happen in a state, and the state after it."""


def known(o: Operation) -> bool:
    return o.outcome is Outcome.OK


def register(state: Any, o: Operation) -> tuple[bool, Any]:
    if o.kind == "read":
        return not known(o) or state == o.output, state
    return True, o.input


def counter(state: int, o: Operation) -> tuple[bool, int]:
    if o.kind == "read":
        return not known(o) or (state or 0) == o.output, state
    return True, (state or 0) + o.input


def log(state: Any, o: Operation) -> tuple[bool, Any]:
    state = state or ()
    if o.kind == "read":
        return not known(o) or list(state) == list(o.output), state
    return True, (*state, o.input)


def bag(state: Any, o: Operation) -> tuple[bool, Any]:
    state = state or ()
    if o.kind == "read":
        return not known(o) or list(state) == sorted(o.output), state
    return True, tuple(sorted((*state, o.input)))


def container(take: Callable[[tuple[Any, ...]], int], state: Any, o: Operation) -> tuple[bool, Any]:
    state = state or ()
    if o.kind in ("enqueue", "push"):
        return True, (*state, o.input)
    if not state:
        return not known(o) or o.output is None, state
    place = take(state)
    return not known(o) or o.output == state[place], (*state[:place], *state[place + 1 :])


def lock(state: Any, o: Operation) -> tuple[bool, Any]:
    if o.kind == "acquire":
        return state is None, o.process
    return state == o.process, None


def lease(state: Any, o: Operation) -> tuple[bool, Any]:
    granted, used = state or (0, 0)
    if o.kind == "release" or (o.kind == "acquire" and not known(o)):
        return True, (granted, used)
    if o.kind == "acquire":
        return o.output > granted, (o.output, used)
    token = o.extra["token"]
    return used <= token <= granted, (granted, max(used, token))


def registers(state: Any, o: Operation) -> tuple[bool, Any]:
    values = dict(state or ())
    for function, key, value in o.output if known(o) else o.input:
        if function == "r":
            if known(o) and values.get(key) != value:
                return False, state
        else:
            values[key] = value
    return True, tuple(sorted(values.items(), key=repr))


def some_order(history: History, step: Step, before: Callable[[Operation, Operation], bool]) -> bool:
    """Whether some order that keeps `before`, with some choice of what is unknown, fits the object."""
    calls = [o for o in history.operations if o.outcome is not Outcome.FAIL]
    sure = frozenset(n for n, o in enumerate(calls) if known(o))
    first = [
        frozenset(m for m, p in enumerate(calls) if m != n and before(p, o)) for n, o in enumerate(calls)
    ]
    seen: set[Any] = set()
    todo: list[tuple[frozenset[int], Any]] = [(frozenset(), None)]
    while todo:
        done, state = todo.pop()
        if sure <= done:
            return True
        if (done, state) in seen:
            continue
        seen.add((done, state))
        for n, o in enumerate(calls):
            if n not in done and first[n] <= done:
                possible, after = step(state, o)
                if possible:
                    todo.append((done | {n}, after))
    return False


def real_time(a: Operation, b: Operation) -> bool:
    return known(a) and (a.completed_ns or 0) < b.invoked_ns


def session(a: Operation, b: Operation) -> bool:
    """Session order; an operation of unknown outcome may have happened last."""
    return known(a) and a.process == b.process and a.index < b.index


def no_order(a: Operation, b: Operation) -> bool:
    return False


SHAPE = Shape(operations=12, clients=3, info=0.04, fail=0.03)
Make = Callable[[int], History]
CASES: list[tuple[str, Mapping[str, Any], Make, Step, Any]] = [
    (
        "linearizable",
        {"model": "counter"},
        partial(simulated.counters, keys=1, retries=0),
        counter,
        real_time,
    ),
    ("linearizable", {"model": "set"}, simulated.elements, bag, real_time),
    ("linearizable", {"model": "multiset"}, simulated.elements, bag, real_time),
    ("linearizable", {"model": "log"}, partial(simulated.elements, kind="append"), log, real_time),
    ("linearizable", {"model": "queue"}, simulated.queues, partial(container, lambda s: 0), real_time),
    (
        "linearizable",
        {"model": "stack"},
        partial(simulated.queues, order="lifo"),
        partial(container, lambda s: len(s) - 1),
        real_time,
    ),
    (
        "linearizable",
        {"model": "priority-queue"},
        partial(simulated.queues, order="least"),
        partial(container, lambda s: s.index(min(s))),
        real_time,
    ),
    ("linearizable", {"model": "lock"}, partial(services.locks, writes=False), lock, real_time),
    ("linearizable", {"model": "lease"}, partial(services.locks, expires=True), lease, real_time),
    (
        "linearizable",
        {"model": "transactions"},
        partial(transactions, write="w", keys=2),
        registers,
        real_time,
    ),
    ("sequential", {}, partial(simulated.registers, keys=1), register, session),
    ("rw-register", {}, partial(transactions, write="w", keys=2), registers, no_order),
    ("serializable-exact", {}, partial(transactions, write="w", keys=2), registers, no_order),
    (
        "serializable-exact",
        {"order": "session"},
        partial(transactions, write="w", keys=2),
        registers,
        session,
    ),
    (
        "serializable-exact",
        {"order": "real-time"},
        partial(transactions, write="w", keys=2),
        registers,
        real_time,
    ),
]


def plantings(
    checker: str, options: Mapping[str, Any], make: Make, step: Step, before: Any, seeds: Iterable[int]
) -> Counter[str]:
    found: Counter[str] = Counter()
    for seed in seeds:
        history = make(seed, shape=SHAPE)  # type: ignore[call-arg]
        assert some_order(history, step, before)
        ground = Ground(history, checker, options)
        for operator in operators_for(checker, options):
            for planting in itertools.islice(operator.places(ground, Random(seed)), 2):
                assert not some_order(planting.history, step, before), (operator.name, planting.sentence)
                found[operator.name] += 1
    return found


@pytest.mark.parametrize(("checker", "options", "make", "step", "before"), CASES)
def test_every_violation_planted_is_one(
    checker: str, options: Mapping[str, Any], make: Make, step: Step, before: Any
) -> None:
    seeds = range(12 if before is no_order else 40)
    assert plantings(checker, options, make, step, before, seeds).total() >= 15


@pytest.mark.nightly
@pytest.mark.parametrize(("checker", "options", "make", "step", "before"), CASES)
def test_every_violation_planted_is_one_at_length(
    checker: str, options: Mapping[str, Any], make: Make, step: Step, before: Any
) -> None:
    seeds = range(200 if before is no_order else 2_000)
    assert plantings(checker, options, make, step, before, seeds).total() > 400
