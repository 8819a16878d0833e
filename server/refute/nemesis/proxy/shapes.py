"""Which directed links a fault hits: partitions of every shape, as sets of links, decided from data alone."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from refute.nemesis.errors import FaultInputError
from refute.system.node_reference import CLIENT

Links = tuple[tuple[str, str], ...]
SHAPES = ("isolate", "majority-minority", "ring", "bridge", "groups", "links")
_ARROW = re.compile(r"^\s*([^\s<>]+?)\s*(<->|->|<-)\s*([^\s<>]+)\s*$")


def links_of(
    nodes: Sequence[str],
    targets: Sequence[str],
    parameters: Mapping[str, Any],
    rng: Random,
    *,
    late: Sequence[str] = (),
) -> Links:
    """The directed links, in a fixed order. Raises FaultInputError for a shape that cuts nothing.

    `shape` is by default `links` or `groups` where those are given, else `isolate`. `direction` (`both`,
    `in`, `out`) is seen from the targets of `isolate` and from the smaller side of `majority-minority`.
    `late` are nodes that are not there yet. One that joins is on the other side of those that are isolated,
    with the majority, or on the second bank of a bridge, so that a partition that is on stays one; a ring,
    and links and groups that do not name it, leave it alone.
    """
    shape = parameters.get("shape") or next((s for s in ("links", "groups") if s in parameters), "isolate")
    direction = parameters.get("direction", "both")
    if shape not in SHAPES:
        raise FaultInputError(f"{shape!r} is no shape of a partition; there are {', '.join(SHAPES)}")
    if direction not in ("both", "in", "out"):
        raise FaultInputError(f"direction is both, in or out, not {direction!r}")
    if shape == "links":
        links = _written(parameters.get("links", ()), (*nodes, *late))
    elif shape == "groups":
        links = _groups(parameters.get("groups", ()), (*nodes, *late))
    elif shape == "isolate":
        if not targets:
            raise FaultInputError("isolate: name a node")
        links = _around(targets, [node for node in (*nodes, *late) if node not in targets], direction)
    elif shape == "majority-minority":
        links = _minority(nodes, targets, direction, rng, late)
    elif shape == "ring":
        links = _ring(nodes)
    else:
        links = _bridge(nodes, targets, rng, late)
    if not links:
        raise FaultInputError(
            f"{shape} of {', '.join(targets or nodes)} hits no link between {len(nodes)} nodes"
        )
    return tuple(sorted(set(links)))


def without(late: Sequence[str], links: Links) -> Links:
    """Those of the links at both ends of which somebody is; all of them where there is none of these."""
    return tuple(link for link in links if not set(late) & set(link)) or links


def involves_clients(targets: Sequence[str], parameters: Mapping[str, Any]) -> bool:
    """Whether the way of the clients is hit too: a partition between nodes leaves it alone unless told."""
    written = repr(parameters.get("links", "")) + repr(parameters.get("groups", ""))
    return CLIENT in targets or bool(parameters.get("clients")) or CLIENT in written


def _around(inside: Sequence[str], outside: Sequence[str], direction: str) -> Links:
    out = [(a, b) for a in inside for b in outside if direction in ("both", "out")]
    into = [(b, a) for a in inside for b in outside if direction in ("both", "in")]
    return (*out, *into)


def _written(written: Any, nodes: Sequence[str]) -> Links:
    links: list[tuple[str, str]] = []
    for text in [written] if isinstance(written, str) else written:
        found = _ARROW.match(str(text))
        if not found:
            raise FaultInputError(f"{text!r} is no link; write for example n1->n2 or n1<->n2")
        left, arrow, right = found.groups()
        for node in (left, right):
            _require(node, nodes)
        if "->" in arrow:
            links.append((left, right))
        if "<-" in arrow:
            links.append((right, left))
    return tuple(links)


def _groups(groups: Any, nodes: Sequence[str]) -> Links:
    if not isinstance(groups, list | tuple) or len(groups) < 2:
        raise FaultInputError("groups: write at least two lists of nodes, for example [[n1], [n2, n3]]")
    sides = [[group] if isinstance(group, str) else list(group) for group in groups]
    members = [node for side in sides for node in side]
    for node in members:
        _require(node, nodes)
    if len(set(members)) != len(members):
        raise FaultInputError("groups: a node is in two groups")
    return tuple((a, b) for one in sides for other in sides if one is not other for a in one for b in other)


def _minority(
    nodes: Sequence[str], targets: Sequence[str], direction: str, rng: Random, late: Sequence[str]
) -> Links:
    size = (len(nodes) - 1) // 2
    if len(targets) > size:
        raise FaultInputError(f"{len(targets)} of {len(nodes)} nodes are no minority")
    others = [node for node in nodes if node not in targets]
    inside = [*targets, *rng.sample(others, size - len(targets))]
    return _around(inside, [node for node in (*nodes, *late) if node not in inside], direction)


def _ring(nodes: Sequence[str]) -> Links:
    # Every node hears a majority, and no two nodes hear the same one: itself and half of the others. Where
    # that is an even number they are its neighbours on both sides, else those that follow it.
    count, half = len(nodes), len(nodes) // 2
    sides = range(-(half // 2), half // 2 + 1) if half % 2 == 0 else range(half + 1)
    heard = {(nodes[(place + step) % count], node) for place, node in enumerate(nodes) for step in sides}
    return tuple((a, b) for a in nodes for b in nodes if a != b and (a, b) not in heard)


def _bridge(nodes: Sequence[str], targets: Sequence[str], rng: Random, late: Sequence[str]) -> Links:
    # The bridge sees everybody; the two halves on its banks do not see each other.
    bridge = targets[0] if targets else rng.choice(list(nodes))
    others = [node for node in nodes if node != bridge]
    half = len(others) // 2
    return _around(others[:half], [*others[half:], *late], "both")


def _require(node: str, nodes: Sequence[str]) -> None:
    if node not in nodes:
        raise FaultInputError(f"there is no node {node!r}; there are {', '.join(nodes)}")
