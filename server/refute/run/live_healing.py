"""Heals live systems from their ledgers when a host is gone or silent, and all that is left here."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from refute.errors import RefuteError
from refute.nemesis.healing import HealReport, guard_of, heal_everything
from refute.nemesis.ledger import MARK, read_ledger
from refute.nemesis.undo import left_after
from refute.run.fault_evidence import fault_evidence
from refute.run.live_client import ask
from refute.run.live_record import LiveError, LiveRecord, now, records, write_record
from refute.session.files import plain
from refute.system.process_table import is_alive, processes_with_mark

_GUARD_DONE_WITHIN_S = 20.0


@dataclass(frozen=True, slots=True)
class HealedFromLedger:
    """What healing without the host did; `verified` are sentences, each on something looked at."""

    report: HealReport
    faults: list[dict[str, Any]]
    verified: list[str] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)


def heal_from_ledger(record: LiveRecord) -> HealedFromLedger:
    """Undo what a live system's ledger says, whether or not its host lives, and look at each thing again.

    The guard of a host that has just died is given time to do its work first, so that the answer tells who
    did what. A crashed system with nothing left is noted as ended. Raises NemesisError, HistoryError.
    """
    if not (record.ledger / "ledger.jsonl").is_file():
        if record.state == "crashed":
            write_record(
                record.model_copy(update={"written": "ended", "ended": now(), "why": "its host crashed"})
            )
        return HealedFromLedger(HealReport(), [], ["it had no ledger yet, so that no fault was ever on"])
    crashed = record.state == "crashed"
    if crashed:
        _let_the_guard_finish(record.ledger)
    report = heal_everything(record.ledger)
    state = read_ledger(record.ledger)
    verified, left = [], dict(report.failed)
    for name, entry in state.entries.items():
        still = [words for undo in reversed(entry.undos) if (words := left_after(undo))]
        if still:
            left[name] = "; ".join(still)
        else:
            verified.append(
                f"{name} ({entry.plane} {entry.kind} at {', '.join(entry.targets)}): nothing of it is left"
            )
    if crashed:
        survivors = processes_with_mark(MARK, state.run)
        if survivors:
            left["processes"] = ", ".join(f"pid {process.pid}" for process in survivors)
        else:
            verified.append(f"no process of run {state.run} is left")
        if not left:
            ended = {
                "written": "ended",
                "ended": now(),
                "why": "its host crashed; everything it left is undone",
            }
            write_record(record.model_copy(update=ended))
            Path(record.socket).unlink(missing_ok=True)
    return HealedFromLedger(report, plain(fault_evidence(Path(record.folder))), verified, left)


def heal_live(record: LiveRecord, what: str) -> dict[str, Any] | HealedFromLedger:
    """Heal through the host, which goes on; from the ledger where the host is gone or does not answer.

    Raises LiveInputError for what is neither a fault, a label nor a node of it.
    """
    if record.alive:
        try:
            return ask(record, "heal", what=what)
        except LiveError:
            if what != "all" and record.alive:
                raise
    return heal_from_ledger(record)


def heal_machine() -> tuple[dict[str, dict[str, Any] | HealedFromLedger], HealReport]:
    """Everything of this user that is still on: each live system by its id, then every other ledger."""
    healed: dict[str, dict[str, Any] | HealedFromLedger] = {}
    failed: dict[str, str] = {}
    for record in records():
        if record.state in ("starting", "ready", "crashed"):
            try:
                healed[record.id] = heal_live(record, "all")
            except RefuteError as error:
                failed[record.id] = str(error)
    report = heal_everything()
    report.failed |= failed
    return healed, report


def _let_the_guard_finish(ledger: Path) -> None:
    limit = time.monotonic() + _GUARD_DONE_WITHIN_S
    while (guard := guard_of(ledger)) is not None and is_alive(guard) and time.monotonic() < limit:
        time.sleep(0.05)
