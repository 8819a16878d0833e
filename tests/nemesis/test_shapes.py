"""Partitions of every shape, as sets of directed links."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from refute.nemesis.errors import FaultInputError
from refute.nemesis.proxy.shapes import links_of, without

THREE = ("n1", "n2", "n3")
FIVE = ("n1", "n2", "n3", "n4", "n5")


def links(nodes: tuple[str, ...], targets: tuple[str, ...] = (), **parameters: Any) -> str:
    return " ".join(f"{a[1:]}>{b[1:]}" for a, b in links_of(nodes, targets, parameters, Random(0)))


@pytest.mark.parametrize(
    ("nodes", "targets", "parameters", "expected"),
    [
        (THREE, ("n1",), {}, "1>2 1>3 2>1 3>1"),
        (THREE, ("n1",), {"direction": "out"}, "1>2 1>3"),
        (THREE, ("n1",), {"direction": "in"}, "2>1 3>1"),
        (THREE, ("n1", "n2"), {}, "1>3 2>3 3>1 3>2"),
        (THREE, (), {"links": ["n1->n2"]}, "1>2"),
        (THREE, (), {"links": "n1<->n3"}, "1>3 3>1"),
        (THREE, (), {"links": ["n1<-n3", "n2 -> n3"]}, "2>3 3>1"),
        (THREE, (), {"groups": [["n1"], ["n2", "n3"]]}, "1>2 1>3 2>1 3>1"),
        (THREE, (), {"groups": [["n1"], ["n2"]]}, "1>2 2>1"),
        (THREE, ("n2",), {"shape": "bridge"}, "1>3 3>1"),
        (FIVE, ("n3",), {"shape": "bridge"}, "1>4 1>5 2>4 2>5 4>1 4>2 5>1 5>2"),
        (THREE, ("n2",), {"shape": "majority-minority"}, "1>2 2>1 2>3 3>2"),
        (THREE, (), {"shape": "ring"}, "1>2 2>3 3>1"),
        (FIVE, (), {"shape": "ring"}, "1>3 1>4 2>4 2>5 3>1 3>5 4>1 4>2 5>2 5>3"),
    ],
)
def test_a_shape_cuts_these_links(
    nodes: tuple[str, ...], targets: tuple[str, ...], parameters: dict[str, Any], expected: str
) -> None:
    assert links(nodes, targets, **parameters) == expected


@pytest.mark.parametrize(
    ("targets", "parameters", "more"),
    [
        (("n1",), {}, {("n1", "late"), ("late", "n1")}),
        (("n1",), {"direction": "in"}, {("late", "n1")}),
        (("n1",), {"shape": "majority-minority"}, {("n1", "late"), ("late", "n1")}),
        (("n2",), {"shape": "bridge"}, {("n1", "late"), ("late", "n1")}),
        ((), {"groups": [["n1"], ["n2", "late"]]}, {("n1", "late"), ("late", "n1")}),
        ((), {"links": ["n1->n2", "n1->late"]}, {("n1", "late")}),
        ((), {"groups": [["n1"], ["n2"]]}, set()),
        ((), {"shape": "ring"}, set()),
    ],
)
def test_who_joins_later_opens_no_way_around_a_partition(
    targets: tuple[str, ...], parameters: dict[str, Any], more: set[tuple[str, str]]
) -> None:
    found = links_of(THREE, targets, parameters, Random(0), late=["late"])
    assert {link for link in found if "late" in link} == more
    assert without(["late"], found) == tuple(link for link in found if link not in more)


@pytest.mark.parametrize("count", range(3, 10))
def test_in_a_ring_every_node_hears_a_majority_and_no_two_hear_the_same(count: int) -> None:
    nodes = tuple(f"n{number}" for number in range(count))
    cut = set(links_of(nodes, (), {"shape": "ring"}, Random(0)))
    heard = [frozenset(a for a in nodes if (a, node) not in cut) for node in nodes]
    assert all(len(each) > count / 2 for each in heard)
    assert len(set(heard)) == count


def test_a_minority_is_chosen_by_the_seed_around_the_target() -> None:
    chosen = {links(FIVE, ("n1",), shape="majority-minority") for _ in range(3)}
    assert len(chosen) == 1
    assert len(links(FIVE, ("n1",), shape="majority-minority").split()) == 12


@pytest.mark.parametrize(
    ("targets", "parameters", "says"),
    [
        ((), {}, "isolate: name a node"),
        ((), {"shape": "star"}, "'star' is no shape"),
        (("n1",), {"direction": "up"}, "direction is both, in or out"),
        ((), {"links": ["n1 n2"]}, "'n1 n2' is no link"),
        ((), {"links": ["n1->n7"]}, "no node 'n7'"),
        ((), {"groups": [["n1"]]}, "at least two lists"),
        ((), {"groups": [["n1"], ["n1", "n2"]]}, "in two groups"),
        (("n1", "n2"), {"shape": "majority-minority"}, "2 of 3 nodes are no minority"),
        (THREE, {}, "hits no link"),
    ],
)
def test_a_shape_that_cuts_nothing_is_refused(
    targets: tuple[str, ...], parameters: dict[str, Any], says: str
) -> None:
    with pytest.raises(FaultInputError, match=says):
        links_of(THREE, targets, parameters, Random(0))
