"""Reads the lines of a Jepsen history by their shape, an order of magnitude faster than a parser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from refute.history.formats import edn

NEMESIS = "nemesis"
STARTS = ("start", "invoke-time", "invoke_time", "invoked", "call", "start-time", "start_time")
ENDS = ("end", "complete-time", "complete_time", "completed", "return", "end-time", "end_time")


class _Names(dict[bytes, str]):
    def __missing__(self, text: bytes) -> str:
        name = self[text] = text.decode()
        return name


class Shapes:
    """Lines of a history look alike: a pattern for each look reads them without a parser.

    What a pattern takes apart is the text between the keys of the outermost map; the value itself
    is read by `edn.Values`. A line that fits no pattern goes to the parser. A shape has
    the places of type, f, process, value and time in its match (0 for a time that is not there).
    """

    _FIELDS = {  # noqa: RUF012 - constant
        "type": rb":(invoke|ok|fail|info)",
        "f": rb":([A-Za-z][-\w]*)",
        "process": rb"(-?\d+|:nemesis)",
        "time": rb"(-?\d+)",
        "value": rb'(nil|-?\d+|true|false|"[^"\\]*"|\[[^{}#;\\()]*\])',
    }
    _OTHER = rb"(?:-?\d+|nil)"

    def __init__(self) -> None:
        self.values = edn.Values()
        self.names = _Names()
        self.shapes: list[tuple[Callable[[bytes], re.Match[bytes] | None], tuple[int, ...]]] = []
        self.misses = 0
        self._sheet: tuple[re.Pattern[bytes], tuple[int, ...]] | None = None

    def learn(self, line: bytes) -> None:
        """Takes the shape of a line that fitted none, where it has one that is simple enough."""
        if len(self.shapes) > 7 or self.misses > 100 or any(fits(line) for fits, _ in self.shapes):
            return
        self.misses += 1
        try:
            record = edn.loads(line.decode())
        except ValueError:
            return
        if not isinstance(record, dict) or not {"type", "f", "process", "value"} <= set(record):
            return
        parts: list[bytes] = []
        found: dict[str, int] = {}
        for key in record:
            if not isinstance(key, str) or key in ("error", "invoke", *STARTS, *ENDS):
                return
            field = self._FIELDS.get(key)
            if field is not None:
                found[key] = len(found) + 1
            parts.append(rb":" + re.escape(key.encode()) + rb"\s+" + (field or self._OTHER))
        pattern = re.compile(rb"\{" + rb"(?:\s*,\s*|\s+)".join(parts) + rb"\s*\}\s*")
        if pattern.fullmatch(line):
            places = tuple(found.get(name, 0) for name in ("type", "f", "process", "value", "time"))
            self.shapes.append((pattern.fullmatch, places))
            if self._sheet is None and all(places):
                # A line of another look is one match, too, so that matches and lines stay in step.
                line_end = rb"[ \t\r]*$"
                either = rb"^(?:" + pattern.pattern.removesuffix(rb"\s*") + line_end + rb"|.*$)"
                self._sheet = re.compile(either, re.MULTILINE), places

    def sheet(self, lines: list[bytes]) -> Iterator[tuple[bytes, ...]] | None:
        """Type, f, process, value and time of each line, empty for a line of another look, all in one go.

        None where most lines have another look, or where records are not a line each.
        """
        if self._sheet is None:
            return None
        pattern, places = self._sheet
        found = pattern.findall(b"\n".join(lines))
        if len(found) != len(lines):
            return None
        columns = list(zip(*found, strict=True))
        if columns[0].count(b"") * 5 > len(lines):
            return None
        return zip(*(columns[place - 1] for place in places), strict=True)
