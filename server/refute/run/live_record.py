"""The notes on live systems, from which every caller finds the host of one, or learns of its end."""

from __future__ import annotations

import datetime
import os
import secrets
import tempfile
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from refute.errors import InputError, UnavailableError
from refute.nemesis.ledger import state_directory
from refute.session.files import write_text
from refute.system.process_table import ProcessId, boot_id, is_alive

_LONGEST_SOCKET_PATH = 100  # the kernel takes 108 bytes, macOS 104
_KEPT_FOR = datetime.timedelta(days=1)

LiveState = Literal["starting", "ready", "ended", "failed", "crashed"]


class LiveError(UnavailableError):
    """A live system does not answer, or cannot do what it is asked now."""


class LiveInputError(InputError):
    """What was asked of a live system cannot be meant."""


class LiveSpec(BaseModel):
    """`live.json` in the folder of a live system: all that its host has to know."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    system: str
    plan: str
    plan_dir: str
    folder: str
    variables: dict[str, str] = {}
    planes: tuple[str, ...] = ()
    file_system: str | None = None
    calls_through: str | None = None
    seed: int
    idle_s: float


class LiveRecord(BaseModel):
    """One live system as its host has noted it. `written` is what the host last said of itself."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    system: str
    plan: str
    folder: str
    socket: str
    host: tuple[int, float]
    boot: str
    began: str
    written: LiveState = "starting"
    ended: str | None = None
    why: str = ""

    @property
    def alive(self) -> bool:
        """Whether the host runs and has not ended the system."""
        return self.state in ("starting", "ready")

    @property
    def state(self) -> LiveState:
        """What it is now: a host that is gone without a word has crashed."""
        if self.written not in ("starting", "ready"):
            return self.written
        here = self.boot == boot_id() and is_alive(ProcessId(*self.host))
        return self.written if here else "crashed"

    @property
    def ledger(self) -> Path:
        """The directory of its ledger."""
        return Path(self.folder) / "ledger"


def live_directory() -> Path:
    """The directory of the records, which nobody else may enter. Raises LiveError."""
    directory = state_directory() / "live"
    try:
        directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        if directory.stat().st_uid != os.getuid():
            raise LiveError("it belongs to somebody else", where=directory)
        directory.chmod(0o700)
    except OSError as error:
        raise LiveError(f"cannot be used: {error.strerror}", where=directory) from error
    return directory


def new_id(system: str) -> str:
    """An id that no record has."""
    name = "".join(letter if letter.isalnum() else "-" for letter in system)[:20]
    while True:
        made = f"{name}-{secrets.token_hex(2)}"
        if not _path(made).exists():
            return made


def socket_path(identity: str) -> Path:
    """Where the host of that id listens: beside its record, or in a folder of its own if that is too long.

    A socket's address holds about a hundred bytes; both places are open to this user alone.
    """
    beside = live_directory() / f"{identity}.sock"
    if len(os.fsencode(beside)) <= _LONGEST_SOCKET_PATH:
        return beside
    return Path(tempfile.mkdtemp(prefix="refute-")) / "live"


def write_record(record: LiveRecord) -> None:
    """Note it; a reader sees the old record or the new one, whole."""
    write_text(_path(record.id), record.model_dump_json(indent=2) + "\n")


def records() -> list[LiveRecord]:
    """Every live system of this user, the newest first; those that ended more than a day ago are forgotten.

    Crashed ones stay until somebody has healed them.
    """
    found = []
    for path in live_directory().glob("*.json"):
        record = _read(path)
        if record is None:
            continue
        if record.ended and _age(record.ended) > _KEPT_FOR:
            path.unlink(missing_ok=True)
            continue
        found.append(record)
    return sorted(found, key=lambda record: record.began, reverse=True)


def record_of(identity: str | None) -> LiveRecord:
    """The live system of that id; None means the only one that runs. Raises LiveInputError."""
    known = records()
    if identity is None:
        alive = [record for record in known if record.alive]
        if len(alive) == 1:
            return alive[0]
        which = ", ".join(record.id for record in alive) or "none runs"
        raise LiveInputError(f"say which live system is meant: {which}", hint="action list shows all")
    for record in known:
        if record.id == identity:
            return record
    names = ", ".join(record.id for record in known) or "none"
    raise LiveInputError(f"there is no live system {identity!r}; there are: {names}")


def now() -> str:
    """The time of day as records and logs have it."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def _path(identity: str) -> Path:
    return live_directory() / f"{identity}.json"


def _read(path: Path) -> LiveRecord | None:
    try:
        return LiveRecord.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None  # another version's, or gone since it was listed


def _age(stamp: str) -> datetime.timedelta:
    return datetime.datetime.now(datetime.UTC) - datetime.datetime.fromisoformat(stamp)
