"""What a run writes about its faults: `faults.jsonl`, and `landing.json` with the evidence."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import Any, Self, get_args

import orjson

from refute.history.error import HistoryError
from refute.history.fault import FaultEvent, FaultPhase, Landing, Rule, Side, Signal

HEADER = {"refute": "faults", "version": 1}


class FaultsWriter:
    """Appends fault events to a file, one whole line for each; a context manager."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        try:
            self._descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        except FileExistsError:
            raise HistoryError("the faults file exists already", where=self.path) from None
        except OSError as error:
            raise HistoryError(f"cannot write: {error.strerror}", where=self.path) from None
        os.write(self._descriptor, orjson.dumps(HEADER, option=orjson.OPT_APPEND_NEWLINE))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def append(self, event: FaultEvent) -> None:
        """Writes one event, whole or not at all. Raises HistoryError where the disk does not take it."""
        line = {name.name: getattr(event, name.name) for name in fields(FaultEvent)}
        line["detail"] = dict(event.detail)
        line["trigger"] = None if event.trigger is None else dict(event.trigger)
        options = orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS
        left, until_here = orjson.dumps(line, default=str, option=options), os.fstat(self._descriptor).st_size
        try:
            while left:  # a disk that is getting full takes a part
                left = left[os.write(self._descriptor, left) :]
        except OSError as error:
            with suppress(OSError):  # half a line would spoil the next one
                os.ftruncate(self._descriptor, until_here)
            raise HistoryError(f"cannot write: {error.strerror}", where=self.path) from None

    def close(self) -> None:
        """Closes the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _field(source: dict[str, Any], name: str, kind: type | tuple[type, ...], where: str) -> Any:
    value = source.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        expected = kind.__name__ if isinstance(kind, type) else " or ".join(k.__name__ for k in kind)
        raise HistoryError(f"{name} must be {expected}, not {value!r}", where=where)
    return value


def read_faults(path: str | os.PathLike[str]) -> tuple[FaultEvent, ...]:
    """The events of a `faults.jsonl`, in order; a last line that was cut off is left out.

    Raises HistoryError with `file:line` for anything else that is malformed.
    """
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise HistoryError(f"cannot read: {error.strerror}", where=Path(path)) from None
    lines = text.split(b"\n")
    events: list[FaultEvent] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        try:
            read = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            if number == len(lines) and number > 1:
                break
            raise HistoryError(f"not JSON: {error}", where=where) from None
        if not isinstance(read, dict):
            raise HistoryError("a line must be an object", where=where)
        if number == 1:
            if read.get("refute") != "faults" or read.get("version") != 1:
                raise HistoryError(
                    "the header line is missing",
                    where=where,
                    hint='it starts with {"refute":"faults","version":1}',
                )
            continue
        try:
            phase = FaultPhase(str(read.get("phase")))
        except ValueError:
            raise HistoryError(f"unknown phase {read.get('phase')!r}", where=where) from None
        trigger = read.get("trigger")
        events.append(
            FaultEvent(
                fault=_field(read, "fault", str, where),
                phase=phase,
                time_ns=_field(read, "time_ns", int, where),
                plane=_field(read, "plane", str, where),
                kind=_field(read, "kind", str, where),
                targets=tuple(str(target) for target in _field(read, "targets", list, where)),
                epoch=_field(read, "epoch", int, where),
                trigger=None if trigger is None else _field(read, "trigger", dict, where),
                detail=_field(read, "detail", dict, where) if "detail" in read else {},
            )
        )
    if not text.strip():
        raise HistoryError("the file is empty", where=Path(path))
    return tuple(events)


def write_landing(path: str | os.PathLike[str], landings: Iterable[Landing]) -> None:
    """Writes the evidence, with what follows from it (`moved`, `landed`) for people to read."""
    document = [
        {
            "fault": landing.fault,
            "plane": landing.plane,
            "kind": landing.kind,
            "targets": list(landing.targets),
            "landed": landing.landed,
            "note": landing.note,
            "signals": [
                {name.name: getattr(signal, name.name) for name in fields(Signal)} | {"moved": signal.moved}
                for signal in landing.signals
            ],
        }
        for landing in landings
    ]
    try:
        Path(path).write_bytes(orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
    except OSError as error:
        raise HistoryError(f"cannot write: {error.strerror}", where=Path(path)) from None


_RULES = get_args(Rule)
_SIDES = get_args(Side)
_READING = (int, float, str, bool, type(None))


def read_landing(path: str | os.PathLike[str]) -> tuple[Landing, ...]:
    """The evidence of a `landing.json`; whether anything moved or landed is computed again.

    Raises HistoryError where the file is malformed or claims something else than its own readings say.
    """
    try:
        document = orjson.loads(Path(path).read_bytes())
    except OSError as error:
        raise HistoryError(f"cannot read: {error.strerror}", where=Path(path)) from None
    except orjson.JSONDecodeError as error:
        raise HistoryError(f"not JSON: {error}", where=f"{path}:{error.lineno}") from None
    if not isinstance(document, list) or not all(isinstance(entry, dict) for entry in document):
        raise HistoryError("landing evidence must be a list of objects", where=Path(path))
    return tuple(_landing(entry, str(path)) for entry in document)


def _landing(entry: dict[str, Any], where: str) -> Landing:
    name = _field(entry, "fault", str, where)
    where = f"{where} ({name})"
    signals = []
    for read in _field(entry, "signals", list, where):
        if not isinstance(read, dict):
            raise HistoryError("a signal must be an object", where=where)
        if read.get("side") not in _SIDES:
            raise HistoryError(
                f"side must be one of {', '.join(_SIDES)}, not {read.get('side')!r}", where=where
            )
        if read.get("rule") not in _RULES:
            raise HistoryError(
                f"rule must be one of {', '.join(_RULES)}, not {read.get('rule')!r}", where=where
            )
        signal = Signal(
            side=read["side"],
            name=_field(read, "name", str, where),
            source=_field(read, "source", str, where),
            rule=read["rule"],
            before=_field(read, "before", _READING, where),
            during=_field(read, "during", _READING, where),
            after=_field(read, "after", _READING, where),
            expected=_field(read, "expected", _READING, where),
            # Older recordings name no targets: they are judged as a whole, as they were then.
            target=_field(read, "target", str, where) if "target" in read else "",
            needed=_field(read, "needed", bool, where) if "needed" in read else False,
            declared=_field(read, "declared", str, where) if "declared" in read else "",
        )
        if read.get("moved", signal.moved) is not signal.moved:
            raise HistoryError(
                f"signal {signal.name!r} says moved={read['moved']!r}, its readings say {signal.moved}",
                where=where,
            )
        signals.append(signal)
    landing = Landing(
        fault=name,
        plane=_field(entry, "plane", str, where),
        kind=_field(entry, "kind", str, where),
        targets=tuple(str(target) for target in _field(entry, "targets", list, where)),
        signals=tuple(signals),
        note=str(entry.get("note", "")),
    )
    if entry.get("landed", landing.landed) is not landing.landed:
        raise HistoryError(
            f"it says landed={entry['landed']!r}, its signals say {landing.landed}", where=where
        )
    return landing
