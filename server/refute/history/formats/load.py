"""Reads a history in whatever format it is kept."""

from __future__ import annotations

import gc
import importlib
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from refute.history.error import HistoryError
from refute.history.history import History
from refute.history.pairing import OnBadLine
from refute.history.text_source import chunks

FORMATS: Mapping[str, str] = {
    "refute": "event_reader:read_history",
    "jepsen-edn": "formats.jepsen:read_edn",
    "jepsen-json": "formats.jepsen:read_json",
    "jepsen-txt": "formats.jepsen_text:read_tabbed",
    "jepsen-store": "formats.jepsen_store:read_store",
    "maelstrom": "formats.jepsen_store:read_store",
    "porcupine-etcd": "formats.jepsen_text:read_etcd_log",
    "porcupine-kv": "formats.key_value:read_key_value",
    "plume": "formats.sessions_text:read_plume",
    "awdit": "formats.sessions_text:read_awdit",
}

_LOOKS: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    ("refute", re.compile(rb'\s*\{\s*"refute"\s*:')),
    ("porcupine-etcd", re.compile(rb"INFO\s+jepsen\.util\s+-\s")),
    ("porcupine-kv", re.compile(rb"\s*\{(?=.*:type\b)(?=.*:key\b)")),
    ("jepsen-edn", re.compile(rb"\s*[\[(]?\s*(?:#[\w.]+\s*)?\{\s*:")),
    ("jepsen-json", re.compile(rb'\s*\[?\s*\{\s*"')),
    ("jepsen-txt", re.compile(rb"\S+\s+:(?:invoke|ok|fail|info)\s|\S+\s*\t\s*(?:invoke|ok|fail|info)\s*\t")),
    ("plume", re.compile(rb"\s*[rw]\(-?\d+,")),
    ("awdit", re.compile(rb"\s*[rw]\s+\S+\s+\S+\s*$")),
)

_OWN_EVENT = re.compile(rb'\s*\{(?=[^{}]*"event"\s*:\s*"(?:invoke|ok|fail|info)")')
_HEADING = '{"refute":"history","version":1,"clock":"monotonic"}'


def load(
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - the option's name everywhere
    on_bad_line: OnBadLine = "error",
) -> History:
    """The history in a file or a Jepsen store directory; the format is told from its first lines.

    gzip and zstd are undone by the way. Raises HistoryError with `file:line` for what cannot be
    read; with `on_bad_line="count"` such lines are left out and counted in
    `completeness.unreadable_lines`. Linear, in bounded memory beside the history itself.
    """
    name = format or detect(path)
    if name not in FORMATS:
        raise HistoryError(f"there is no format {name!r}", hint=f"there are: {', '.join(FORMATS)}")
    module, _, function = FORMATS[name].partition(":")
    read: Callable[..., History] = getattr(importlib.import_module(f"refute.history.{module}"), function)
    collecting = gc.isenabled()
    gc.disable()  # a million new records are no garbage, and looking through them takes longer than reading
    try:
        return read(path, on_bad_line=on_bad_line)
    finally:
        if collecting:
            gc.enable()


def detect(path: str | os.PathLike[str]) -> str:
    """The name of the format. Raises HistoryError where no format looks like this."""
    if Path(path).is_dir():
        return "jepsen-store"
    tried = 0
    for chunk in chunks(path, chunk_bytes=1 << 16):
        for line in chunk.lines:
            if not line.strip() or line.lstrip()[:1] == b";":
                continue
            if _OWN_EVENT.match(line):
                raise HistoryError(
                    "an event of refute's own history without its first line, which names version and clock",
                    where=f"{path}:1",
                    hint=f"put {_HEADING} above it, or clock wall where several clocks told the times",
                )
            for name, pattern in _LOOKS:
                if pattern.match(line):
                    return name
            tried += 1
            if tried == 3:
                break
        if tried:
            break
    else:
        raise HistoryError("the file is empty", where=path if isinstance(path, str) else Path(path))
    raise HistoryError(
        "no known format looks like this", where=f"{path}:1", hint=f"say which of: {', '.join(FORMATS)}"
    )
