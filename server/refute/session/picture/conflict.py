"""What a picture lights up: the operations of an anomaly, its sentence, and the edges of its cycle."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from refute.checkers import Result

EDGE_NAMES = {"process": "so", "realtime": "rt"}
"""The short names of the field: session order and real time; ww, wr and rw have theirs already."""


@dataclass(frozen=True, slots=True)
class Edge:
    """One edge of a cycle, between operations by index; `kind` is ww, wr, rw, so, rt or a checker's own."""

    source: int
    target: int
    kind: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class Conflict:
    """One violation: what it is called, why it is one, and the indexes of the operations that prove it."""

    checker: str
    name: str
    sentence: str
    operations: tuple[int, ...]
    edges: tuple[Edge, ...] = ()


def conflicts_of(results: Iterable[Result]) -> tuple[Conflict, ...]:
    """The violations of checkers' answers, in their order."""
    return tuple(
        Conflict(
            result.checker,
            anomaly.name,
            anomaly.sentence,
            tuple(operation.index for operation in anomaly.operations),
            _edges(anomaly.details),
        )
        for result in results
        for anomaly in result.anomalies
    )


def recorded_conflicts(results: Iterable[Mapping[str, Any]]) -> tuple[Conflict, ...]:
    """The same from the `results` of a session's `check.json`."""
    return tuple(
        Conflict(
            result["checker"],
            anomaly["name"],
            anomaly["sentence"],
            tuple(operation["index"] for operation in anomaly["operations"]),
            _edges(anomaly["details"]),
        )
        for result in results
        for anomaly in result["anomalies"]
    )


def _edges(details: Mapping[str, Any]) -> tuple[Edge, ...]:
    return tuple(
        Edge(source, target, EDGE_NAMES.get(kind, str(kind)), str(label))
        for source, target, kind, label in details.get("edges", ())
    )
