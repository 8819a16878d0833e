"""The docker plane: faults of the containers that a system's own command starts with our label."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from refute.history.fault import Reading, Signal
from refute.nemesis.containers.engine import LABEL, Engine, engine_socket
from refute.nemesis.containers.undo import VERBS
from refute.nemesis.errors import FaultInputError, NemesisError
from refute.nemesis.plane import Fault, Probe, Readings, Site, Snapshot, rate, rate_before
from refute.nemesis.undo import Undo, still_on, undo_each
from refute.system.cpu_time import cpu_ns
from refute.system.placement import Placement
from refute.system.process_table import state

_ENDED_WITHIN_S = 15.0


class DockerPlane:
    """Pause, kill and stop of containers, and their network taken away. The engine is Docker or Podman."""

    name: ClassVar[str] = "docker"
    kinds: ClassVar[frozenset[str]] = frozenset({"pause", "kill", "stop", "disconnect"})

    def __init__(self, site: Site) -> None:
        self._site = site
        self._cluster = site.cluster
        self._engine: Engine | None = None
        self._pids: dict[str, int] = {}
        self._received: dict[str, tuple[int, int]] = {}  # so far, and what the interface said last
        self._undos: dict[str, tuple[Undo, ...]] = {}

    @staticmethod
    def probe(kind: str) -> Probe:  # noqa: ARG004
        """The engine of this machine is asked who it is."""
        engine = Engine(engine_socket())
        return Probe(True, detail={"engine": engine.version(), "socket": engine.place})

    def prepare(self) -> Placement:
        """Whatever carries the label of a node is removed when the run is over."""
        self._engine = Engine(engine_socket())
        self._engine.version()
        for node in self._cluster.spec.everyone:
            handle = {"engine": self._engine.place, "label": self._label(node)}
            self._site.ledger.resource(f"container of {node}", Undo("remove-container", handle))
        return Placement()

    def targets(self, fault: Fault) -> tuple[str, ...]:
        """The nodes themselves; each has to run in a container of ours."""
        if not fault.nodes:
            raise FaultInputError(f"{fault.kind}: name a node")
        undos: list[Undo] = []
        for node in fault.nodes:
            found = self._container(node)
            handle = {"engine": self._used().place, "container": found["Id"], "label": self._label(node)}
            if fault.kind == "pause":
                undos.append(Undo("unpause-container", handle))
            elif fault.kind == "disconnect":
                networks = found["NetworkSettings"]["Networks"]
                if not networks:
                    raise FaultInputError(
                        "its container is on no network that could be taken away", where=node
                    )
                undos += [
                    Undo("connect-container", {**handle, "network": name, "endpoint": _endpoint(settings)})
                    for name, settings in networks.items()
                ]
        self._undos[fault.id] = tuple(undos)
        return fault.nodes

    def undos(self, fault: Fault) -> tuple[Undo, ...]:
        """Containers go on, or are connected again. A killed one is started by its owner or not at all."""
        return self._undos[fault.id]

    def apply(self, fault: Fault, take: Callable[[str], None]) -> Mapping[str, Any]:  # noqa: ARG002
        """Ask the engine, container by container."""
        engine = self._used()
        for node in fault.nodes:
            container, label = self._container(node)["Id"], self._label(node)
            if fault.kind == "pause":
                engine.change(container, label, "pause")
            elif fault.kind == "kill":
                engine.change(container, label, "kill", signal="SIGKILL")
            elif fault.kind == "stop":
                engine.change(container, label, "stop", t=str(round(self._cluster.spec.stop.grace)))
            if fault.kind in ("kill", "stop"):
                self._wait_for_the_end(node)
        for undo in self._undos[fault.id] if fault.kind == "disconnect" else ():
            handle = undo.handle
            engine.network(
                handle["container"], handle["label"], handle["network"], "disconnect", {"Force": True}
            )
        return {"engine": engine.place}

    def measure(self) -> Snapshot:
        """Of each node: what the engine shows of its container, and what the kernel says of its processes."""
        if self._engine is None:
            return {}
        values: dict[str, Reading] = {}
        for node in self._cluster.spec.everyone:
            found = self._engine.container(self._label(node))
            if found and found["State"].get("Pid"):
                self._pids[node] = int(found["State"]["Pid"])
            values[f"{node}.container"] = found["State"]["Status"] if found else "gone"
            values[f"{node}.networks"] = (
                ", ".join(sorted(found["NetworkSettings"]["Networks"])) if found else ""
            )
            if pid := self._pids.get(node):
                alive = state(pid) not in ("", "Z", "X")
                values[f"{node}.first_process"] = "alive" if alive else "gone"
                values[f"{node}.container_cpu_ns"] = cpu_ns(_with_children(pid))
                values[f"{node}.received_bytes"] = self._receive(node, pid)
        return values

    def signals(self, fault: Fault, readings: Readings) -> tuple[Signal, ...]:
        """What the engine shows of each container, and what the kernel says of its processes."""
        return tuple(signal for node in fault.nodes for signal in _signals_of(fault.kind, node, readings))

    def is_over(self, fault: Fault) -> bool:  # noqa: ARG002
        """It stays until it is healed."""
        return False

    def heal(self, fault: Fault, version: str | None) -> None:
        """Let go on, connect again, start again."""
        undo_each(self._undos[fault.id])
        for node in fault.nodes if fault.kind in ("kill", "stop") else ():
            if not self._cluster.node(node).running:
                self._used().remove(self._label(node))  # what is left of the one that ended
                self._cluster.start_node(node, version)

    def verify_healed(self, fault: Fault) -> str | None:
        """What the engine still shows of it; each node runs."""
        left = [still_on(self._undos[fault.id])]
        left += [f"{node} does not run" for node in fault.nodes if not self._cluster.node(node).running]
        return "; ".join(filter(None, left)) or None

    def close(self) -> None:
        """No container of ours is left, also where the client that had started it was killed."""
        if self._engine is not None:
            for node in self._cluster.spec.everyone:
                VERBS["remove-container"].undo({"engine": self._engine.place, "label": self._label(node)})
            self._engine = None

    def _used(self) -> Engine:
        if self._engine is None:
            raise NemesisError("no container engine is used in this run")
        return self._engine

    def _label(self, node: str) -> str:
        return self._cluster.variables(node)["data"]

    def _container(self, node: str) -> Mapping[str, Any]:
        found = self._used().container(self._label(node))
        if found is None:
            raise FaultInputError(
                "no container carries its label",
                where=node,
                hint=f"start it with --label {LABEL}={{data}} in the system's command",
            )
        return found

    def _wait_for_the_end(self, node: str) -> None:
        # The program that had started the container ends a moment after it.
        deadline = time.monotonic() + _ENDED_WITHIN_S
        while self._cluster.node(node).running:
            if time.monotonic() > deadline:
                raise NemesisError(
                    "its container has ended, and the command that started it goes on", where=node
                )
            time.sleep(0.02)

    def _receive(self, node: str, pid: int) -> int:
        # Its interfaces go with their network, and their counts with them: what was counted stays counted.
        total, last = self._received.get(node, (0, 0))
        now = _received_by(pid)
        total += now - last if now >= last else now
        self._received[node] = (total, now)
        return total


def _signals_of(kind: str, node: str, readings: Readings) -> tuple[Signal, Signal]:
    def three(name: str) -> tuple[Reading, Reading, Reading]:
        moments = (readings.before, readings.during, readings.after)
        before, during, after = (at.values.get(f"{node}.{name}") if at else None for at in moments)
        return before, during, after

    def rates(name: str) -> tuple[Reading, Reading, Reading]:
        full = f"{node}.{name}"
        return (
            rate_before(readings, full),
            rate(readings.settled or readings.start, readings.during, full),
            rate(readings.healed or readings.during, readings.after, full),
        )

    engine, kernel = "as the engine shows it", "kernel, from outside of the container"
    if kind == "disconnect":
        what, heard = f"{node}: networks of its container", f"{node}: bytes per second that it receives"
        return (
            Signal("injector", what, engine, "changes", *three("networks"), target=node),
            Signal("victim", heard, kernel, "stops", *rates("received_bytes"), target=node),
        )
    what = f"{node}: state of its container"
    if kind == "pause":
        works = f"{node}: CPU time per second, ns/s"
        return (
            Signal("injector", what, engine, "becomes", *three("container"), expected="paused", target=node),
            Signal("victim", works, kernel, "stops", *rates("container_cpu_ns"), target=node),
        )
    first = f"{node}: first process of its container"
    return (
        Signal("injector", what, engine, "changes", *three("container"), target=node),
        Signal("victim", first, kernel, "becomes", *three("first_process"), expected="gone", target=node),
    )


def _endpoint(settings: Mapping[str, Any]) -> dict[str, Any]:
    # What makes it the same member of the network again.
    found: dict[str, Any] = {}
    if aliases := settings.get("Aliases"):
        found["Aliases"] = aliases
    if address := settings.get("IPAddress"):
        found["IPAMConfig"] = {"IPv4Address": address}
    if mac := settings.get(
        "MacAddress"
    ):  # neighbours remember it: with another one it is not found for a while
        found["MacAddress"] = mac
    return found


def _with_children(pid: int) -> list[int]:
    import psutil

    with suppress(psutil.Error):
        return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    return [pid]


def _received_by(pid: int) -> int:
    total = 0
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/net/dev").read_text().splitlines()[2:]:
            name, _, counts = line.partition(":")
            if name.strip() != "lo":
                total += int(counts.split()[0])
    return total
