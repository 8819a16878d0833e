"""Counter: bounds of each read, against every choice of what may have happened."""

from __future__ import annotations

import itertools
import random

from refute.checkers import run_check
from refute.history import History, Outcome

from .nightly import how_often, many
from .scribe import Scribe


def names(scribe: Scribe, **options: object) -> set[str]:
    return {a.name for a in run_check("counter", scribe.history(), options).anomalies}


def test_what_was_acknowledged_is_the_least() -> None:
    write = Scribe()(1, "add", 0, 1, value=2)(2, "add", 0, None, value=5, outcome="info")
    assert names(write(3, "read", 4, 5, out=2)) == set()
    assert names(write(3, "read", 6, 7, out=7)) == set()
    assert names(write(3, "read", 8, 9, out=1)) == {"too-low"}
    assert names(write(3, "read", 10, 11, out=8)) == {"too-low", "too-high"}


def test_decrements_turn_the_bounds_round() -> None:
    write = Scribe()(1, "add", 0, 1, value=5)(2, "add", 2, 6, value=-3)
    assert names(write(3, "read", 4, 5, out=5)(4, "read", 4, 5, out=2)) == set()
    assert names(write(3, "read", 8, 9, out=5)) == {"too-high"}


def test_a_failed_add_did_not_happen() -> None:
    assert names(Scribe()(1, "add", 0, 1, value=5, outcome="fail")(3, "read", 4, 5, out=5)) == {"too-high"}


def test_a_retry_with_the_same_key_counts_once() -> None:
    write = Scribe()(1, "add", 0, 1, value=5, outcome="info", idempotency_key="a")
    write(1, "add", 2, 3, value=5, idempotency_key="a")
    assert names(write(3, "read", 4, 5, out=5)) == set()
    assert names(write(3, "read", 6, 7, out=10)) == {"too-high"}


def test_an_increment_without_an_amount_is_one() -> None:
    assert names(Scribe()(1, "increment", 0, 1)(3, "read", 4, 5, out=0)) == {"too-low"}


def test_nothing_to_go_by_is_unknown() -> None:
    assert run_check("counter", Scribe()(1, "add", 0, 1, value=1).history()).valid == "unknown"
    write = Scribe()(1, "add", 0, 1, value="much")(3, "read", 4, 5, out=0)
    assert run_check("counter", write.history()).valid == "unknown"


def truth(history: History) -> bool:
    for read in (o for o in history.operations if o.kind == "read"):
        choices = []
        for o in history.operations:
            if o.kind != "add" or o.outcome is Outcome.FAIL or o.invoked_ns > (read.completed_ns or 0):
                continue
            sure = o.outcome is Outcome.OK and (o.completed_ns or 0) < read.invoked_ns
            choices.append((o.input,) if sure else (0, o.input))
        sums = [sum(choice) for choice in itertools.product(*choices)]
        if not min(sums) <= read.output <= max(sums):
            return True
    return False


def compared(rng: random.Random) -> bool:
    write = Scribe()
    for process in range(rng.randint(2, 7)):
        start = rng.randrange(20)
        if rng.random() < 0.7:
            outcome = rng.choice(["ok", "ok", "info", "fail"])
            write(
                process,
                "add",
                start,
                start + rng.randint(0, 6),
                value=rng.randint(-3, 5),
                outcome=outcome,
            )
        else:
            write(process, "read", start, start + rng.randint(0, 3), out=rng.randint(-3, 8))
    history = write.history()
    wrong = truth(history)
    assert (run_check("counter", history).valid is False) is wrong
    return wrong


def test_bounds_agree_with_every_choice() -> None:
    assert min(how_often(compared, range(3_000))) > 300


@many()
def test_bounds_agree_with_every_choice_at_length(seeds: range) -> None:
    assert min(how_often(compared, seeds)) > 400
