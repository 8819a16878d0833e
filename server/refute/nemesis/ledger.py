"""The ledger: what has to be undone, on disk before it is done, and where the ledgers of all runs are."""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from refute.nemesis.errors import NemesisError
from refute.nemesis.undo import Undo
from refute.system.process_table import ProcessId, boot_id, identify, is_alive

MARK = "REFUTE_RUN"
"""Environment variable that every process of a run carries; its value is the run's id."""

_FILE = "ledger.jsonl"
_BEGINS = '{"record": "'


class DamagedLedgerError(NemesisError):
    """A ledger that says neither whose it is nor what has to be undone."""


@dataclass(slots=True)
class Entry:
    """One fault of a ledger. `deadline_ns` is monotonic; `healed_by` is None while the fault may be on."""

    fault: str
    plane: str
    kind: str
    targets: tuple[str, ...]
    undos: tuple[Mapping[str, Any], ...]
    deadline_ns: int
    healed_by: str | None = None
    healed_ns: int | None = None
    why: str = ""
    left: str | None = None


@dataclass(slots=True)
class LedgerState:
    """A ledger as read: its owner, its faults, the processes that it started, and whether it was closed.

    `unreadable` are the numbers of lines that somebody has damaged; what they told is not known.
    """

    run: str
    owner: ProcessId
    boot: str
    entries: dict[str, Entry] = field(default_factory=dict)
    resources: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    closed: bool = False
    unreadable: list[int] = field(default_factory=list)

    @property
    def on(self) -> list[Entry]:
        """The faults that may still be on."""
        return [entry for entry in self.entries.values() if entry.healed_by is None]


class Ledger:
    """Appends to the ledger of one run; every line is on disk when the call returns."""

    def __init__(self, directory: Path, run: str) -> None:
        self.directory = directory
        self.run = run
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._file = os.open(directory / _FILE, flags, 0o600)

    @classmethod
    def create(cls, directory: Path) -> Self:
        """A new ledger of this process, registered so that a later start finds it. Raises NemesisError."""
        run = uuid.uuid4().hex[:12]
        try:
            directory.mkdir(parents=True, exist_ok=True)
            if (directory / _FILE).exists():
                raise NemesisError(f"there is a ledger already in {directory}")
            registry().mkdir(parents=True, exist_ok=True, mode=0o700)
            pointer = registry() / f"{run}.json"
            pointer.write_text(json.dumps({"ledger": str(directory.resolve())}))
            ledger = cls(directory, run)
        except OSError as error:
            raise NemesisError(f"the ledger cannot be written: {error}") from error
        owner = identify(os.getpid())
        assert owner is not None
        ledger.append("opened", run=run, owner=[owner.pid, owner.started], boot=boot_id())
        return ledger

    def append(self, record: str, **fields: Any) -> None:
        """Write one line and wait until it is on disk. Raises NemesisError."""
        line = json.dumps({"record": record, "time_ns": time.monotonic_ns(), **fields}).encode() + b"\n"
        try:
            if self._ends_in_a_torn_line():
                line = b"\n" + line
            while line:  # a disk that is getting full takes a part
                line = line[os.write(self._file, line) :]
            os.fsync(self._file)
        except OSError as error:
            raise NemesisError(f"the ledger {self.directory} cannot be written: {error}") from error

    def planned(
        self,
        fault: str,
        plane: str,
        kind: str,
        targets: Iterable[str],
        undos: Iterable[Undo],
        deadline_ns: int,
    ) -> None:
        """A fault is about to be applied; from now on somebody heals it, whatever happens to us."""
        self.append(
            "planned",
            fault=fault,
            plane=plane,
            kind=kind,
            targets=list(targets),
            undos=[undo.as_json() for undo in undos],
            deadline_ns=deadline_ns,
        )

    def healing(self, fault: str, until_ns: int) -> None:
        """The owner undoes it now; the guard leaves that to it until this monotonic time."""
        self.append("healing", fault=fault, until_ns=until_ns)

    def healed(self, fault: str, by: str, why: str = "") -> None:
        """A fault was seen to be gone."""
        self.append("healed", fault=fault, by=by, why=why)

    def heal_failed(self, fault: str, by: str, left: str) -> None:
        """An attempt to heal left something on."""
        self.append("heal-failed", fault=fault, by=by, left=left)

    def resource(self, name: str, undo: Undo) -> None:
        """A process was started that has to end when we are gone."""
        self.append("resource", name=name, undo=undo.as_json())

    def close(self, *, unregister: bool) -> None:
        """The run is over; with `unregister` nothing is left that a later start would have to look at."""
        with suppress(NemesisError):  # nothing is left, and the pointer is what counts
            self.append("closed")
        self.shut()
        if unregister:
            (registry() / f"{self.run}.json").unlink(missing_ok=True)

    def shut(self) -> None:
        """Let go of the file without a word in it."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _ends_in_a_torn_line(self) -> bool:
        # Ours or one of the guard's: a write that was refused in its middle, so that nobody acted on it.
        size = os.fstat(self._file).st_size
        return size > 0 and os.pread(self._file, 1, size - 1) != b"\n"


def read_ledger(directory: Path) -> LedgerState:
    """What a ledger says. Lines that were cut off while they were written are left out, as nobody has acted
    on them; of other unreadable lines the numbers are kept.

    Raises NemesisError where there is nothing to read, DamagedLedgerError where its owner cannot be read.
    """
    try:
        lines = (directory / _FILE).read_text(errors="replace").splitlines()
    except OSError as error:
        raise NemesisError(f"no ledger can be read: {error.strerror}", where=directory) from error
    state: LedgerState | None = None
    unreadable = []
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
            if record["record"] == "opened":
                state = LedgerState(record["run"], ProcessId(*record["owner"]), record["boot"])
            elif state is not None:
                _take_in(state, record)
        except (ValueError, KeyError, TypeError, AttributeError):
            if line and not _is_torn(line):
                unreadable.append(number)
    if state is None and any(lines):
        raise DamagedLedgerError("the ledger does not say whose it is", where=directory / _FILE)
    if state is None:
        raise NemesisError("the ledger is empty", where=directory)
    state.unreadable = unreadable
    return state


def _is_torn(line: str) -> bool:
    begins = line.startswith(_BEGINS) or _BEGINS.startswith(line)
    return begins and not line.endswith("}")


def ledger_changed_ns(directory: Path) -> int:
    """When the ledger was last written to; 0 where it is gone."""
    try:
        return (directory / _FILE).stat().st_mtime_ns
    except OSError:
        return 0


def owner_is_alive(state: LedgerState) -> bool:
    """Whether the process that opened the ledger still runs."""
    return state.boot == boot_id() and is_alive(state.owner)


def state_directory() -> Path:
    """Where refute keeps what outlives a run: `REFUTE_STATE`, else the user's state directory."""
    if given := os.environ.get("REFUTE_STATE"):
        return Path(given)
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "refute"


