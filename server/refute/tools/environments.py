"""The tool that tells what this machine can do."""

from __future__ import annotations

from typing import Any

from refute.nemesis.mechanisms import list_faults
from refute.system.environment import environment
from refute.tools.answer import Answer, Request


class ProbeEnvironmentRequest(Request):
    """One plane of faults, or all."""

    plane: str | None = None


class ProbedEnvironment(Answer):
    """Facts about the machine, and the planes of faults that work on it."""

    machine: dict[str, Any]
    planes: dict[str, str]


def probe_environment(request: ProbeEnvironmentRequest) -> ProbedEnvironment:
    """Probes by doing, never by looking for a program."""
    planes: dict[str, list[bool]] = {}
    for fault in list_faults(plane=request.plane):
        planes.setdefault(fault["plane"], []).append(bool(fault["works"]))
    return ProbedEnvironment(
        machine=environment(),
        planes={plane: f"{sum(works)} of {len(works)} faults work" for plane, works in planes.items()},
    )
