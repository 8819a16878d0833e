"""Planted violations: correct histories pass, what is planted is noticed, and nothing is called something."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import Any

import pytest

from refute.checkers import CATALOG, CheckerError, Result, run_check
from refute.checkers.planted import operators_for, plant
from refute.checkers.planted import simulated_objects as simulated
from refute.checkers.planted import simulated_services as services
from refute.checkers.planted.ground import Ground
from refute.checkers.planted.operators import OPERATORS
from refute.checkers.planted.simulated import Shape
from refute.checkers.planted.simulated_transactions import transactions
from refute.history import History, Outcome, Phase

from ..scribe import Scribe
from .test_personal_models import Register

Make = Callable[[int], History]

SMALL = Shape(operations=60, clients=3)
TINY = Shape(operations=24, clients=2)
register_transactions = partial(transactions, write="w")

CASES: list[tuple[str, Mapping[str, Any], Make]] = [
    ("no-lost-acknowledged-write", {}, simulated.registers),
    ("no-lost-acknowledged-write", {"require": "quorum"}, simulated.registers),
    ("no-lost-acknowledged-write", {}, simulated.elements),
    ("no-lost-acknowledged-write", {"require": "any-node"}, simulated.elements),
    ("no-lost-acknowledged-write", {}, simulated.counters),
    ("no-lost-acknowledged-write", {}, simulated.queues),
    ("exactly-once", {}, simulated.counters),
    ("exactly-once", {}, simulated.elements),
    ("exactly-once", {}, simulated.queues),
    ("linearizable", {"model": "register"}, simulated.registers),
    ("linearizable", {"model": "cas-register"}, partial(simulated.registers, compare=0.2)),
    ("linearizable", {"model": "kv"}, partial(simulated.registers, compare=0.1, deletes=0.1)),
    *(
        ("list-append", {"model": model}, transactions)
        for model in ("read-uncommitted", "read-committed", "read-atomic", "snapshot-isolation")
    ),
    *(
        ("list-append", {"model": model}, transactions)
        for model in ("serializable", "strong-session-serializable", "strict-serializable")
    ),
    *(
        (name, {}, make)
        for name in ("read-your-writes", "monotonic-reads", "monotonic-writes", "writes-follow-reads")
        for make in (simulated.registers, simulated.replicas, partial(simulated.replicas, numbered=True))
    ),
    ("bounded-staleness", {"max_ms": 5}, simulated.registers),
    ("bounded-staleness", {"max_versions": 0}, simulated.registers),
    ("bounded-staleness", {"max_versions": 8}, simulated.replicas),
    ("no-phantom", {}, simulated.registers),
    ("no-phantom", {}, simulated.elements),
    ("no-phantom", {}, simulated.queues),
    ("unique-ids", {}, services.identifiers),
    ("unique-ids", {"increasing": True}, services.identifiers),
    ("bank-total", {}, services.banks),
    ("bank-total", {"total": 50, "accounts": 5}, services.banks),
    ("long-fork", {}, services.forks),
    ("replica-reconciliation", {}, simulated.registers),
    ("replica-reconciliation", {}, simulated.elements),
    ("mutual-exclusion", {}, services.locks),
    ("mutual-exclusion", {"mode": "fenced"}, partial(services.locks, expires=True)),
    ("counter", {}, simulated.counters),
    ("counter", {}, partial(simulated.counters, retries=0)),
    ("set-full", {}, simulated.elements),
    ("set-full", {"linearizable": True}, simulated.elements),
    ("g-set", {}, simulated.elements),
    ("prefix", {"real_time": True}, partial(simulated.elements, kind="append")),
    ("fifo-per-partition", {}, partial(services.logs, offsets=False)),
    ("fifo-per-partition", {"per_producer": True}, partial(services.logs, offsets=False)),
    ("kafka-log", {}, services.logs),
    ("kafka-log", {"allow": ["repeated-poll", "skipped-poll"]}, services.logs),
    ("change-feed", {}, services.feeds),
    ("fairness", {"max_min_ratio": 2, "min_jain": 0.8, "share_tolerance": 0.3}, services.groups),
    ("fairness", {"max_starvation_ms": 200}, services.groups),
    ("boundary", {}, services.tenants),
    ("slo", {"percentiles": {"p50": 6}, "max_error_rate": 0.5, "during": "all"}, services.groups),
    ("slo", {"min_throughput_per_s": 10, "max_recovery_ms": 40}, services.groups),
    ("linearizable", {"model": Register}, simulated.registers),
    ("linearizable", {"model": "counter"}, partial(simulated.counters, retries=0)),
    ("linearizable", {"model": "queue"}, simulated.queues),
    ("linearizable", {"model": "priority-queue"}, partial(simulated.queues, shape=SMALL, order="least")),
    ("linearizable", {"model": "stack"}, partial(simulated.queues, shape=TINY, order="lifo")),
    ("linearizable", {"model": "set"}, partial(simulated.elements, shape=SMALL)),
    ("linearizable", {"model": "multiset"}, partial(simulated.elements, shape=SMALL)),
    ("linearizable", {"model": "log"}, partial(simulated.elements, shape=TINY, kind="append")),
    ("linearizable", {"model": "lock"}, partial(services.locks, writes=False)),
    ("linearizable", {"model": "lease"}, partial(services.locks, expires=True)),
    ("linearizable", {"model": "transactions"}, register_transactions),
    ("sequential", {}, partial(simulated.registers, shape=SMALL)),
    ("sequential", {"model": "cas-register"}, partial(simulated.registers, shape=SMALL, compare=0.2)),
    *(
        ("rw-register", {"model": model}, register_transactions)
        for model in ("read-uncommitted", "read-committed", "snapshot-isolation", "serializable")
    ),
    *(
        ("rw-register", {"model": model}, register_transactions)
        for model in ("strong-session-serializable", "strict-serializable")
    ),
    *((level, {}, register_transactions) for level in ("read-committed", "read-atomic", "causal")),
    *(
        (f"{level}-exact", {"order": order}, partial(register_transactions, shape=SMALL))
        for level in ("serializable", "snapshot-isolation")
        for order in ("none", "session", "real-time")
    ),
]


@pytest.mark.parametrize(("checker", "options", "make"), CASES)
def test_a_correct_history_passes_and_what_is_planted_in_it_is_noticed(
    checker: str, options: Mapping[str, Any], make: Make
) -> None:
    tried = noticed = 0
    for seed in range(3):
        history = make(seed)
        assert run_check(checker, history, options).valid is True
        report = plant(history, checker, options, seed=seed)
        assert not report.proves_nothing
        assert report.missed == ()
        tried, noticed = tried + report.tried, noticed + report.noticed
    assert tried >= 8
    assert noticed >= 0.95 * tried


def test_every_checker_has_operators_and_a_history_to_try_them_on() -> None:
    tried = {checker for checker, _, _ in CASES}
    assert set(CATALOG) - tried == set()
    assert all(operators_for(checker, options) for checker, options, _ in CASES)


def test_every_operator_finds_a_place_in_some_history() -> None:
    found: set[str] = set()
    for seed, (checker, options, make) in itertools.product(range(3), CASES):
        wanted = [o for o in operators_for(checker, options) if o.name not in found]
        ground = Ground(make(seed), checker, options)
        found |= {o.name for o in wanted if next(o.places(ground, Random(0)), None) is not None}
    assert {operator.name for operator in OPERATORS} - found == set()


def test_the_same_seed_plants_the_same_violations() -> None:
    history = simulated.elements(3)
    seen: list[list[str]] = []
    for _ in range(2):
        planted: list[str] = []

        def check(name: str, copy: History, options: Mapping[str, Any], to: list[str] = planted) -> Result:
            to.append(repr(copy.operations))
            return Result(name, False)

        plant(history, "exactly-once", seed=7, check=check)
        seen.append(planted)
    assert seen[0] == seen[1]
    assert seen[0]


def test_a_checker_that_sees_nothing_is_reported_with_what_it_missed() -> None:
    def blind(name: str, history: History, options: Mapping[str, Any]) -> Result:
        return Result(name, True)

    report = plant(simulated.elements(1), "no-lost-acknowledged-write", seed=1, per_operator=2, check=blind)
    assert report.share == 0
    assert len(report.missed) == report.tried > 0
    assert all(missed.operations and missed.sentence for missed in report.missed)


def test_an_unknown_answer_is_a_miss() -> None:
    def unsure(name: str, history: History, options: Mapping[str, Any]) -> Result:
        return Result(name, "unknown", reason="budget")

    report = plant(simulated.elements(1), "no-lost-acknowledged-write", seed=1, per_operator=1, check=unsure)
    assert report.noticed == 0
    assert report.missed[0].reason == "budget"


def test_a_history_without_reads_proves_nothing() -> None:
    whole = simulated.elements(1)
    history = History([o for o in whole.operations if o.kind != "read"])
    report = plant(history, "no-lost-acknowledged-write", seed=1)
    assert report.proves_nothing
    assert "final read" in report.reason
    assert report.share is None


def test_an_operator_without_a_place_says_what_it_needs() -> None:
    report = plant(simulated.registers(1), "no-lost-acknowledged-write", seed=1)
    queue = next(r for r in report.operators if r.operator == "undelivered")
    assert queue.tried == 0
    assert "queue" in queue.no_place


def test_a_replica_may_lag_where_any_node_will_do() -> None:
    strict = {o.name for o in operators_for("no-lost-acknowledged-write", {})}
    lax = {o.name for o in operators_for("no-lost-acknowledged-write", {"require": "any-node"})}
    assert strict - lax == {"missing-on-a-replica"}


def test_the_history_itself_is_left_as_it_was() -> None:
    history = simulated.registers(2)
    before = repr(history.operations)
    plant(history, "no-lost-acknowledged-write", seed=1)
    assert repr(history.operations) == before


def test_a_checker_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(CheckerError):
        plant(History([]), "no-such-checker", seed=1)


def test_simulated_histories_have_timeouts_failures_faults_and_final_reads() -> None:
    history = simulated.registers(4)
    outcomes = {o.outcome for o in history.operations}
    assert outcomes == set(Outcome)
    assert history.faults
    assert {o.node for o in history.operations if o.phase is Phase.FINAL} == {"n1", "n2", "n3"}
    times = [o.invoked_ns for o in history.operations]
    assert times == sorted(times)


def test_an_empty_history_proves_nothing() -> None:
    assert plant(Scribe().history(), "exactly-once", seed=1).proves_nothing


@pytest.mark.nightly
@pytest.mark.parametrize(("checker", "options", "make"), CASES)
def test_at_least_95_of_100_are_noticed_over_many_histories(
    checker: str, options: Mapping[str, Any], make: Make
) -> None:
    tried = noticed = 0
    for seed in range(100, 140):
        history = make(seed)
        if run_check(checker, history, options).valid is not True:
            continue
        report = plant(history, checker, options, seed=seed)
        tried, noticed = tried + report.tried, noticed + report.noticed
    assert tried >= 100
    assert noticed >= 0.95 * tried
