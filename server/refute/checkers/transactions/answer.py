"""From what was found to a Result: cycles in words, the models ruled out, the verdict for one model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from refute.checkers.catalog import CheckerError
from refute.checkers.result import Anomaly, Result, Validity
from refute.checkers.transactions.anomalies import definition
from refute.checkers.transactions.cycles import Cycle
from refute.checkers.transactions.findings import Findings
from refute.checkers.transactions.graph import KIND_NAMES, PROCESS, REALTIME
from refute.checkers.transactions.models import (
    ALIASES,
    MODELS,
    IsolationModel,
    closure,
    extremes,
    ruled_out,
)
from refute.checkers.transactions.words import named, shown
from refute.history import Operation

# (operation, kind, operation) -> ("what the first did and the second did", "key x: ...")
Reason = Callable[[Operation, int, Operation], tuple[str, str]]


def model_named(name: str) -> IsolationModel:
    """The isolation model of that name or of Adya's number. Raises CheckerError."""
    known = MODELS.get(ALIASES.get(name, name))
    if known is None:
        raise CheckerError(f"there is no isolation model {name!r}", hint=f"there are: {', '.join(MODELS)}")
    return known


def order_reason(first: Operation, kind: int, second: Operation) -> tuple[str, str]:
    """The words for an edge of session or real-time order."""
    if kind == PROCESS:
        return (
            f"process {shown(first.process)} ran {named(first)} before {named(second)}",
            f"process {shown(first.process)}",
        )
    return (
        f"{named(first)} had completed before {named(second)} was invoked",
        f"{named(first)} completed at {first.completed_ns} ns, {named(second)} invoked at "
        f"{second.invoked_ns} ns",
    )


def cycle_anomaly(cycle: Cycle, operations: Sequence[Operation], reason: Reason) -> Anomaly:
    """A cycle as an anomaly: one clause an edge, the edges in details by index of operation."""
    clauses, edges = [], []
    for source, kind, target in cycle.edges:
        first, second = operations[source], operations[target]
        words, label = (order_reason if kind in (PROCESS, REALTIME) else reason)(first, kind, second)
        clauses.append(words)
        edges.append([first.index, second.index, KIND_NAMES[kind], label])
    *most, last = clauses
    sentence = f"{'; '.join(most)}; yet {last}: a cycle, so none of them can come first."
    return Anomaly(
        cycle.name,
        sentence,
        tuple(operations[source] for source, _, _ in cycle.edges),
        {"edges": edges, "definition": definition(cycle.name)},
    )


def answer(
    checker: str,
    findings: Findings,
    model: IsolationModel,
    consumed: Mapping[str, int],
    algorithm: str,
    *,
    levels: Mapping[str, str],
    spent: str = "",
) -> Result:
    """The Result for one model.

    Anomalies that the model forbids make it False; the others are listed in `details["also"]`.
    `levels` maps a level of the models (`-realtime`) that could not be judged to the reason; `spent`
    is the budget that ended, if one did. A doubt, an undecided class or an unjudged level makes what
    would be True unknown.
    """
    present = closure(findings.counts)
    out = ruled_out(findings.counts)
    forbidden = [anomaly for anomaly in findings.anomalies if closure([anomaly.name]) & model.forbids]
    rest = [anomaly for anomaly in findings.anomalies if anomaly not in forbidden]
    undecided = {
        name
        for name, other in MODELS.items()
        if name not in out
        and (
            other.level in levels
            or any(closure([cls]) & other.forbids for cls in findings.undecided)
            or spent
        )
    }
    reasons = [spent] if spent else []
    reasons += findings.doubts
    if model.name in undecided and not spent:
        reasons += [levels[model.level]] if model.level in levels else []
        reasons += [
            f"whether there is a {name} could not be decided"
            for name in sorted(findings.undecided)
            if closure([name]) & model.forbids
        ]
    valid: Validity = True
    if model.forbids & present:
        valid = False
    elif reasons:
        valid = "unknown"
    decided = [name for name in MODELS if name not in undecided]
    weakest, strongest = extremes(out, decided)
    holds = [] if findings.doubts or spent else [name for name in decided if name not in out]
    details: dict[str, Any] = {
        "model": model.name,
        "anomalies": dict(sorted(findings.counts.items())),
        "ruled_out": list(out),
        "not_ruled_out": holds,
        "undecided": sorted(undecided) if not findings.doubts else [n for n in MODELS if n not in out],
        "weakest_ruled_out": list(weakest),
        "strongest_not_ruled_out": list(strongest) if holds else [],
        "edges": [edge for anomaly in forbidden[:1] for edge in anomaly.details.get("edges", ())],
        "also": [{"name": anomaly.name, "sentence": anomaly.sentence} for anomaly in rest],
    }
    return Result(
        checker,
        valid,
        consumed,
        tuple(forbidden),
        tuple(findings.assumptions),
        dict(findings.ignored),
        "" if valid is True else "; ".join(reasons),
        algorithm,
        details,
    )
