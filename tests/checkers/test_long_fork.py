"""Long fork: reads of one group of keys form a chain, against all pairs of reads."""

from __future__ import annotations

import random

from refute.checkers import run_check
from refute.history import History

from .nightly import how_often, many
from .scribe import Scribe


def views(*seen: dict[str, int | None]) -> Scribe:
    write = Scribe()(1, "txn", 0, 1, value=[["w", "x", 1]], out=[["w", "x", 1]])
    write(2, "txn", 0, 1, value=[["w", "y", 1]], out=[["w", "y", 1]])
    for number, view in enumerate(seen):
        steps = [["r", key, value] for key, value in view.items()]
        write(3 + number, "txn", 5, 6, value=[["r", key, None] for key in view], out=steps)
    return write


def test_two_reads_that_see_two_writes_in_opposite_orders() -> None:
    result = run_check("long-fork", views({"x": 1, "y": None}, {"x": None, "y": 1}).history())
    assert result.valid is False
    assert [o.process for o in result.anomalies[0].operations] in (
        [1, 2, 3, 4],
        [2, 1, 4, 3],
        [2, 1, 3, 4],
        [1, 2, 4, 3],
    )


def test_reads_that_see_them_in_one_order() -> None:
    chain = views({"x": None, "y": None}, {"x": 1, "y": None}, {"x": 1, "y": 1})
    assert run_check("long-fork", chain.history()).valid is True


def test_one_read_proves_nothing() -> None:
    assert run_check("long-fork", views({"x": 1, "y": None}).history()).valid == "unknown"


def test_a_key_that_is_written_twice_makes_the_answer_unknown() -> None:
    write = views({"x": 1, "y": None}, {"x": 1, "y": 1})
    write(9, "txn", 7, 8, value=[["w", "x", 2]], out=[["w", "x", 2]])
    assert run_check("long-fork", write.history()).valid == "unknown"


def test_a_map_that_was_read_at_once_is_a_view() -> None:
    write = Scribe()(1, "write", 0, 1, key="x", value=1)(2, "write", 0, 1, key="y", value=1)
    write(3, "read-all", 5, 6, out={"x": 1, "y": None})(4, "read-all", 5, 6, out={"x": None, "y": 1})
    assert run_check("long-fork", write.history()).valid is False


def compared(rng: random.Random) -> bool:
    write = Scribe()
    for key in range(3):
        write(key, "txn", 0, 1, value=[["w", key, 1]], out=[["w", key, 1]])
    order = rng.sample(range(3), 3)
    sights = []
    for process in range(rng.randint(2, 4)):
        cut = rng.randrange(4)
        there = set(order[:cut]) if rng.random() < 0.8 else {k for k in range(3) if rng.random() < 0.5}
        sights.append(there)
        steps = [["r", key, 1 if key in there else None] for key in range(3)]
        write(10 + process, "txn", 5, 6, value=[["r", key, None] for key in range(3)], out=steps)
    history: History = write.history()
    wrong = any(a - b and b - a for a in sights for b in sights)
    assert (run_check("long-fork", history).valid is False) is wrong
    return wrong


def test_views_agree_with_all_pairs() -> None:
    assert min(how_often(compared, range(3_000))) > 300


@many()
def test_views_agree_with_all_pairs_at_length(seeds: range) -> None:
    assert min(how_often(compared, seeds)) > 400
