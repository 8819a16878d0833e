"""The fast path of the proxy host, `relay.c`: built by this machine's compiler, called through ctypes."""

from __future__ import annotations

import ctypes
import enum
import os
import struct
import sys
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from refute.nemesis.compiled import built_library
from refute.nemesis.errors import FaultUnavailableError

SOURCE = Path(__file__).with_name("relay.c")
SWITCH = "REFUTE_RELAY"
_OFF = "off"
_EVENT = struct.Struct("=iIiII")
_AT_ONCE = 256


class Counts(ctypes.Structure):
    """What the relay has counted for a link, and whether it may pass on its bytes at all."""

    _fields_ = (
        ("received_bytes", ctypes.c_uint64),
        ("delivered_bytes", ctypes.c_uint64),
        ("transit_ns", ctypes.c_uint64),
        ("transits", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
    )


class Outcome(enum.IntEnum):
    """Why an event comes back."""

    READY = 0  # nothing was done with it
    REST = 1  # bytes were read for which the sink has no room
    SOURCE_BROKE = 2
    SINK_BROKE = 3


class Event(NamedTuple):
    """One event that is Python's; `events` are those of epoll, `rest` the bytes that are still to be sent."""

    descriptor: int
    events: int
    outcome: int
    rest: bytes


class Relay:
    """Waits at an epoll instance, and moves the bytes of the flows that have begun."""

    def __init__(self, library: ctypes.CDLL, queue: int) -> None:
        self._library = library
        self._relay = library.relay_new(queue)
        if not self._relay:
            raise MemoryError("no memory for the relay")
        weakref.finalize(self, library.relay_free, self._relay)
        self._buffer: int = library.relay_buffer(self._relay)
        self._told = (ctypes.c_char * (_EVENT.size * _AT_ONCE))()
        self._view = memoryview(self._told)

    def begin(self, source: int, sink: int, counts: Counts) -> bool:
        """Pass on what comes from `source`; whether it can. `counts` has to live until the flow has ended."""
        return bool(self._library.relay_begin(self._relay, source, sink, ctypes.byref(counts)))

    def end(self, source: int) -> None:
        """Leave what comes from `source` to Python."""
        self._library.relay_end(self._relay, source)

    def forget(self, descriptor: int) -> None:
        """The socket of this number is about to be closed."""
        self._library.relay_forget(self._relay, descriptor)

    def wait(self, wait_s: float) -> Iterator[Event]:
        """What Python has to do, once there is something or the time is up; a signal ends the wait, too."""
        count = self._library.relay_wait(self._relay, min(-int(-wait_s * 1000 // 1), 1 << 20), self._told)
        if count < 0:
            raise OSError(-count, os.strerror(-count))
        for descriptor, events, outcome, rest, rest_at in _EVENT.iter_unpack(
            self._view[: count * _EVENT.size]
        ):
            yield Event(descriptor, events, outcome, ctypes.string_at(self._buffer + rest_at, rest))


def load_relay() -> ctypes.CDLL:
    """The library. Raises FaultUnavailableError with the reason where bytes are moved by Python instead."""
    if os.environ.get(SWITCH) == _OFF:
        raise FaultUnavailableError(f"{SWITCH}={_OFF} says so")
    if sys.platform != "linux":
        raise FaultUnavailableError("the relay in C is for Linux")
    path = built_library(SOURCE, "the relay of the proxy plane")
    try:
        library = ctypes.CDLL(str(path))
        for name, gives, takes in _FUNCTIONS:
            function = getattr(library, name)
            function.restype, function.argtypes = gives, takes
    except (OSError, AttributeError) as error:
        raise FaultUnavailableError(f"the relay cannot be loaded: {error}", where=path) from error
    return library


def moved_by() -> str:
    """Who moves bytes of links without a fault on this machine, in words."""
    try:
        load_relay()
    except FaultUnavailableError as error:
        return f"bytes are moved by Python: {error}"
    return "bytes are moved in C"


def relay_if_any() -> ctypes.CDLL | None:
    """The library; where there is none, the reason goes to standard error and Python moves all bytes."""
    try:
        return load_relay()
    except FaultUnavailableError as error:
        print(f"bytes are moved by Python: {error}", file=sys.stderr)  # noqa: T201
        return None


_POINTER, _INT = ctypes.c_void_p, ctypes.c_int
_FUNCTIONS = (
    ("relay_new", _POINTER, [_INT]),
    ("relay_free", None, [_POINTER]),
    ("relay_buffer", _POINTER, [_POINTER]),
    ("relay_begin", _INT, [_POINTER, _INT, _INT, _POINTER]),
    ("relay_end", None, [_POINTER, _INT]),
    ("relay_forget", None, [_POINTER, _INT]),
    ("relay_wait", _INT, [_POINTER, _INT, _POINTER]),
)
