"""Porcupine's key-value histories: an EDN map a line, with the key beside the value."""

from __future__ import annotations

import os
from typing import Any

from refute.history.formats import edn
from refute.history.history import History
from refute.history.pairing import COMPLETIONS, OnBadLine, Pairing
from refute.history.text_source import chunks


def read_key_value(path: str | os.PathLike[str], *, on_bad_line: OnBadLine = "error") -> History:
    """The history; there are no times, so the order of the lines is the real-time order."""
    pairing = Pairing(str(path), on_bad_line, clock="index")
    opened, closed = pairing.invocations, pairing.completions
    open_rows: dict[Any, int] = {}
    for chunk in chunks(path):
        for number, line in enumerate(chunk.lines, chunk.first):
            if not line.strip():
                continue
            try:
                event = edn.loads(line.decode())
                kind, process = event["type"], event["process"]
                if kind == "invoke":
                    if process in open_rows:
                        raise ValueError(f"two operations in flight: process {process!r}")
                    open_rows[process] = len(opened.identity)
                    name, key, value = str(event["f"]), event["key"], event["value"]
                    opened.identity.append(len(opened.identity))
                    opened.line.append(number)
                    opened.process.append(process)
                    opened.kind.append(name)
                    opened.key.append(key)
                    opened.input.append(value)
                    opened.time.append(number)
                    continue
                outcome = COMPLETIONS[kind]
                if process not in open_rows:
                    raise ValueError(f"unmatched completion: process {process!r} has nothing in flight")
                value = event["value"]
                closed.identity.append(open_rows.pop(process))
                closed.line.append(number)
                closed.outcome.append(outcome)
                closed.output.append(value)
                closed.time.append(number)
            except (ValueError, KeyError, TypeError) as error:
                what = f"missing or unknown: {error}" if isinstance(error, KeyError) else str(error)
                pairing.unreadable(what, number, chunk)
    return pairing.history()
