"""The page that refute shares with a library in one node's processes: what all such pages have in common.

A magic number, two settings of which the one of the turn's parity holds, a slot for each process: as
`shared_page.h` reads them.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

_TURN_AT = 8
SETTINGS_AT = 16
SLOTS = 1024


class SharedPage:
    """The page of one node. It is written and read as a file; the library has it mapped."""

    variable: ClassVar[str]
    """Names the page to the library."""
    suffix: ClassVar[str]
    """Of its file, which is called after the node."""
    magic: ClassVar[bytes]
    setting_as: ClassVar[struct.Struct]
    slots_at: ClassVar[int]
    slot_as: ClassVar[struct.Struct]
    """What is counted for one process; first its pid, 0 in a slot that nobody has."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def environment(self) -> dict[str, str]:
        """What a process with the library in it needs to find the page."""
        return {self.variable: str(self.path)}

    def create(self) -> None:
        """An empty page: nothing is on. A node that drops root's privileges may write to it."""
        size = self.slots_at + SLOTS * self.slot_as.size
        self.path.write_bytes(self.magic + bytes(size - len(self.magic)))
        self.path.chmod(0o666 if os.geteuid() == 0 else 0o600)

    def read_setting(self) -> tuple[Any, ...]:
        """The setting that holds. Raises OSError where the page is gone."""
        with self.path.open("rb") as file:
            at = self._setting_at(self._turn(file.fileno()))
            return self.setting_as.unpack(os.pread(file.fileno(), self.setting_as.size, at))

    def write_setting(self, *values: Any) -> None:
        """What holds from the next call of a process on. A writer killed half way changes nothing."""
        raw = self.setting_as.pack(*values)
        with self.path.open("r+b") as file:
            turn = self._turn(file.fileno()) + 1
            os.pwrite(file.fileno(), raw, self._setting_at(turn))
            os.pwrite(file.fileno(), bytes([turn % 256]), _TURN_AT)

    def slots(self) -> Iterator[tuple[Any, ...]]:
        """The slots that processes have."""
        raw = self.path.read_bytes()[self.slots_at :]
        return (slot for slot in self.slot_as.iter_unpack(raw) if slot[0])

    @classmethod
    def _setting_at(cls, turn: int) -> int:
        return SETTINGS_AT + turn % 2 * cls.setting_as.size

    @staticmethod
    def _turn(file: int) -> int:
        return os.pread(file, 1, _TURN_AT)[0]
