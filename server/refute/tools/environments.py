"""The tool that tells what this machine can do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import Field

from refute.nemesis.mechanisms import list_faults
from refute.nemesis.proxy.relay import moved_by
from refute.plan.families import faults_of
from refute.plan.reader import read_plan
from refute.system.environment import environment
from refute.tools.answer import Answer, Request


class ProbeEnvironmentRequest(Request):
    """One plane of faults, or all; with `plan` also what its scenarios need of them."""

    plane: str | None = None
    plan: str | None = None


class ProbedEnvironment(Answer):
    """Facts about the machine, the planes of faults that work on it, and what a plan's scenarios find."""

    machine: dict[str, Any]
    planes: dict[str, str]
    scenarios: dict[str, str] = Field(default_factory=dict)


def probe_environment(request: ProbeEnvironmentRequest) -> ProbedEnvironment:
    """Probes by doing, never by looking for a program. Raises PlanError where a plan cannot be read."""
    needed = _needed(Path(request.plan)) if request.plan else {}
    works = {
        (fault["plane"], fault["kind"]): bool(fault["works"]) for fault in list_faults(plane=request.plane)
    }
    planes: dict[str, list[bool]] = {}
    for (plane, _), able in works.items():
        planes.setdefault(plane, []).append(able)
    said = {plane: f"{sum(able)} of {len(able)} faults work" for plane, able in planes.items()}
    if "proxy" in said:
        said["proxy"] += f"; {moved_by()}"
    return ProbedEnvironment(
        machine=environment(),
        planes=said,
        scenarios={name: _verdict(faults, works) for name, faults in needed.items()},
    )


def _needed(path: Path) -> dict[str, list[tuple[str, str]]]:
    """The faults of each scenario, each once."""
    return {
        scenario.id: list(dict.fromkeys((fault.plane, fault.kind) for fault, _ in faults_of(scenario)))
        for scenario in read_plan(path).scenarios.values()
    }


def _verdict(faults: list[tuple[str, str]], works: dict[tuple[str, str], bool]) -> str:
    said = [f"{plane}/{kind} {_WORDS[works.get((plane, kind))]}" for plane, kind in faults]
    return ", ".join(said) or "needs no fault"


_WORDS = {True: "works", False: "does not work here", None: "was not probed"}
