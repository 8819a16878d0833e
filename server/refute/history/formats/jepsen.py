"""Histories as Jepsen, Knossos, Elle and Maelstrom write them, in EDN or JSON."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from refute.history import json_text
from refute.history.error import HistoryError
from refute.history.formats import edn
from refute.history.formats.edn_blocks import Blocks
from refute.history.formats.event_columns import EventColumns, columns_of
from refute.history.formats.jepsen_events import Events
from refute.history.history import History
from refute.history.pairing import OnBadLine, Pairing
from refute.history.text_source import Chunk, chunks

WALL_CLOCK = b"; clock: wall"
"""Written above a history in EDN, as Jepsen has no word for it: order between processes is no evidence."""

_WORTH_COLUMNS = 32  # lines; for fewer the setting up of arrays takes longer than reading them one by one
_BLOCK_LINES = 10_000  # lines of a list that are read at once
_SPREAD_LIMIT_BYTES = 16 << 20  # of maps over several lines, which the parser reads at some MB a second


@dataclass(frozen=True)
class _Notation:
    """How records are written: `parse` reads a text, `read` many lines if they are plain events."""

    brackets: bytes
    parse: Callable[[bytes], Any]
    read: Callable[[list[bytes], int], EventColumns | None]


def read_edn(path: str | os.PathLike[str], *, on_bad_line: OnBadLine = "error") -> History:
    """A Jepsen history in EDN: a map a line, one vector of maps, or maps that each take several lines.

    Where the first line is WALL_CLOCK the times are of several clocks.
    """
    history = _read_edn(path, on_bad_line)
    first = next(chunks(path, chunk_bytes=1 << 12), None)
    several = first is not None and first.lines[0].strip() == WALL_CLOCK
    return replace(history, clock="wall") if several else history


def _read_edn(path: str | os.PathLike[str], on_bad_line: OnBadLine) -> History:
    notation = _Notation(b"[]()", lambda text: edn.loads(text.decode()), Blocks().read)
    try:
        history = _read(path, on_bad_line, notation)
    except HistoryError:
        spread = _read_spread(path, on_bad_line)
        if spread is None:
            raise
        return spread
    if history.completeness.unreadable_lines:
        return _read_spread(path, on_bad_line) or history
    return history


def read_json(path: str | os.PathLike[str], *, on_bad_line: OnBadLine = "error") -> History:
    """A Jepsen history in JSON: an object a line, or one array of objects."""
    return _read(path, on_bad_line, _Notation(b"[]", json_text.loads, _json_events))


def _json_events(lines: list[bytes], first: int) -> EventColumns | None:
    try:
        records = json_text.loads(b"[%s]" % b",".join(lines))
    except ValueError:
        return None
    return columns_of(range(first, first + len(lines)), records) if len(records) == len(lines) else None


def _read(path: str | os.PathLike[str], on_bad_line: OnBadLine, notation: _Notation) -> History:
    events = Events(Pairing(str(path), on_bad_line))
    begun = False
    for chunk in chunks(path):
        if not begun:
            first = next((line for line in chunk.lines if _is_written(line)), b"")
            begun = bool(first)
            if begun and first.lstrip()[:1] in notation.brackets[::2]:
                return _read_list([line for chunk in chunks(path) for line in chunk.lines], events, notation)
        _add_lines(chunk, events, notation)
    return events.history()


def _is_written(line: bytes) -> bool:
    """Whether there is something in a line, and not only a comment."""
    return line.strip()[:1] not in (b"", b";")


def _read_spread(path: str | os.PathLike[str], on_bad_line: OnBadLine) -> History | None:
    """A history whose maps take several lines; None where it is not that, or too long to find out."""
    lines = [line for chunk in chunks(path) for line in chunk.lines]
    if sum(map(len, lines)) > _SPREAD_LIMIT_BYTES:
        return None
    try:
        records = edn.loads_all(b"\n".join(lines).decode())
    except (ValueError, RecursionError):
        return None
    if len(records) == sum(map(_is_written, lines)) or not all(
        isinstance(record, dict) for record in records
    ):
        return None
    return _of_records(records, lines, Events(Pairing(str(path), on_bad_line)))


def _add_lines(chunk: Chunk, events: Events, notation: _Notation) -> None:
    """Adds lines in as large blocks as there are with nothing out of the ordinary in them."""
    if len(chunk.lines) < _WORTH_COLUMNS:
        _add_one_by_one(chunk, events, notation)
    elif not _add_columns(chunk.lines, chunk.first, events, notation):
        half = len(chunk.lines) // 2
        _add_lines(Chunk(chunk.first, chunk.lines[:half]), events, notation)
        _add_lines(Chunk(chunk.first + half, chunk.lines[half:], chunk.unended), events, notation)


def _add_columns(lines: list[bytes], first: int, events: Events, notation: _Notation) -> bool:
    columns = notation.read(lines, first)
    return columns is not None and events.add_columns(columns)


def _add_one_by_one(chunk: Chunk, events: Events, notation: _Notation) -> None:
    for number, line in enumerate(chunk.lines, chunk.first):
        try:
            if _is_written(line):
                _add_record(notation.parse(line), number, events)
        except (ValueError, RecursionError) as error:
            events.pairing.unreadable(f"cannot be read: {error}", number, chunk)


def _add_record(record: Any, number: int, events: Events) -> None:
    try:
        events.add_record(record, number)
    except ValueError as error:
        events.pairing.complain(str(error), number)


def _read_list(lines: list[bytes], events: Events, notation: _Notation) -> History:
    """Reads one list of records: line by line if there is a record on each, or else as one text."""
    source, on_bad_line = events.pairing.source, events.pairing.on_bad_line
    by_line, bare = Events(Pairing(source, on_bad_line)), _without_brackets(lines, notation.brackets)
    blocks = range(0, len(bare), _BLOCK_LINES)
    if blocks and all(_add_columns(bare[at : at + _BLOCK_LINES], at + 1, by_line, notation) for at in blocks):
        return by_line.history()
    try:
        records = notation.parse(b"\n".join(lines))
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise HistoryError(f"cannot be read: {error}", where=f"{source}:{line}") from None
    if not isinstance(records, list):
        raise HistoryError("expected a list of operations", where=source)
    return _of_records(records, lines, events)


def _of_records(records: list[Any], lines: list[bytes], events: Events) -> History:
    numbers = _numbers(lines, len(records))
    columns = columns_of(numbers, records)
    if columns is None or not events.add_columns(columns):
        for number, record in zip(numbers, records, strict=True):
            _add_record(record, number, events)
    return events.history()


def _without_brackets(lines: list[bytes], brackets: bytes) -> list[bytes]:
    """The lines of a list without what opens and closes it; none if they do not show both."""
    written = [place for place, line in enumerate(lines) if _is_written(line)]
    first, last = written[0], written[-1]
    opening, closing = lines[first].lstrip(), lines[last].rstrip()
    place = brackets.find(opening[:1])
    if first == last or closing[-1:] != brackets[place + 1 : place + 2]:
        return []
    return [*([b""] * first), opening[1:], *lines[first + 1 : last], closing[:-1]]


def _numbers(lines: list[bytes], count: int) -> list[int]:
    """The numbers of the lines on which records begin, as far as there is one a line."""
    starts = [number for number, line in enumerate(lines, 1) if b"{" in line][:count]
    after = starts[-1] + 1 if starts else 1
    return [*starts, *range(after, after + count - len(starts))]
