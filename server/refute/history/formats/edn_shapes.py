"""Takes the lines of a Jepsen history apart by what they have in common, many at a time, without a parser."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from refute.history.formats import edn

Around = tuple[bytes, bytes]
"""What stands before a field and what behind it."""

_CUTS = (b", :", b" :")
_NEEDED = frozenset({"type", "process", "value"})


@dataclass(frozen=True)
class Shape:
    """What lines of one look have in common: a `cut` between their fields, and the text around each.

    Cut at `, :` the line `{:type :ok, :process 3}` has `{:type :` before `ok` and `process ` before `3`.
    """

    cut: bytes
    around: dict[str, Around]

    def cells(self, lines: list[bytes]) -> tuple[Sequence[int], dict[str, list[bytes]]]:
        """The places of the lines that may look like this, and their cells, field by field. Linear.

        A cell is a field with the text around it. `bare` makes sure that it is, and only that all cells
        of a line are makes the line one of this look.
        """
        width = len(self.around)
        fit: Sequence[int] = range(len(lines))
        cells = self.cut.join(lines).split(self.cut)
        if len(cells) != width * len(lines):
            fit = [place for place, line in enumerate(lines) if line.count(self.cut) == width - 1]
            cells = self.cut.join([lines[place] for place in fit]).split(self.cut) if fit else []
        return fit, {name: cells[place::width] for place, name in enumerate(self.around)}

    def fits(self, line: bytes) -> bool:
        """Whether a line looks like this; `cells` is much faster for many lines."""
        return line.count(self.cut) == len(self.around) - 1 and bool(self._pattern.fullmatch(line))

    @cached_property
    def _pattern(self) -> re.Pattern[bytes]:
        fields = (re.escape(before) + rb".+?" + re.escape(after) for before, after in self.around.values())
        return re.compile(re.escape(self.cut).join(fields))


def bare(cells: list[bytes], around: Around) -> bytes:
    """The fields in these cells, a line each. Raises ValueError for a cell with another text around it."""
    before, after = around
    text = b"\n" + b"\n".join(cells) + b"\n"
    found = text.replace(b"\n" + before, b"\n")
    if after:
        found = found.replace(after + b"\n", b"\n")
    if len(text) - len(found) != len(cells) * (len(before) + len(after)):
        raise ValueError("other text than that of the shape")
    return found[1:-1]


def shape_of(line: bytes, plain: Callable[[Any], bool]) -> Shape | None:
    """The shape of a line, where it is a flat map of keywords that makes a `plain` record; None otherwise."""
    try:
        record = edn.loads(line.decode())
    except ValueError:
        return None
    if not plain(record) or not set(record) >= _NEEDED:
        return None
    for cut in _CUTS:
        cells = line.split(cut)
        if len(cells) == len(record):
            around = {}
            for place, (name, cell) in enumerate(zip(record, cells, strict=True)):
                match = re.fullmatch(
                    rb"(%s%s[ \t]+%s)(.+?)(%s)"
                    % (
                        b"" if place else rb"[ \t]*(?:#[\w.]+[ \t]*)?\{[ \t]*:",
                        re.escape(str(name).encode()),
                        b":" if name in ("type", "f") else b"",
                        rb"[ \t,]*\}[ \t\r]*" if place == len(cells) - 1 else b"",
                    ),
                    cell,
                )
                if match is None or not _same(match[2], record[name]):
                    return None
                around[name] = (match[1], match[3])
            return Shape(cut, around)
    return None


def _same(text: bytes, value: Any) -> bool:
    try:
        return bool(edn.loads(text.decode()) == value)
    except edn.EdnError:
        return False
