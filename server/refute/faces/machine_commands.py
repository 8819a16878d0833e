"""The commands about this machine: what it can do, and what faults there are on it."""

from __future__ import annotations

import argparse
import json

from refute.faces.shell import show


def env(given: argparse.Namespace) -> int:
    """What this machine can do, and whether it is enough for a plan."""
    from refute.tools.environments import ProbeEnvironmentRequest, probe_environment

    show(given, probe_environment(ProbeEnvironmentRequest(plan=given.plan)))
    return 0


def faults(given: argparse.Namespace) -> int:
    """Each fault, what it is not, and whether it works here."""
    from refute.tools.faults import ListFaultsRequest, list_faults

    show(given, list_faults(ListFaultsRequest(plane=given.plane, probe=not given.no_probe, limit=200)))
    return 0


def heal(given: argparse.Namespace) -> int:
    """Undoes every fault that is still on; 1 where one could not be undone."""
    from refute.nemesis.healing import heal_everything
    from refute.session.files import plain

    report = plain(heal_everything())
    if given.json:
        print(json.dumps(report, indent=2, default=str))
    else:
        print("\n".join(f"{name}: {what or 'none'}" for name, what in report.items()))
    return 1 if report.get("failed") else 0
