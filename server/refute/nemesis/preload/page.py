"""The page that refute shares with the preload shim of one node: what its clock says, what was counted.

The layout is that of `shim.c`; a change here is a change there, and of the magic number.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import ClassVar

from refute.nemesis.preload.shared_page import SharedPage

SECOND_NS = 1_000_000_000


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


class ShimPage(SharedPage):
    """The page of one node: the true time, while nothing else is written to it."""

    variable: ClassVar[str] = "REFUTE_SHIM_PAGE"
    suffix: ClassVar[str] = ".page"
    magic: ClassVar[bytes] = b"refime01"
    setting_as: ClassVar[struct.Struct] = struct.Struct("@4q")
    slots_at: ClassVar[int] = 128
    slot_as: ClassVar[struct.Struct] = struct.Struct("@IIQQQ")

    def clock(self) -> ClockSetting:
        """The setting that holds. Raises OSError where the page is gone."""
        since_ns, said_ns, rate, on = self.read_setting()
        return ClockSetting(since_ns, said_ns, rate, bool(on))

    def set_clock(self, setting: ClockSetting) -> None:
        """What the node's processes see from their next call on. A writer killed half way changes nothing."""
        self.write_setting(setting.since_ns, setting.said_ns, setting.rate, setting.on)

    def counts(self) -> dict[int, Count]:
        """What each process (pid) that has the shim in it has asked for so far."""
        return {pid: Count(asked, altered) for pid, _, asked, altered, _ in self.slots()}
