"""Healing from a ledger: what the guard does, what a start-up sweep does, and what `refute heal` does."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from refute.nemesis.errors import NemesisError
from refute.nemesis.ledger import (
    MARK,
    DamagedLedgerError,
    Entry,
    Ledger,
    LedgerState,
    owner_is_alive,
    read_ledger,
    registered_ledgers,
    unreadable_pointers,
)
from refute.nemesis.undo import left_after
from refute.system.process_table import ProcessId, boot_id, is_alive, processes_with_mark

_GUARD_DONE_WITHIN_S = 10.0


@dataclass(slots=True)
class HealReport:
    """What was healed (fault to ledger directory), what is still on and why, which processes were ended.

    `untouched` are ledgers whose processes were left to somebody else, with the reason.
    """

    healed: dict[str, str] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    ended: list[str] = field(default_factory=list)
    untouched: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether nothing is left on."""
        return not self.failed


def heal_everything(ledger: Path | None = None) -> HealReport:
    """Undo every fault that is still on, of one ledger or of all that this user has; `refute heal`.

    Safe at any time and any number of times. Processes of a run are ended only where its owner is gone.
    """
    report = HealReport()
    known = registered_ledgers()
    if ledger is None:
        report.failed |= unreadable_pointers()
    else:
        known = {pointer: place for pointer, place in known.items() if place == ledger.resolve()} or {
            ledger / "unregistered": ledger
        }
    for pointer, directory in known.items():
        _heal_one(pointer, directory, report, by="hand", spare_living=False)
    return report


def sweep() -> HealReport:
    """At start-up: heal what an earlier run left that was killed together with its guard.

    Runs whose owner or guard still lives are left alone.
    """
    report = HealReport()
    for pointer, directory in registered_ledgers().items():
        _heal_one(pointer, directory, report, by="sweep", spare_living=True)
    return report


def heal_entries(ledger: Ledger, entries: Iterable[Entry], *, by: str, why: str) -> dict[str, str]:
    """Undo these faults and write down how it went; returns what is left of each that is not healed."""
    failed = {}
    for entry in entries:
        # Last applied, first undone.
        left = [still for undo in reversed(entry.undos) if (still := left_after(undo))]
        if unhealed := write_down(ledger, entry.fault, by, why, "; ".join(left)):
            failed[entry.fault] = unhealed
    return failed


def write_down(ledger: Ledger, fault: str, by: str, why: str, left: str | None) -> str | None:
    """Write into the ledger that a fault is healed, or what is left of it; what is left.

    One that is undone but not written down is not healed yet: others will undo it again.
    """
    try:
        if left:
            ledger.heal_failed(fault, by, left)
        else:
            ledger.healed(fault, by, why)
    except NemesisError as error:
        return left or f"it is undone, but {error}"
    return left or None


def end_processes(state: LedgerState) -> tuple[list[str], dict[str, str]]:
    """End what a run has started and is not a fault; which processes those were, what is left of which."""
    ended, failed = [], {}
    processes = {name: undo for name, undo in state.resources.items() if "leader" in undo["handle"]}
    for name, undo in processes.items():
        if not is_alive(ProcessId(*undo["handle"]["leader"])):
            continue
        ended.append(name)
        if left := left_after(undo):
            failed[name] = left
    # Those that were started a moment before the owner died, or that left their node's session.
    for process in processes_with_mark(MARK, state.run):
        ended.append(f"pid {process.pid}")
        handle = {"leader": [process.pid, process.started], "members": []}
        if left := left_after({"verb": "end", "handle": handle}):
            failed[f"pid {process.pid}"] = left
    # What processes held, such as a file system, can go only now: last made, first undone.
    for name, undo in reversed(state.resources.items()):
        if name not in processes and (left := left_after(undo)):
            failed[name] = left
    return ended, failed


def guard_of(directory: Path) -> ProcessId | None:
    """The guard of a ledger, where it has written down who it is."""
    with suppress(OSError, ValueError):
        pid, started = (directory / "guard").read_text().split()
        return ProcessId(int(pid), float(started))
    return None


def _is_gone_soon(process: ProcessId | None) -> bool:
    deadline = time.monotonic() + _GUARD_DONE_WITHIN_S
    while process is not None and is_alive(process):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _heal_one(pointer: Path, directory: Path, report: HealReport, *, by: str, spare_living: bool) -> None:
    try:
        state = read_ledger(directory)
    except DamagedLedgerError as error:
        report.failed[pointer.stem] = f"{error}; look yourself what is left of it, then remove {pointer}"
        return
    except NemesisError as error:
        if directory.exists():
            report.untouched.append(str(error))
        else:
            pointer.unlink(missing_ok=True)  # with its directory went everything that could be undone
        return
    if state.boot != boot_id():
        pointer.unlink(missing_ok=True)  # no process outlives a boot
        return
    lives = owner_is_alive(state)
    guard = guard_of(directory)
    guarded = guard is not None and is_alive(guard)
    if spare_living and (lives or guarded):
        report.untouched.append(f"{directory}: its run is alive")
        return
    if guarded and not lives:
        # It is about to heal and to end the nodes itself: whoever asked should find them gone, and two that
        # heal at once would each take for a failure what the other has done.
        if _is_gone_soon(guard):
            _heal_one(pointer, directory, report, by=by, spare_living=spare_living)
            return
        report.untouched.append(f"{directory}: its guard still has to end the processes of {state.run}")
    ledger = Ledger(directory, state.run)
    try:
        failed = heal_entries(
            ledger, state.on, by=by, why="asked for by hand" if by == "hand" else "left over"
        )
        report.healed |= {
            f"{e.fault} of {state.run}": str(directory) for e in state.on if e.fault not in failed
        }
        if not lives and not guarded:
            ended, survivors = end_processes(state)
            report.ended += ended
            failed |= survivors
        for number in state.unreadable:
            failed[f"line {number}"] = f"it cannot be read in {directory}: what it told may still be on"
        report.failed |= {f"{name} of {state.run}": left for name, left in failed.items()}
        if not failed and not lives and not guarded:
            with suppress(NemesisError):  # the pointer is what counts
                ledger.append("closed")
            pointer.unlink(missing_ok=True)
    finally:
        ledger.shut()
