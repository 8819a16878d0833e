"""One fault in the hands of the nemesis, from plan to heal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from refute.history.fault import FaultPhase, Landing
from refute.nemesis.evidence import Around
from refute.nemesis.plane import Fault, Plane
from refute.nemesis.undo import Undo
from refute.plan.step import FaultAction
from refute.system.observer import Seen


@dataclass(slots=True)
class Injection:
    """A fault with its plane, its evidence so far and its phase; `heal_at_s` is monotonic."""

    fault: Fault
    plane: Plane
    action: FaultAction
    targets: tuple[str, ...]
    undos: tuple[Undo, ...]
    around: Around
    phase: FaultPhase = FaultPhase.PLANNED
    heal_at_s: float | None = None
    healed_ns: int | None = None
    note: str = ""
    pids: Mapping[str, int] = field(default_factory=dict)
    landing: Landing | None = None


@dataclass(frozen=True, slots=True)
class Healed:
    """Which faults were healed, and what is left of each that was not."""

    healed: tuple[str, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)


ON = (FaultPhase.APPLIED, FaultPhase.HEALING, FaultPhase.HEAL_FAILED)


def is_meant(injection: Injection, what: str) -> bool:
    """Whether a name that a step heals means this fault: its id, its label, one of its nodes, `all`."""
    named = ("all", injection.fault.id, injection.action.label)
    return what in named or what in injection.fault.nodes


def as_trigger(trigger: Seen | Mapping[str, Any] | None, on_ns: int) -> Mapping[str, Any] | None:
    """What was waited for, as an event records it, with the delay from its being seen to the fault."""
    if trigger is None:
        return None
    if isinstance(trigger, Seen):
        return {
            "seen_ns": trigger.time_ns,
            "read_ns": trigger.read_ns,
            "roles": dict(trigger.roles),
            "delay_ns": on_ns - trigger.time_ns,
        }
    return dict(trigger)
