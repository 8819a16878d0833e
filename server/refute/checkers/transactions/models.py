"""The isolation models: which anomalies each forbids, and so which a set of anomalies rules out.

Sources: Adya 1999 for PL-1 to PL-3; Bailis et al., "Highly Available Transactions" (2013) for monotonic
atomic view and "Scalable Atomic Visibility with RAMP Transactions" (2014) for read atomic; Cerone and
Gotsman, "Analysing Snapshot Isolation" (2016), by which a history is snapshot isolated exactly where
every cycle has two adjacent anti-dependencies; Daudjee and Salem, "Lazy Database Replication with
Ordering Guarantees" (2004) for the strong session forms.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from refute.checkers.transactions.anomalies import implied

_PL1 = frozenset({"G0", "duplicate-elements", "garbage-read"})
_PL2 = _PL1 | {"G1a", "G1b", "G1c", "incompatible-order", "cyclic-versions", "dirty-update"}
_ATOMIC = _PL2 | {"internal", "fractured-read"}

# Weakest first. A model that forbids a class of cycles need name only the widest one: see `implied`.
_BASES: dict[str, frozenset[str]] = {
    "read-uncommitted": _PL1,
    "read-committed": _PL2,
    "cursor-stability": _PL2 | {"lost-update"},
    "monotonic-atomic-view": _PL2 | {"G-monotonic"},
    "read-atomic": _ATOMIC,
    "consistent-view": _ATOMIC | {"G-single"},
    "snapshot-isolation": _ATOMIC | {"G-nonadjacent", "lost-update", "not-snapshot-isolated"},
    "repeatable-read": _ATOMIC | {"G2-item", "lost-update", "not-serializable"},
    "serializable": _ATOMIC | {"G2-item", "lost-update", "not-serializable"},
}
_WIDEST = {
    "read-uncommitted": "G0",
    "read-committed": "G1c",
    "consistent-view": "G-single",
    "snapshot-isolation": "G-nonadjacent",
    "serializable": "G2-item",
}

ALIASES = {
    "PL-1": "read-uncommitted",
    "PL-2": "read-committed",
    "PL-CS": "cursor-stability",
    "PL-2+": "consistent-view",
    "PL-SI": "snapshot-isolation",
    "PL-2.99": "repeatable-read",
    "PL-3": "serializable",
    "PL-SS": "strict-serializable",
    "strong-serializable": "strict-serializable",
}


@dataclass(frozen=True, slots=True)
class IsolationModel:
    """A model: the anomalies that it forbids, and the order beyond data that it promises to respect.

    `level` is the empty string, `-process` (strong session forms) or `-realtime` (strong forms).
    """

    name: str
    forbids: frozenset[str]
    level: str = ""


def _models() -> dict[str, IsolationModel]:
    found = {name: IsolationModel(name, forbids) for name, forbids in _BASES.items()}
    for level, prefix in (("-process", "strong-session-"), ("-realtime", "strong-")):
        for base, widest in _WIDEST.items():
            name = "strict-serializable" if prefix + base == "strong-serializable" else prefix + base
            found[name] = IsolationModel(name, _BASES[base] | {widest + level}, level)
    return found


MODELS: dict[str, IsolationModel] = _models()


def closure(anomalies: Iterable[str]) -> frozenset[str]:
    """The anomalies and all that they imply."""
    return frozenset().union(*(implied(name) for name in anomalies))


def ruled_out(anomalies: Iterable[str]) -> tuple[str, ...]:
    """The names of the models that forbid one of these anomalies or one that they imply.

    >>> ruled_out(["G2-item-realtime"])
    ('strict-serializable',)
    """
    present = closure(anomalies)
    return tuple(name for name, model in MODELS.items() if model.forbids & present)


@cache
def stronger(one: str, other: str) -> bool:
    """Whether model `one` forbids all that `other` does, and more."""
    mine, theirs = closure_forbidden(one), closure_forbidden(other)
    return mine > theirs


@cache
def closure_forbidden(name: str) -> frozenset[str]:
    """Every anomaly that the model of that name cannot have, the implying ones included."""
    return frozenset(anomaly for anomaly in _ALL if implied(anomaly) & MODELS[name].forbids)


def _all_names() -> tuple[str, ...]:
    from refute.checkers.transactions.anomalies import CYCLES, DEFINITIONS, LEVELS

    cycles = tuple(cycle + level for cycle in CYCLES for level in LEVELS)
    return cycles + tuple(name for name in DEFINITIONS if name not in CYCLES)


_ALL = _all_names()


def extremes(ruled: Iterable[str], decided: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The weakest models ruled out, and the strongest of `decided` that are not."""
    out = tuple(ruled)
    rest = tuple(name for name in decided if name not in out)
    weakest = tuple(name for name in out if not any(stronger(name, other) for other in out))
    strongest = tuple(name for name in rest if not any(stronger(other, name) for other in rest))
    return weakest, strongest
