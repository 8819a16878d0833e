"""What a checker answers, and the small algebra by which answers are merged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from refute.history import Operation

Validity = Literal[True, False, "unknown"]


@dataclass(frozen=True, slots=True)
class Budget:
    """How much a check may cost; past either limit its answer is `unknown`, with the reason.

    None means no limit. `memory_limit_bytes` bounds what the check itself adds. `spent_s` is what had
    gone of the caller's time before (reading the history, say); it is only told.
    """

    time_limit_s: float | None = 60.0
    memory_limit_bytes: int | None = 1_500_000_000
    spent_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Anomaly:
    """One violation: its name (Adya's, Elle's or the field's), a sentence, and the operations that prove it.

    `operations` alone, put in a history of their own, still fail the checker wherever the property
    allows that; `details` has what a picture or a person needs further (a cycle's edges, the key).
    """

    name: str
    sentence: str
    operations: tuple[Operation, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Result:
    """The answer of one checker.

    `valid` is True, False or "unknown". `consumed` counts what was looked at
    (`{"operations": 812, "ok": 790, "info": 22, "keys": 5}`), `ignored` what was passed over, by
    reason. `assumptions` are what the answer rests on ("values written to a key are unique").
    `reason` says why a result is unknown. `algorithm` names what was run.

    >>> Result("linearizable", True, {"operations": 3}).valid
    True
    """

    checker: str
    valid: Validity
    consumed: Mapping[str, int] = field(default_factory=dict)
    anomalies: tuple[Anomaly, ...] = ()
    assumptions: tuple[str, ...] = ()
    ignored: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""
    algorithm: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)


def merge(validities: Iterable[Validity]) -> Validity:
    """The worst of several answers: False before unknown before True; nothing at all is unknown."""
    seen = list(validities)
    if any(validity is False for validity in seen):
        return False
    if not seen or any(validity == "unknown" for validity in seen):
        return "unknown"
    return True
