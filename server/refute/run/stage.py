"""Everything that one attempt holds while it runs: cluster, fault planes, observer, clients and recorders."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from refute.history import FaultEvent, FaultPhase, HistoryWriter
from refute.history.faults_log import FaultsWriter, write_landing
from refute.nemesis.client.rules import ClientRules
from refute.nemesis.nemesis import Nemesis
from refute.plan.step import Await
from refute.plan.system_spec import SystemSpec
from refute.system.cluster import Cluster
from refute.system.errors import ClusterError
from refute.system.node import NodeProcess
from refute.system.observer import Observer, TimedOut
from refute.workload.client import open_client
from refute.workload.directed import StepClients
from refute.workload.recorder import Recorder
from refute.workload.request import Endpoints
from refute.workload.trigger import OperationTrigger

_TOLD = {FaultPhase.APPLIED: "on", FaultPhase.HEALED: "healed", FaultPhase.HEAL_FAILED: "NOT HEALED"}

Say = Callable[[str], None]


class Stage:
    """One attempt's resources, taken in order and given back in reverse, whatever happens in between.

    `aliases` are the nodes that steps have bound; `wanted` the faults (plane, kind) that the nodes have
    to be prepared for. Leaving the context heals every fault, stops the
    cluster, and writes `landing.json`; what cannot be undone is on record as HEAL_FAILED.
    """

    def __init__(
        self,
        system: SystemSpec,
        folder: Path,
        *,
        plan_dir: Path,
        variables: Mapping[str, str],
        seed: int,
        say: Say,
        stop: threading.Event,
        wanted: frozenset[tuple[str, str]] = frozenset(),
        file_system: str | None = None,
        calls_through: str | None = None,
    ) -> None:
        self.system = system
        self.folder = folder
        self.say = say
        self.stop = stop
        self.rng = random.Random(seed)
        self.aliases: dict[str, str] = {}
        self.words: dict[str, Any] = {
            "python": sys.executable,
            "plan_dir": str(plan_dir),
            "variables": {**system.variables, **variables},
        }
        self.rules = ClientRules(seed)
        self.rules.operations = frozenset(
            kind for client in system.clients.values() if client.http for kind in client.http.operations
        )
        self._plan_dir = plan_dir
        self._wanted = wanted
        self._file_system = file_system
        self._calls_through = calls_through
        self._variables = dict(variables)
        self._held = ExitStack()
        self._endpoints: dict[str, dict[str, tuple[str, int]]] = {}

    def __enter__(self) -> Self:
        """Open the records and take the ports; nothing runs yet."""
        with ExitStack() as taking:
            history = taking.enter_context(HistoryWriter(self.folder / "history.jsonl"))
            self._faults = taking.enter_context(FaultsWriter(self.folder / "faults.jsonl"))
            self.recorder = Recorder(history)
            self.cluster = taking.enter_context(
                Cluster(self.system, root=self.folder, plan_dir=self._plan_dir, variables=self._variables)
            )
            self.observer = taking.enter_context(Observer(self.system, self.cluster))
            taking.callback(self._write_landing)
            self.nemesis = taking.enter_context(
                Nemesis(
                    self.system,
                    self.cluster,
                    run_dir=self.folder,
                    observer=self.observer,
                    rng=self.rng,
                    on_event=self._on_fault,
                    wanted=self._wanted,
                    clients=self.rules,
                    file_system=self._file_system,
                    calls_through=self._calls_through,
                )
            )
            self._held = taking.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Heal, stop, write the landing evidence."""
        self._held.__exit__(kind, error, trace)

    def start(self) -> None:
        """Prepare the fault planes, start the nodes on them, wait until ready, run the set-up commands."""
        self._try_clients()
        self.nemesis.prepare()
        self._endpoints.clear()  # those of before were not on the fault planes
        self.cluster.on_started.append(self._on_started)
        self.cluster.start()
        self.cluster.wait_ready()
        self.cluster.setup()
        self.clients = self._held.enter_context(
            StepClients(
                self.system.clients,
                self.endpoints(),
                self.recorder,
                words=self.words,
                directory=self._plan_dir,
                log=self._worker_log,
                rules=self.rules,
            )
        )

    def _try_clients(self) -> None:
        # A client that cannot work would only make every operation unknown: say so before anything starts.
        for name, client in self.system.clients.items():
            opened = open_client(
                client, self.endpoints(), where=name, words=self.words, directory=self._plan_dir
            )
            opened.close()

    def endpoints(self) -> Endpoints:
        """Where clients reach each port of each node; of a spare, from the time at which it was added."""
        for node in self.cluster.present:
            if node not in self._endpoints:
                reached = {port: self.cluster.client_address(node, port) for port in self.system.ports}
                self._endpoints[node] = {port: _host_port(where) for port, where in reached.items()}
        return self._endpoints

    def _on_started(self, _: NodeProcess) -> None:
        self.endpoints()

    def resolve(self, reference: str) -> tuple[str, ...]:
        """The nodes that a reference stands for now. Raises ClusterError where nobody plays the role."""
        return self.observer.resolve(reference, self.aliases, self.rng)

    def role(self, reference: str) -> str | None:
        """The first node that a reference stands for, or None while there is none."""
        try:
            nodes = self.resolve(reference)
        except ClusterError:
            return None
        return nodes[0] if nodes else None

    def wait(self, condition: Await) -> tuple[Any, str]:
        """What was waited for (a trigger for the nemesis), or None and why it did not come."""
        seen: Any = None
        if condition.model_dump(exclude={"operation", "timeout"}, exclude_defaults=True):
            states = condition.model_copy(update={"operation": None})
            seen = self.observer.wait_for(states, self.aliases, stop=self.stop)
            if isinstance(seen, TimedOut):
                return None, seen.words
        if condition.operation is not None:
            with OperationTrigger(self.recorder, condition.operation) as trigger:
                operation = trigger.wait(condition.timeout, stop=self.stop)
            if operation is None:
                return None, f"no operation {condition.operation} in {condition.timeout} s"
            seen = {"operation": operation.index, "seen_ns": operation.completed_ns}
        return seen, ""

    def _on_fault(self, event: FaultEvent) -> None:
        self.recorder.epoch = event.epoch
        self._faults.append(event)
        if event.phase in _TOLD:
            self.say(f"{event.plane}/{event.kind} at {', '.join(event.targets[:4])} {_TOLD[event.phase]}")

    def _write_landing(self) -> None:
        write_landing(self.folder / "landing.json", self.nemesis.landings())

    def _worker_log(self, line: str) -> None:
        path = self.folder / "logs" / "workers.log"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as stream:
            stream.write(line.rstrip("\n") + "\n")


def _host_port(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)
