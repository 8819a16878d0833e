"""Faults as stretches of time: when each was on, at whom, and whether it landed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from refute.history import FaultEvent, FaultPhase, Landing, Signal


@dataclass(frozen=True, slots=True)
class Band:
    """One fault. `until_ns` is None where its end was not recorded; `landed` None where no evidence was."""

    fault: str
    plane: str
    kind: str
    targets: tuple[str, ...]
    from_ns: int
    until_ns: int | None
    landed: bool | None
    heal_failed: bool = False
    signals: tuple[str, ...] = ()


def bands_of(events: Iterable[FaultEvent], landings: Iterable[Landing] | None = None) -> tuple[Band, ...]:
    """The faults that were applied, in that order; `landings` is None where there is no `landing.json`."""
    evidence = None if landings is None else {landing.fault: landing for landing in landings}
    applied: dict[str, FaultEvent] = {}
    healed: dict[str, int] = {}
    failed: set[str] = set()
    for event in events:
        if event.phase is FaultPhase.APPLIED:
            applied.setdefault(event.fault, event)
        elif event.phase is FaultPhase.HEALED:
            healed[event.fault] = event.time_ns
        elif event.phase is FaultPhase.HEAL_FAILED:
            failed.add(event.fault)
    return tuple(
        _band(event, healed.get(fault), fault in failed, evidence) for fault, event in applied.items()
    )


def _band(
    event: FaultEvent, until_ns: int | None, heal_failed: bool, evidence: Mapping[str, Landing] | None
) -> Band:
    landing = None if evidence is None else evidence.get(event.fault)
    landed = None if evidence is None else landing is not None and landing.landed
    signals = () if landing is None else tuple(_reading(signal) for signal in landing.signals if signal.moved)
    return Band(
        event.fault,
        event.plane,
        event.kind,
        event.targets,
        event.time_ns,
        until_ns,
        landed,
        heal_failed,
        signals,
    )


def _reading(signal: Signal) -> str:
    after = "" if signal.after is None else f" → {signal.after}"
    return f"{signal.side}: {signal.name} at {signal.source}: {signal.before} → {signal.during}{after}"
