"""Nodes that carry a preloaded library from their start on, each with a page of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from refute.nemesis.errors import FaultUnavailableError
from refute.nemesis.plane import Site
from refute.nemesis.preload.build import loadable
from refute.nemesis.preload.program import refusal
from refute.nemesis.preload.shared_page import SharedPage
from refute.system.placement import NodePlacement

PageT = TypeVar("PageT", bound=SharedPage)


@dataclass(frozen=True, slots=True)
class Carried(Generic[PageT]):
    """The page and the placement of each node that carries the library; why the others cannot."""

    pages: dict[str, PageT]
    placements: dict[str, NodePlacement]
    refused: dict[str, str]


def carried_by_nodes(
    site: Site, library: Callable[[], Path], page_as: type[PageT], cannot: str
) -> Carried[PageT]:
    """Pages for all nodes that can carry the library, which is built only where one can.

    Raises FaultUnavailableError, with `cannot` and the first reason, where none can.
    """
    cluster = site.cluster
    nodes = cluster.spec.everyone
    refused = {}
    for node in nodes:
        if why := refusal(cluster.command(node), cluster.environment(node), cluster.working_directory(node)):
            refused[node] = why
    if len(refused) == len(nodes):
        raise FaultUnavailableError(f"{cannot}: {refused[nodes[0]]}")
    folder = site.run_dir / "preload"
    folder.mkdir(parents=True, exist_ok=True)
    file = loadable(library(), folder)
    pages = {node: page_as(folder / f"{node}{page_as.suffix}") for node in nodes if node not in refused}
    for page in pages.values():
        page.create()
    placements = {
        node: NodePlacement(preload=(file,), alone=page.environment) for node, page in pages.items()
    }
    return Carried(pages, placements, refused)
