"""The page that refute shares with one node's preload shim of files: what to strike, what was struck.

The layout is that of `file_calls.c`; a change here is a change there, and of the magic number.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from refute.nemesis.preload.shared_page import SETTINGS_AT, SharedPage

CALLS = ("write", "pwrite", "writev", "pwritev", "fsync", "fdatasync", "sync_file_range", "msync")
"""The calls that it stands in front of, in the order of their counts; each with its variants."""

LONGEST_SLEEP_S = 0.5
"""A thread that waits looks after this time whether the fault is still on."""

_SETTING = struct.Struct("@IIIiq")
_HELD = struct.Struct("@256I")
_HELD_AT = SETTINGS_AT + 2 * _SETTING.size
_DIRECTORY_AT = _HELD_AT + _HELD.size
_DIRECTORY_SIZE = 4096


@dataclass(frozen=True, slots=True)
class CallSetting:
    """Which calls are struck, and how: `error` (an errno) fails them; where it is 0 they wait `delay_ns`.

    Of the calls of each thread every `every`th is struck, from the first on.
    """

    calls: tuple[str, ...]
    error: int = 0
    delay_ns: int = 0
    every: int = 1
    on: bool = True


LET_THROUGH = CallSetting((), on=False)


@dataclass(frozen=True, slots=True)
class CallCount:
    """Of one process: how often each call was struck, and how many calls were spared while a fault was on."""

    struck: dict[str, int]
    spared: int


class FileCallsPage(SharedPage):
    """The page of one node: all is let through, while nothing else is written to it."""

    variable: ClassVar[str] = "REFUTE_FILE_CALLS_PAGE"
    suffix: ClassVar[str] = ".calls"
    magic: ClassVar[bytes] = b"reffic01"
    setting_as: ClassVar[struct.Struct] = _SETTING
    slots_at: ClassVar[int] = _DIRECTORY_AT + _DIRECTORY_SIZE
    slot_as: ClassVar[struct.Struct] = struct.Struct(f"@II{len(CALLS)}QQ")

    def setting(self) -> CallSetting:
        """The setting that holds. Raises OSError where the page is gone."""
        on, mask, every, error, delay_ns = self.read_setting()
        calls = tuple(name for place, name in enumerate(CALLS) if mask >> place & 1)
        return CallSetting(calls, error, delay_ns, every, True) if on else LET_THROUGH

    def strike(self, setting: CallSetting, directory: Path) -> None:
        """From the next call on, for files below this directory, which is named as the node sees it.

        A writer killed half way changes nothing. Raises OSError; ValueError for a directory that is too long.
        """
        name = os.fsencode(directory)
        if len(name) >= _DIRECTORY_SIZE:
            raise ValueError(f"the name of the directory is longer than {_DIRECTORY_SIZE - 1} bytes")
        with self.path.open("r+b") as file:
            os.pwrite(file.fileno(), name + b"\0", _DIRECTORY_AT)
        self._set(setting)

    def let_through(self) -> None:
        """From the next call on nothing is struck; who waits is let go within `LONGEST_SLEEP_S`."""
        self._set(LET_THROUGH)

    def counts(self) -> dict[int, CallCount]:
        """What was counted in each process (pid) that has the shim in it, so far."""
        return {
            pid: CallCount(dict(zip(CALLS, struck, strict=True)), spared)
            for pid, _, *struck, spared in self.slots()
        }

    def held(self) -> tuple[int, ...]:
        """The threads that wait now, by the shim's word; one that was killed meanwhile is among them."""
        with self.path.open("rb") as file:
            raw = os.pread(file.fileno(), _HELD.size, _HELD_AT)
        return tuple(thread for thread in _HELD.unpack(raw) if thread)

    def _set(self, setting: CallSetting) -> None:
        mask = sum(1 << CALLS.index(name) for name in setting.calls)
        self.write_setting(setting.on, mask, setting.every, setting.error, setting.delay_ns)
