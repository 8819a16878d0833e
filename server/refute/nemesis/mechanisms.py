"""Which mechanisms there are: every plane that is written, and what of the catalog works on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from refute.errors import RefuteError
from refute.nemesis.client.plane import ClientPlane
from refute.nemesis.clock.plane import ClockPlane
from refute.nemesis.containers.plane import DockerPlane
from refute.nemesis.errors import FaultInputError
from refute.nemesis.membership.plane import MembershipPlane
from refute.nemesis.netns.plane import NetnsPlane
from refute.nemesis.plane import Plane, Probe, Site
from refute.nemesis.process.plane import ProcessPlane
from refute.nemesis.proxy.plane import ProxyPlane
from refute.nemesis.resource.plane import ResourcePlane
from refute.nemesis.storage.plane import StoragePlane
from refute.nemesis.toxiproxy.plane import ToxiproxyPlane
from refute.plan.fault_catalog import CATALOG, fault_entry
from refute.plan.fault_catalog import PLANES as CATALOG_PLANES

PLANES: dict[str, type[Plane]] = {
    "process": ProcessPlane,
    "proxy": ProxyPlane,
    "toxiproxy": ToxiproxyPlane,  # after the proxies, in front of which it stands
    "docker": DockerPlane,
    "netns": NetnsPlane,
    "clock": ClockPlane,
    "resource": ResourcePlane,
    "client": ClientPlane,
    "membership": MembershipPlane,
    "storage": StoragePlane,  # last, so that its words are outermost: other namespaces are inside its own
}
ALWAYS = frozenset({"process", "proxy", "client", "membership", "resource", "storage"})


def implemented() -> frozenset[tuple[str, str]]:
    """Every (plane, kind) that has a mechanism; what the catalog lists beyond these is not written yet."""
    return frozenset((name, kind) for name, plane in PLANES.items() for kind in plane.kinds)


def planes_for(site: Site) -> list[Plane]:
    """The planes of a run, in the order in which they are prepared.

    Those that change nothing about how nodes are started, unless one of their faults that has to is wanted,
    are always there; any other only where a fault of it is wanted. A link goes through proxies or through
    namespaces: with the one there is not the other. Raises FaultInputError where both are wanted.
    """
    wanted = {plane for plane, _ in site.wanted}
    if "netns" in wanted and (others := wanted & {"proxy", "toxiproxy"}):
        raise FaultInputError(
            f"faults of the planes {min(others)} and netns cannot be had in one run: a link goes through "
            "one of them",
            hint="write all faults of links for one plane, or put them into two scenarios",
        )
    there = (ALWAYS | wanted) - ({"proxy"} if "netns" in wanted else set())
    return [plane(site) for name, plane in PLANES.items() if name in there]


def wanted_kinds(written: Iterable[str]) -> frozenset[tuple[str, str]]:
    """The faults that `netns` (all of a plane) or `storage/power-loss` (one) stand for. Raises PlanError.

    >>> wanted_kinds(["process/kill"])
    frozenset({('process', 'kill')})
    """
    found: set[tuple[str, str]] = set()
    for name in written:
        plane, _, kind = name.partition("/")
        if kind:
            fault_entry(plane, kind)
            found.add((plane, kind))
        else:
            if plane not in CATALOG_PLANES:
                fault_entry(plane, kind)  # raises, with what there is instead
            found |= {pair for pair in CATALOG if pair[0] == plane}
    return frozenset(found)


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
