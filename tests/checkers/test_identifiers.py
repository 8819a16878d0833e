"""Unique ids: none twice, and growing where that is promised."""

from __future__ import annotations

import random

from refute.checkers import run_check

from .nightly import how_often, many
from .scribe import Scribe


def names(scribe: Scribe, **options: object) -> set[str]:
    return {a.name for a in run_check("unique-ids", scribe.history(), options).anomalies}


def test_an_id_given_twice() -> None:
    write = Scribe()(1, "generate", 0, 1, out="a")(2, "generate", 0, 1, out="b")
    assert run_check("unique-ids", write.history()).valid is True
    result = run_check("unique-ids", write(3, "generate", 5, 6, out="a").history())
    assert result.valid is False
    assert [o.process for o in result.anomalies[0].operations] == [1, 3]


def test_a_success_without_an_id() -> None:
    assert names(Scribe()(1, "generate", 0, 1)) == {"missing-id"}


def test_requests_that_failed_give_no_id() -> None:
    write = Scribe()(1, "generate", 0, 1, out="a", outcome="fail")
    assert run_check("unique-ids", write.history()).valid == "unknown"


def test_other_kinds_are_named() -> None:
    write = Scribe()(1, "create", 0, 1, out="a")(2, "create", 0, 1, out="a")
    assert run_check("unique-ids", write.history()).valid == "unknown"
    assert names(write, generate_kinds=["create"]) == {"duplicate-id"}


def test_ids_of_several_types_have_no_order() -> None:
    write = Scribe()(1, "generate", 0, 1, out="a")(2, "generate", 2, 3, out=1)
    assert run_check("unique-ids", write.history(), {"increasing": True}).valid == "unknown"


def compared(rng: random.Random) -> bool:
    write = Scribe()
    for process in range(rng.randint(1, 6)):
        start = rng.randrange(20)
        write(process, "generate", start, start + rng.randint(0, 5), out=start + rng.randrange(-2, 3))
    history = write.history()
    given = history.operations
    wrong = len({o.output for o in given}) < len(given) or any(
        (a.completed_ns or 0) < b.invoked_ns and a.output > b.output for a in given for b in given
    )
    assert (run_check("unique-ids", history, {"increasing": True}).valid is False) is wrong
    return wrong


def test_ids_agree_with_all_pairs() -> None:
    assert min(how_often(compared, range(3_000))) > 300


@many()
def test_ids_agree_with_all_pairs_at_length(seeds: range) -> None:
    assert min(how_often(compared, seeds)) > 400
