"""Which mechanisms there are: every plane that is written, and what of the catalog works on this machine."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from refute.errors import RefuteError
from refute.nemesis.plane import Plane, Probe, Site
from refute.nemesis.process.plane import ProcessPlane
from refute.nemesis.proxy.plane import ProxyPlane
from refute.plan.fault_catalog import CATALOG

PLANES: dict[str, type[Plane]] = {"process": ProcessPlane, "proxy": ProxyPlane}


def implemented() -> frozenset[tuple[str, str]]:
    """Every (plane, kind) that has a mechanism; what the catalog lists beyond these is not written yet."""
    return frozenset((name, kind) for name, plane in PLANES.items() for kind in plane.kinds)


def planes_for(site: Site) -> list[Plane]:
    """The planes of a run, in the order in which they are prepared."""
    return [plane(site) for plane in PLANES.values()]


def probe(plane: str, kind: str) -> Probe:
    """Whether a fault works on this machine, tried out. What cannot be probed does not work, and says why."""
    if (plane, kind) not in implemented():
        return Probe(False, "refute has no mechanism for it yet")
    try:
        return PLANES[plane].probe(kind)
    except (RefuteError, OSError) as error:
        return Probe(False, str(error))


def list_faults(*, probing: bool = True, plane: str | None = None) -> list[dict[str, Any]]:
    """The catalog as data: each entry with `implemented` and, where it was probed, `works` and `reason`."""
    there = implemented()
    listed = []
    for (its_plane, kind), entry in CATALOG.items():
        if plane not in (None, its_plane):
            continue
        shown: dict[str, Any] = asdict(entry) | {"implemented": (its_plane, kind) in there}
        if probing:
            found = probe(its_plane, kind)
            shown |= {"works": found.works, "reason": found.reason}
        listed.append(shown)
    return listed
