"""What is known of the faults of one folder, from its records alone, whoever has written them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from refute.history.fault import FaultEvent, Landing
from refute.history.faults_log import read_faults, read_landing
from refute.nemesis.ledger import Entry, read_ledger


def fault_evidence(folder: Path, landings: Sequence[Landing] | None = None) -> list[dict[str, Any]]:
    """Each fault of a run, in order: what it is, whether it is on, its events, and the evidence for it.

    `on` and `healed_by` are what the ledger says, which the guard writes too. `landings` are those in
    memory where the caller has them; else `landing.json` is read. Raises HistoryError, NemesisError.
    """
    if not (folder / "ledger" / "ledger.jsonl").is_file():
        return []  # it was never prepared, so that no fault can be on
    state = read_ledger(folder / "ledger")
    events = read_faults(folder / "faults.jsonl")
    if landings is None:
        landings = read_landing(folder / "landing.json") if (folder / "landing.json").is_file() else ()
    by_fault = {landing.fault: landing for landing in landings}
    return [
        _one(entry, [event for event in events if event.fault == name], by_fault.get(name))
        for name, entry in state.entries.items()
    ]


def _one(entry: Entry, events: Sequence[FaultEvent], landing: Landing | None) -> dict[str, Any]:
    detail = events[0].detail if events else {}
    on = entry.healed_by is None
    return {
        "fault": entry.fault,
        "plane": entry.plane,
        "kind": entry.kind,
        "targets": list(entry.targets),
        "parameters": dict(detail.get("parameters", {})),
        "label": detail.get("label"),
        "on": on,
        "guard_heals_in_s": round((entry.deadline_ns - time.monotonic_ns()) / 1e9, 1) if on else None,
        "healed_by": entry.healed_by,
        "why": entry.why,
        "left": entry.left or "",
        "landed": landing.landed if landing else None,
        "missing": list(landing.missing) if landing else [],
        "note": landing.note if landing else "",
        "signals": [
            {
                "side": signal.side,
                "name": signal.name,
                "before": signal.before,
                "during": signal.during,
                "after": signal.after,
                "moved": signal.moved,
            }
            for signal in (landing.signals if landing else ())
        ],
        "events": [
            {
                "phase": event.phase.value,
                "time_ns": event.time_ns,
                "delay_ms": _delay_ms(event),
                "detail": {key: value for key, value in event.detail.items() if key != "parameters"},
            }
            for event in events
        ],
    }


def _delay_ms(event: FaultEvent) -> float | None:
    delay = (event.trigger or {}).get("delay_ns")
    return None if delay is None else round(delay / 1e6, 3)
