"""The guard: a process of its own that heals when the owner of a ledger dies, hangs, or a fault is overdue.

`python -m refute.nemesis.guard LEDGER`, with the reading end of the owner's heartbeat pipe as its input.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from refute.interpreter import python
from refute.nemesis.errors import NemesisError
from refute.nemesis.healing import end_processes, guard_of, heal_entries
from refute.nemesis.ledger import (
    Ledger,
    LedgerState,
    ledger_changed_ns,
    owner_is_alive,
    read_ledger,
    registry,
)
from refute.system.process_table import ProcessId, identify, is_alive

_TICK_S = 0.1
_UP_WITHIN_S = 10.0
_RETRY_FOR_S = 120.0
_DYING_FOR_S = 2.0


def start_guard(directory: Path, hang_s: float) -> int:
    """Start the guard of a ledger and return the writing end of its pipe: each byte is a heartbeat.

    Returns when the guard watches. Raises NemesisError where it does not come up.
    """
    reading, writing = os.pipe()
    with (directory / "guard.log").open("ab") as log:
        starter = subprocess.Popen(
            python("-m", "refute.nemesis.guard", str(directory), str(hang_s)),
            stdin=reading,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    os.close(reading)
    deadline = time.monotonic() + _UP_WITHIN_S
    starter.wait()  # it forks and ends at once, so that the guard is nobody's child
    while (guard := guard_of(directory)) is None or not is_alive(guard):
        if starter.returncode or time.monotonic() > deadline:
            os.close(writing)
            said = (directory / "guard.log").read_text(errors="replace")[-500:].strip()
            raise NemesisError(f"the guard does not come up: {said}", where=directory)
        time.sleep(0.002)
    return writing


def main(arguments: list[str]) -> int:
    """Leave the owner's process tree, then watch until the ledger is closed or its owner is gone."""
    directory, hang_s = Path(arguments[0]).resolve(), float(arguments[1])
    if os.fork():
        os._exit(0)
    os.setsid()
    os.chdir("/")
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    me = identify(os.getpid())
    assert me is not None
    partial = directory / "guard.partial"
    partial.write_text(f"{me.pid} {me.started}")
    partial.replace(directory / "guard")
    Guard(directory, hang_s).watch(sys.stdin.fileno())
    return 0


class Guard:
    """Watches one ledger. Keeps what it has read, should the directory be deleted under it."""

    def __init__(self, directory: Path, hang_s: float) -> None:
        self.directory = directory
        self.hang_s = hang_s
        self.state: LedgerState = read_ledger(directory)
        self.ledger = Ledger(directory, self.state.run)
        self._read_at = 0
        self._asked_to_end = False
        signal.signal(signal.SIGTERM, self._on_sigterm)

    def watch(self, heartbeat: int) -> None:
        """Return when nothing is left to guard."""
        beaten, open_ = time.monotonic(), True
        seen_silent: set[str] = set()  # faults that were healed, or tried, in this silence
        while True:
            ready = select.select([heartbeat] if open_ else [], [], [], _TICK_S)[0]
            if ready:
                open_ = bool(os.read(heartbeat, 4096))
                beaten = time.monotonic()
                seen_silent.clear()
            self._refresh()
            if self.state.closed:
                return
            # The pipe tells at once; but a forked child of the owner may hold its other end open.
            if not open_ or self._asked_to_end or not owner_is_alive(self.state):
                self._after_the_owner()
                return
            if time.monotonic() - beaten > self.hang_s:
                # One that was put on in the middle of it is as unattended as the others.
                unattended = [entry.fault for entry in self.state.on if entry.fault not in seen_silent]
                seen_silent |= set(unattended)
                if unattended:
                    self._heal(f"the owner has been silent for {self.hang_s:g} s", unattended)
            now = time.monotonic_ns()
            overdue = [entry.fault for entry in self.state.on if entry.deadline_ns < now]
            if overdue:
                self._heal("its time is up", overdue)

    def _after_the_owner(self) -> None:
        # The owner may have closed the ledger as its last act.
        why = "asked to end" if self._asked_to_end else "the owner is gone"
        deadline = time.monotonic() + _RETRY_FOR_S
        pause_s = 0.2
        while True:
            self._refresh()
            if self.state.closed:
                return
            failed = self._heal(why)
            gone = self._owner_goes()
            survivors = end_processes(self.state)[1] if gone else {}
            if not failed and not survivors:
                break
            print(f"left: {failed | survivors}", file=sys.stderr, flush=True)  # noqa: T201 (its log)
            if time.monotonic() > deadline:
                return  # the pointer stays in the registry: the next start tries again
            time.sleep(pause_s)
            pause_s = min(pause_s * 2, 5.0)
        if gone and not self.state.unreadable:
            with suppress(NemesisError):  # the pointer is what counts
                self.ledger.append("closed")
            (registry() / f"{self.state.run}.json").unlink(missing_ok=True)

    def _owner_goes(self) -> bool:
        # A dying process closes its end of the pipe a moment before it is gone. One that asked us to end, or
        # gave up healing, may live on: its nodes are its own then.
        deadline = time.monotonic() + _DYING_FOR_S
        while owner_is_alive(self.state):
            if self._asked_to_end or time.monotonic() > deadline:
                return False
            time.sleep(0.002)
        return True

    def _heal(self, why: str, only: list[str] | None = None) -> dict[str, str]:
        entries = [entry for entry in self.state.on if only is None or entry.fault in only]
        failed = heal_entries(self.ledger, entries, by="guard", why=why)
        for entry in entries:
            if entry.fault in failed:
                entry.deadline_ns = time.monotonic_ns() + 1_000_000_000  # once more in a second
            else:
                entry.healed_by = "guard"
        return failed

    def _refresh(self) -> None:
        changed = ledger_changed_ns(self.directory)
        if changed and changed != self._read_at:
            retries = {entry.fault: entry.deadline_ns for entry in self.state.on}
            try:
                self.state = read_ledger(self.directory)
            except NemesisError as error:
                print(error, file=sys.stderr, flush=True)  # noqa: T201 (its log); what is known still holds
                return
            self._read_at = changed
            for entry in self.state.on:
                entry.deadline_ns = max(entry.deadline_ns, retries.get(entry.fault, 0))

    def _on_sigterm(self, *_: object) -> None:
        self._asked_to_end = True


def guard_is_alive(directory: Path) -> bool:
    """Whether the guard of a ledger runs."""
    guard: ProcessId | None = guard_of(directory)
    return guard is not None and is_alive(guard)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
