"""One order of what read and wrote registers, against all permutations; and what is blamed where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from random import Random

from tests.checkers.nightly import many

from refute.checkers.transactions.register_order import Refuted, RegisterOrder
from refute.checkers.transactions.schedule import Read


def never() -> None:
    """A budget without end."""


def puzzle(rng: Random) -> RegisterOrder:
    """Nodes in a few sessions that write and read a few keys, each read of some other node's write."""
    nodes, keys = rng.randint(2, 6), rng.randint(1, 3)
    writers = [[node for node in range(nodes) if rng.random() < 0.5] for _ in range(keys)]
    reads = [
        Read(node, key, rng.choice(others))
        for node in range(nodes)
        for key in range(keys)
        if rng.random() < 0.5 and (others := [one for one in writers[key] if one != node])
    ]
    known = [(one, other) for one in range(nodes) for other in range(one + 1, nodes) if rng.random() < 0.15]
    hint = [rng.randrange(10) for _ in range(nodes)]
    return RegisterOrder(nodes, known, writers, reads, hint)


def explains(question: RegisterOrder, order: Sequence[int]) -> bool:
    """Whether edges are kept and each read sees the last write before it, as plainly as can be."""
    place = {node: at for at, node in enumerate(order)}
    if any(a in place and b in place and place[a] > place[b] for a, b in question.known):
        return False
    for reader, key, writer in question.reads:
        if reader not in place or writer not in place:
            continue
        before = [
            one
            for one in order
            if one in question.writers[key] and place[one] < place[reader] and one != reader
        ]
        if not before or before[-1] != writer:
            return False
    return True


def disagreements(seeds: range) -> tuple[list[int], list[int]]:
    wrong, seen = [], [0, 0]
    for seed in seeds:
        question = puzzle(Random(seed))
        possible = any(explains(question, order) for order in permutations(range(question.nodes)))
        found = question.solve(never)
        seen[possible] += 1
        if isinstance(found, Refuted):
            # What is blamed has no order by itself: known edges are those of a whole, so they reach over.
            if possible or any(explains(_closed(question), order) for order in permutations(found.nodes)):
                wrong.append(seed)
        elif not possible or not explains(question, found):
            wrong.append(seed)
    return wrong, seen


def _closed(question: RegisterOrder) -> RegisterOrder:
    """With the known edges that follow from known edges."""
    reach = {(a, b) for a, b in question.known}
    while True:
        more = {(a, d) for a, b in reach for c, d in reach if b == c} - reach
        if not more:
            return RegisterOrder(
                question.nodes, sorted(reach), question.writers, question.reads, question.hint
            )
        reach |= more


def test_orders_agree_with_all_permutations() -> None:
    wrong, seen = disagreements(range(3000))
    assert wrong == []
    assert min(seen) > 500


@many()
def test_orders_agree_with_all_permutations_on_many(seeds: range) -> None:
    wrong, seen = disagreements(seeds)
    assert wrong == []
    assert min(seen) > 500


def test_a_choice_that_fails_is_taken_back() -> None:
    # 0 and 1 write a, 2 and 3 write b; each of the readers 4 and 5 ties the two orders together.
    reads = [Read(4, 0, 0), Read(4, 1, 3), Read(5, 0, 1), Read(5, 1, 2)]
    question = RegisterOrder(6, [], [[0, 1], [2, 3]], reads, [5, 0, 5, 0, 0, 0])
    found = question.solve(never)
    assert isinstance(found, list)
    assert explains(question, found)
