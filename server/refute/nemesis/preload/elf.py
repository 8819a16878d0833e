"""What an ELF file says of itself: the machine that it is for, the loader that it asks for, its sections."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

_PT_INTERP = 3


@dataclass(frozen=True, slots=True)
class Elf:
    """A program's file. `machine` is its word size class and its machine number; `loader` None: static."""

    machine: tuple[int, int]
    loader: str | None
    sections: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class _Layout:
    """How the file's head is packed, and of the headers of segments and sections: kind, offset, size."""

    head: str
    segment: str
    section: str


_LAYOUTS = {
    1: _Layout("HHIIIIIHHHHHH", "I I 8x I", "I 12x I I"),
    2: _Layout("HHIQQQIHHHHHH", "I 4x Q 16x Q", "I 20x Q Q"),
}


def read_elf(file: Path) -> Elf | None:
    """The facts of an ELF file; None where it is none. Raises OSError, struct.error where it is cut off."""
    raw = file.read_bytes()
    if raw[:4] != b"\x7fELF" or raw[4] not in _LAYOUTS:
        return None
    layout, order = _LAYOUTS[raw[4]], "<" if raw[5] == 1 else ">"
    head = struct.unpack_from(order + layout.head, raw, 16)
    machine, segments_at, sections_at = head[1], head[4], head[5]
    segment_bytes, segments, section_bytes, sections, names_at = head[8:13]

    def rows(form: str, at: int, size: int, count: int) -> list[tuple[int, int, int]]:
        return [struct.unpack_from(order + form, raw, at + place * size) for place in range(count)]

    loader = None
    for kind, at, size in rows(layout.segment, segments_at, segment_bytes, segments):
        if kind == _PT_INTERP:
            loader = raw[at : at + size].rstrip(b"\0").decode(errors="replace")
    named = rows(layout.section, sections_at, section_bytes, sections) if sections_at else []
    names = raw[named[names_at][1] :] if names_at < len(named) else b""
    return Elf(
        (raw[4], machine), loader, tuple(names[at : names.index(b"\0", at)] for at, _, _ in named if names)
    )
