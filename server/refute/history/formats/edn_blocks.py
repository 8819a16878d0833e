"""Reads the lines of a Jepsen history in EDN as columns, an order of magnitude faster than a parser.

Lines of a history look alike. What they have in common is taken off all of them at once; what is left is
one column of texts a field, and a column is checked and read at once as well.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import orjson

from refute.history.formats import edn
from refute.history.formats.edn_shapes import Around, Shape, bare, shape_of
from refute.history.formats.event_columns import (
    EVENT_TYPES,
    NO_TIME,
    EventColumns,
    columns_of,
    is_event,
    joined,
)

_SHAPES_AT_MOST = 8  # every further one is tried on every line
_MISSES_AT_MOST = 100  # lines that taught nothing; where so many look like no other, none will
_LOOKED_AT = 4  # lines of a block without a shape that may teach one
_KNOWN_AT_MOST = 50_000  # cells of a column that are remembered

_ATOM = rb'[^\s,()\[\]{}";\\]++'
_NAME = re.compile(_ATOM)
_PROCESS = re.compile(rb"-?\d{1,18}+|:%s" % _ATOM)
_TIMES = re.compile(rb"(?:-?\d{1,18}+\n)*+")
_OTHERS = re.compile(rb'(?:(?:-?\d++(?:\.\d++)?+|nil|true|false|:%s|"[^"\\\n]*+")\n)*+' % _ATOM)


class _OddError(ValueError):
    """A line that only the parser can judge."""


class _Known(dict[bytes, Any]):
    """What the few different cells of a column hold; each is looked at once."""

    def __init__(self, around: Around, read: Callable[[str], Any]) -> None:
        super().__init__()
        self._around, self._read = around, read

    def __missing__(self, cell: bytes) -> Any:
        if len(self) > _KNOWN_AT_MOST:
            self.clear()
        value = self[cell] = self._read(bare([cell], self._around).decode())
        return value


class _Reader:
    """Reads lines of one shape."""

    def __init__(self, shape: Shape, values: edn.Values) -> None:
        self.shape, self._values = shape, values
        self._known = {
            name: _Known(shape.around[name], read)
            for name, read in (("type", _type), ("f", _name), ("process", _process))
            if name in shape.around
        }

    def columns(self, cells: dict[str, list[bytes]], line: Sequence[int]) -> EventColumns:
        """Each field is checked to be one value of its kind: only then is a line what it looks like."""
        found: dict[str, list[Any]] = {}
        for name, column in cells.items():
            known = self._known.get(name)
            if known is not None:
                found[name] = list(map(known.__getitem__, column))
                continue
            text = bare(column, self.shape.around[name])
            if name in ("value", "error"):
                if b";" in text:
                    raise _OddError("what follows may be a comment")
                found[name] = self._values.column(text)
            elif name == "time":
                found[name] = _times(text)
            elif not _OTHERS.fullmatch(text + b"\n"):
                raise _OddError(f"{name} is no plain value")
        nothing = [None] * len(line)
        return EventColumns(
            line=line,
            kind=found["type"],
            name=found.get("f", nothing),
            process=found["process"],
            value=found["value"],
            time=found.get("time") or [NO_TIME] * len(line),
            error=found.get("error", nothing),
        )


def _type(text: str) -> str:
    if text not in EVENT_TYPES:
        raise _OddError(f"{text} is no type of event")
    return text


def _name(text: str) -> str:
    if not _NAME.fullmatch(text.encode()):
        raise _OddError(f"{text} is no name")
    return text


def _process(text: str) -> Any:
    if not _PROCESS.fullmatch(text.encode()):
        raise _OddError(f"{text} is no process")
    return edn.loads(text)


def _times(text: bytes) -> list[int]:
    if not _TIMES.fullmatch(text + b"\n"):
        raise _OddError("a time is no integer")
    return list(orjson.loads(b"[%s]" % text.replace(b"\n", b",")))


class Blocks:
    """Reads lines; what it learns of their shapes and values serves for the next ones."""

    def __init__(self) -> None:
        self._values = edn.Values()
        self._readers: list[_Reader] = []
        self._misses = 0

    def read(self, lines: list[bytes], first: int) -> EventColumns | None:
        """The events of lines, the first of which has that number; None where one is no plain event.

        Blank lines and comments are left out. Linear.
        """
        numbers: Sequence[int] = range(first, first + len(lines))
        parts: list[EventColumns] = []
        tried = 0
        try:
            while lines and (tried < len(self._readers) or self._learn(lines)):
                fit, events = _fitting(self._readers[tried], lines, numbers)
                tried += 1
                if events is None:
                    continue
                if len(fit) == len(lines) and not parts:
                    return events
                parts.append(events)
                others = sorted(set(range(len(lines))).difference(fit))
                lines, numbers = [lines[place] for place in others], [numbers[place] for place in others]
            parts.append(_parsed(lines, numbers))
        except ValueError:
            return None
        return joined(parts)

    def _learn(self, lines: list[bytes]) -> bool:
        """Whether one of these lines had a shape that is new."""
        for line in lines[:_LOOKED_AT]:
            if len(self._readers) == _SHAPES_AT_MOST or self._misses == _MISSES_AT_MOST:
                return False
            shape = shape_of(line, is_event)
            if shape is not None and all(shape != reader.shape for reader in self._readers):
                self._readers.append(_Reader(shape, self._values))
                return True
            self._misses += 1
        return False


def _fitting(
    reader: _Reader, lines: list[bytes], numbers: Sequence[int]
) -> tuple[Sequence[int], EventColumns | None]:
    """The places of the lines that have this shape, and their events. Raises ValueError for odd ones."""
    fit, cells = reader.shape.cells(lines)
    if not fit:
        return fit, None
    if len(fit) < len(lines):
        lines, numbers = [lines[place] for place in fit], [numbers[place] for place in fit]
    try:
        return fit, reader.columns(cells, numbers)
    except ValueError:
        exact = [place for place, line in enumerate(lines) if reader.shape.fits(line)]
        if len(exact) == len(lines):
            raise
    # The others have as many fields, but not these.
    if not exact:
        return exact, None
    _, cells = reader.shape.cells([lines[place] for place in exact])
    return [fit[place] for place in exact], reader.columns(cells, [numbers[place] for place in exact])


def _parsed(lines: list[bytes], numbers: Sequence[int]) -> EventColumns:
    """Lines of no shape, by the parser. Raises ValueError for one that is no plain event."""
    written = [place for place, line in enumerate(lines) if line.strip() and line.lstrip()[:1] != b";"]
    records = [edn.loads(lines[place].decode()) for place in written]
    events = columns_of([numbers[place] for place in written], records)
    if events is None:
        raise _OddError("a record is no plain event")
    return events