def registry() -> Path:
    """The directory with a pointer to each ledger that was not closed with nothing left."""
    return state_directory() / "ledgers"


def registered_ledgers() -> dict[Path, Path]:
    """The pointers of the registry, and the ledger directory that each names."""
    found = {}
    for pointer in sorted(registry().glob("*.json")):
        try:
            found[pointer] = Path(json.loads(pointer.read_text())["ledger"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return found


def unreadable_pointers() -> dict[str, str]:
    """What of the registry cannot be read, and why; what is registered there may still be on.

    As where a run was made with `sudo` in the home of an ordinary user. An empty pointer is of a run that
    was killed before anything could be on.
    """
    troubles = {}
    try:
        names = [name for name in os.listdir(registry()) if name.endswith(".json")]  # noqa: PTH208 (glob hides errors)
    except FileNotFoundError:
        return {}
    except OSError as error:
        return {str(registry()): f"cannot be read: {error.strerror}"}
    for pointer in (registry() / name for name in names):
        try:
            if text := pointer.read_text():
                Path(json.loads(text)["ledger"])
        except FileNotFoundError:
            continue  # closed meanwhile
        except OSError as error:
            troubles[str(pointer)] = f"cannot be read: {error.strerror}"
        except (ValueError, KeyError, TypeError):
            troubles[str(pointer)] = "does not say where its ledger is; look yourself what is left of its run"
    return troubles


def _take_in(state: LedgerState, record: Mapping[str, Any]) -> None:
    kind = record["record"]
    if kind == "planned":
        state.entries[record["fault"]] = Entry(
            record["fault"],
            record["plane"],
            record["kind"],
            tuple(record["targets"]),
            tuple(record["undos"]),
            record["deadline_ns"],
        )
    elif kind == "healed" and (entry := state.entries.get(record["fault"])) and entry.healed_by is None:
        entry.healed_by, entry.healed_ns, entry.left = record["by"], record["time_ns"], None
        entry.why = record["why"]
    elif kind == "healing" and (entry := state.entries.get(record["fault"])):
        entry.deadline_ns = max(entry.deadline_ns, int(record["until_ns"]))
    elif kind == "heal-failed" and (entry := state.entries.get(record["fault"])):
        entry.left = record["left"]
    elif kind == "resource":
        leader = record["undo"]["handle"].get("leader")
        state.resources[f"{record['name']} (pid {leader[0]})" if leader else record["name"]] = record["undo"]
    elif kind == "closed":
        state.closed = True
