"""The parameters of a fault of calls, read: which calls, which error, how often, how long."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Any

from refute.nemesis.errors import FaultInputError
from refute.nemesis.plane import Fault
from refute.plan.units import seconds

_SHORTEST_DELAY_S = 0.001


def call(parameters: Mapping[str, Any]) -> str:
    """Which: fsync, write or read; each stands for its variants."""
    return str(parameters.get("call", "fsync"))


def error_name(parameters: Mapping[str, Any]) -> str:
    """What a failing call returns: EIO or ENOSPC."""
    return str(parameters.get("error", "EIO"))


def error_number(parameters: Mapping[str, Any]) -> int:
    """The same as errno."""
    return int(getattr(errno, error_name(parameters)))


def delay_s(parameters: Mapping[str, Any]) -> float:
    """How much longer a slow call takes."""
    return seconds(parameters.get("by", "100ms"))


def every(parameters: Mapping[str, Any]) -> int:
    """Of how many calls of a thread one fails."""
    return round(1 / float(parameters.get("share", 1.0)))


def check(fault: Fault) -> None:
    """Raises FaultInputError for a fault that no way could give."""
    if not fault.nodes:
        raise FaultInputError(f"{fault.kind}: name a node")
    if fault.kind == "slow-io" and delay_s(fault.parameters) < _SHORTEST_DELAY_S:
        raise FaultInputError("slow-io: by: at least 1ms")
    if error_name(fault.parameters) == "ENOSPC" and call(fault.parameters) == "read":
        raise FaultInputError("io-error: error: a read needs no space; write EIO")
