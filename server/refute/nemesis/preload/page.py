"""The page that refute shares with the preload shim of one node: what its clock says, what was counted.

The layout is that of `shim.c`; a change here is a change there, and of the magic number.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path

SECOND_NS = 1_000_000_000

_MAGIC = b"refime01"
_TURN_AT = 8
_SETTING = struct.Struct("@4q")
_SETTINGS_AT = 16
_SLOT = struct.Struct("@IIQQQ")
_SLOTS_AT = 128
_SLOTS = 1024
_SIZE = _SLOTS_AT + _SLOTS * _SLOT.size


@dataclass(frozen=True, slots=True)
class ClockSetting:
    """What a wall clock says: `said_ns` at the true time `since_ns`, and from then on at `rate` of its speed.

    `rate` is in billionths. Times are ns since the epoch.

    >>> ClockSetting(1_000, 5_000, SECOND_NS // 2, True).at(1_100)
    5050
    """

    since_ns: int
    said_ns: int
    rate: int
    on: bool

    def at(self, true_ns: int) -> int:
        """What the clock says at a true time."""
        return self.said_ns + (true_ns - self.since_ns) * self.rate // SECOND_NS if self.on else true_ns

    @property
    def words(self) -> str:
        """In words that differ where the settings do, whatever the time is."""
        if not self.on:
            return "true"
        off = (self.said_ns - self.since_ns) / SECOND_NS
        if self.rate == SECOND_NS:
            return f"{off:+.3f} s"
        return "stands still" if self.rate == 0 else f"runs at {self.rate / SECOND_NS:g}"


TRUE_TIME = ClockSetting(0, 0, SECOND_NS, False)


@dataclass(frozen=True, slots=True)
class Count:
    """How often one process asked for the wall clock, and how often it was not told the truth."""

    asked: int
    altered: int


class ShimPage:
    """The page of one node. It is written and read as a file; the shim has it mapped."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def create(self) -> None:
        """An empty page, with the true time; a node that drops root's privileges may write to it."""
        self.path.write_bytes(_MAGIC + bytes(_SIZE - len(_MAGIC)))
        self.path.chmod(0o666 if os.geteuid() == 0 else 0o600)

    def clock(self) -> ClockSetting:
        """The setting that holds. Raises OSError where the page is gone."""
        with self.path.open("rb") as file:
            turn = self._turn(file.fileno())
            raw = os.pread(file.fileno(), _SETTING.size, _SETTINGS_AT + turn % 2 * _SETTING.size)
        since_ns, said_ns, rate, on = _SETTING.unpack(raw)
        return ClockSetting(since_ns, said_ns, rate, bool(on))

    def set_clock(self, setting: ClockSetting) -> None:
        """What the node's processes see from their next call on. A writer killed half way changes nothing."""
        raw = _SETTING.pack(setting.since_ns, setting.said_ns, setting.rate, setting.on)
        with self.path.open("r+b") as file:
            turn = self._turn(file.fileno()) + 1
            os.pwrite(file.fileno(), raw, _SETTINGS_AT + turn % 2 * _SETTING.size)
            os.pwrite(file.fileno(), bytes([turn % 256]), _TURN_AT)

    def counts(self) -> dict[int, Count]:
        """What each process (pid) that has the shim in it has asked for so far."""
        raw = self.path.read_bytes()[_SLOTS_AT:]
        found = {}
        for pid, _, asked, altered, _ in _SLOT.iter_unpack(raw):
            if pid == 0:
                break
            found[pid] = Count(asked, altered)
        return found

    @staticmethod
    def _turn(file: int) -> int:
        return os.pread(file, 1, _TURN_AT)[0]
