"""Jepsen's history.txt and the logs like it: process, type, f and value between tabs or spaces."""

from __future__ import annotations

import os
import re

from refute.history.formats import edn
from refute.history.formats.jepsen_events import Events
from refute.history.history import History
from refute.history.pairing import OnBadLine, Pairing
from refute.history.text_source import chunks

_TABBED = re.compile(
    rb"(?:INFO\s+(?:\S+\s+-|\[[^\]]*\][^\t]*?\s-\sjepsen\.util)\s+)?(\S+)\s+:?(invoke|ok|fail|info)\s+(\S+)\s+(.*?)\s*"
)
_KEYWORD_BEHIND = re.compile(rb"(nil|-?\d+|\[.*\])\s+(:[^\s\]]+)")


def read_tabbed(
    path: str | os.PathLike[str], *, on_bad_line: OnBadLine = "error", missed_cas: bool = False
) -> History:
    """Jepsen's history.txt, and the log lines that Porcupine's etcd tests read: process, type, f, value.

    With `missed_cas` a failed compare-and-set is one that found another value, which is what those
    etcd logs mean by it; otherwise it says nothing.
    """
    events = Events(Pairing(str(path), on_bad_line))
    values = edn.Values()
    for chunk in chunks(path):
        for number, line in enumerate(chunk.lines, chunk.first):
            if not line.strip():
                continue
            match = _TABBED.fullmatch(_without_brackets(line))
            if match is None:
                events.pairing.unreadable("expected process, type, f and value", number, chunk)
                continue
            process, kind, name, rest = match.groups()
            value_text, error = _value_and_error(rest, spaced=b"\t" not in line)
            try:
                value = values[value_text] if value_text else None
                told = _told(error) if error.strip() else None
                who = values[process]
                if kind != b"invoke" and isinstance(value, str) and value_text[:1] == b":":
                    value, told = None, value
                what = kind.decode()
                if missed_cas and what == "fail" and name.lstrip(b":") == b"cas":
                    what, value = "ok", False
                events.add(what, who, name.lstrip(b":").decode(), value, None, told, number)
            except ValueError as error_found:
                events.pairing.complain(str(error_found), number)
    return events.history()


def _without_brackets(line: bytes) -> bytes:
    """A line as it is, or what is in the vector that old versions of Knossos write."""
    text = line.strip()
    return text[1:-1] if text[:1] == b"[" and text[-1:] == b"]" else line


def _value_and_error(rest: bytes, *, spaced: bool) -> tuple[bytes, bytes]:
    """What stands behind the name of an operation; without tabs an error is a keyword behind the value."""
    if not spaced:
        value, _, error = rest.partition(b"\t")
        return value, error
    match = _KEYWORD_BEHIND.fullmatch(rest)
    return (match[1], match[2]) if match else (rest, b"")


def _told(error: bytes) -> str:
    """An error as it was written: it may be a value, or words of any kind."""
    try:
        return edn.dumps(edn.loads_all(error.decode()))
    except edn.EdnError:
        return error.decode().strip()


def read_etcd_log(path: str | os.PathLike[str], *, on_bad_line: OnBadLine = "error") -> History:
    """A log of Porcupine's etcd tests."""
    return read_tabbed(path, on_bad_line=on_bad_line, missed_cas=True)
