"""A cluster of small peers with its nemesis, and a registry of ledgers of its own for each test."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from refute.history.fault import FaultEvent
from refute.nemesis.ledger import MARK
from refute.nemesis.nemesis import Nemesis
from refute.plan.step_notation import read_fault
from refute.system.cluster import Cluster
from refute.system.observer import Observer
from tests.nemesis.left import nothing_left
from tests.nemesis.owners import Owner
from tests.nemesis.peers import eventually, peer_spec


@dataclass
class Room:
    """All that a test of a fault needs."""

    cluster: Cluster
    observer: Observer
    nemesis: Nemesis
    events: list[FaultEvent] = field(default_factory=list)

    def apply(self, written: dict[str, Any], *nodes: str, **more: Any) -> str:
        return self.nemesis.apply(read_fault(written), nodes, **more)

    @property
    def phases(self) -> list[str]:
        return [f"{event.fault} {event.phase}" for event in self.events]


@pytest.fixture(autouse=True)
def _own_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REFUTE_STATE", str(tmp_path / "state"))


@pytest.fixture
def open_room(tmp_path: Path) -> Iterator[Callable[..., Room]]:
    with ExitStack() as stack:
        rooms = 0

        def make(
            nodes: int = 3, started: bool = True, nemesis: dict[str, Any] | None = None, **changes: Any
        ) -> Room:
            nonlocal rooms
            rooms += 1
            root = tmp_path / f"run{rooms}"
            spec = peer_spec(nodes, **changes)
            cluster = Cluster(spec, root=root, plan_dir=tmp_path)
            observer = stack.enter_context(Observer(spec, cluster))
            events: list[FaultEvent] = []
            options = {"rng": random.Random(1), **(nemesis or {})}
            made = Nemesis(spec, cluster, run_dir=root, observer=observer, on_event=events.append, **options)
            stack.enter_context(made)
            made.prepare()
            run = made.environment[MARK]
            if started:
                cluster.start()
                cluster.wait_ready()
            room = Room(cluster, observer, made, events)
            made_rooms.append((run, root))
            return room

        made_rooms: list[tuple[str, Path]] = []
        yield make
    for run, root in made_rooms:
        assert nothing_left(root, run)
    assert not list((tmp_path / "state" / "ledgers").glob("*.json")), "a ledger was not closed"


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Callable[..., Owner]]:
    owners: list[Owner] = []

    def make(name: str = "owner", **options: Any) -> Owner:
        owners.append(Owner(tmp_path / name, **options))
        return owners[-1]

    yield make
    for owner in owners:
        owner.end()


@pytest.fixture
def room(open_room: Callable[..., Room]) -> Room:
    made = open_room()
    assert eventually(lambda: talking(made.cluster, "n1", "n2") and talking(made.cluster, "n2", "n1"))
    return made


@pytest.fixture
def served_from_outside(open_room: Callable[..., Room]) -> Iterator[Room]:
    """Nodes that are supervisors alone: their servers are nobody's children, as those of a container daemon.

    A server that a supervisor starts and lets go is still its own for a moment, and whoever looks then knows it.
    """
    idle = ["bash", "-c", "while true; do sleep 0.05; done", "supervisor"]
    room = open_room(2, started=False, command=[*idle, *peer_spec().command])
    room.cluster.start()
    servers = [subprocess.Popen(room.cluster.command(node)[len(idle) :]) for node in room.cluster.spec.nodes]
    try:
        room.cluster.wait_ready()
        yield room
    finally:
        for server in servers:
            server.kill()
            server.wait()


def talking(cluster: Cluster, sender: str, receiver: str) -> bool:
    from tests.nemesis.peers import ask

    return ask(cluster, receiver)["received"].get(sender, 0) > 0
