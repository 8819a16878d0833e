"""The nemesis of one run: applies faults, records what was done and what it did, and undoes all of it."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Self

from refute.errors import RefuteError
from refute.history.fault import FaultEvent, FaultPhase, Landing
from refute.nemesis.client.rules import ClientRules
from refute.nemesis.declared import Declared
from refute.nemesis.errors import FaultInputError, NemesisError
from refute.nemesis.evidence import Sampler
from refute.nemesis.fault_events import FaultEvents
from refute.nemesis.healing import end_processes, sweep
from refute.nemesis.heartbeat import Heartbeat
from refute.nemesis.injection import ON, Healed, Injection, as_trigger, is_meant
from refute.nemesis.ledger import MARK, Ledger, read_ledger
from refute.nemesis.mechanisms import implemented, planes_for
from refute.nemesis.names import Names
from refute.nemesis.own_healing import OwnHealing, pids_of
from refute.nemesis.plane import Fault, Plane, Site, Snapshot
from refute.nemesis.process.undo import handle_of
from refute.nemesis.undo import Undo
from refute.plan.fault_catalog import read_parameters
from refute.plan.step import FaultAction, VictimSignal
from refute.plan.system_spec import SystemSpec
from refute.system.cluster import Cluster
from refute.system.node import NodeProcess
from refute.system.observer import Observer, Seen
from refute.system.placement import Placement

TTL_S = 600.0
HANG_S = 20.0
_BEYOND_ITS_TIME_S = 30.0


class Nemesis:
    """Faults of one cluster. Leaving the context heals all of them and stops the cluster.

    The guard answers for the node processes too, so the cluster has to end before the guard does: the
    nemesis is left last. `on_event` is told of every step in the life of a fault, as it happens. `wanted` are
    the faults (plane, kind) that may be asked for, beyond those of the planes that are always there;
    `clients` is what the clients of the run look at before they send, `file_system` on which one the nodes'
    data have to be for faults of storage, None where any will do; `calls_through` what makes their calls
    fail, None for what works.
    """

    def __init__(
        self,
        spec: SystemSpec,
        cluster: Cluster,
        *,
        run_dir: Path,
        observer: Observer | None = None,
        rng: Random | None = None,
        on_event: Callable[[FaultEvent], None] | None = None,
        wanted: frozenset[tuple[str, str]] = frozenset(),
        clients: ClientRules | None = None,
        file_system: str | None = None,
        calls_through: str | None = None,
        ttl_s: float = TTL_S,
        hang_s: float = HANG_S,
    ) -> None:
        self.spec = spec
        self.cluster = cluster
        self.run_dir = run_dir.resolve()
        self.observer = observer
        self._rng = rng or Random()
        self._wanted = wanted
        self._clients = clients
        self._file_system = file_system
        self._calls_through = calls_through
        self._events = FaultEvents(on_event)
        self._ttl_s, self._hang_s = ttl_s, hang_s
        self._lock = threading.RLock()
        self._count = 0
        self._injections: dict[str, Injection] = {}
        self._planes: dict[str, Plane] = {}
        self._ledger: Ledger | None = None
        self._heartbeat: Heartbeat | None = None
        self._healing: OwnHealing  # from `prepare` on, before which there is nothing to heal
        self._over = threading.Event()
        self._sampler = Sampler(self._measure, observer, self._tick)

    def __enter__(self) -> Self:
        """Nothing is started before `prepare`."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Heal everything, stop the cluster, let the guard go."""
        self.close()

    @property
    def epoch(self) -> int:
        """How often the set of active faults has changed."""
        return self._events.epoch

    @property
    def environment(self) -> Mapping[str, str]:
        """What marks every process of this run; give it to workers too, so that none outlives the run."""
        assert self._ledger is not None, "prepare first"
        return {MARK: self._ledger.run}

    @property
    def ledger_directory(self) -> Path:
        """Where the ledger of this run is; `healing.heal_everything` takes it."""
        return self.run_dir / "ledger"

    def prepare(self) -> Placement:
        """Sweep, open the ledger, start the guard and the planes; the cluster is placed on them.

        Call after the cluster's ports are allocated and before it starts. Raises NemesisError.
        """
        sweep()
        self.cluster.allocate()
        self._ledger = Ledger.create(self.ledger_directory)
        self._heartbeat = Heartbeat(self.ledger_directory, self._hang_s)
        self._healing = OwnHealing(self.cluster, self._ledger, self._sampler, self._events, self._injections)
        self.cluster.on_started.append(self._node_started)
        site = Site(
            *(self.cluster, self.run_dir, self._ledger, self._rng, self.environment, self._wanted),
            self._clients,
            self._file_system,
            self._calls_through,
        )
        placement = Placement()
        for plane in planes_for(site):
            self._planes[plane.name] = plane
            made = plane.prepare()
            self.cluster.place(made)  # a later plane may stand in front of this one
            placement = placement.with_(made)
        self._sampler.start()
        return placement

    def watch(self, signals: Sequence[VictimSignal], aliases: Mapping[str, str] | None = None) -> None:
        """Read these signals of the system from now on, so that there is a baseline when a fault comes."""
        pairs = [pair for signal in signals for pair in self._names(aliases).of_signal(signal)]
        self._sampler.watch(pairs)

    def apply(
        self,
        action: FaultAction,
        targets: Sequence[str] = (),
        *,
        aliases: Mapping[str, str] | None = None,
        trigger: Seen | Mapping[str, Any] | None = None,
    ) -> str:
        """Apply a fault to these nodes; its id. It is on when the call returns.

        `trigger` is what was waited for: the event then records how long after it the fault was on.
        `action.for_s` heals it after that time. Raises FaultInputError for what is no fault of this system,
        NemesisError where it cannot be applied now, and what `on_event` raises where it cannot be recorded;
        then nothing of it is left on.
        """
        with self._lock:
            injection = self._plan(action, tuple(targets), aliases or {})
            fault, plane = injection.fault, injection.plane
            try:
                self._events.tell(injection, {})
                self._keep_what_is_about_to_change(fault)
                detail = plane.apply(fault, lambda prefix: self._sampler.keep(injection.around, prefix))
            except BaseException as error:
                self._healing.undo_attempt(injection, error)
                raise
            on_ns = int(detail.get("on_ns") or time.monotonic_ns())
            self._events.epoch += 1
            injection.phase = FaultPhase.APPLIED
            try:
                self._events.tell(injection, detail, trigger=as_trigger(trigger, on_ns), time_ns=on_ns)
            except BaseException:
                self._healing.heal(injection)
                raise
            self._sampler.started(injection.around)
            if action.for_s is not None:
                injection.heal_at_s = time.monotonic() + action.for_s
            if plane.is_over(fault):
                self._healing.heal(injection)
            return fault.id

    def heal(self, what: str = "all", *, version: str | None = None) -> Healed:
        """Undo one fault by its id or label, those of a node, or `all`; heals twice do no harm.

        A node that does not run is started, in `version` if one is given. What could not be undone is told
        as HEAL_FAILED, is in the answer, and stays with the guard. Raises FaultInputError for a name that
        is neither.
        """
        with self._lock:
            chosen = [each for each in self._injections.values() if is_meant(each, what)]
            if not chosen and what != "all" and what not in self.spec.everyone:
                raise FaultInputError(f"{what!r} is no fault, label or node")
            on = [each for each in chosen if each.phase in (FaultPhase.APPLIED, FaultPhase.HEAL_FAILED)]
            failed: dict[str, str] = {}
            for injection in reversed(on):
                if left := self._healing.heal(injection, version):
                    failed[injection.fault.id] = left
            if what in self.spec.nodes and not self.cluster.node(what).running:
                self.cluster.start_node(what, version)  # it had ended without a fault of ours
                self.cluster.wait_ready([what])
            return Healed(tuple(each.fault.id for each in on if each.fault.id not in failed), failed)

    def active(self) -> tuple[str, ...]:
        """The faults that are on."""
        return tuple(
            each.fault.id for each in self._injections.values() if each.phase in ON and each.healed_ns is None
        )

    def landing(self, fault: str) -> Landing:
        """The evidence for one fault so far; final a second after it is healed."""
        injection = self._injections[fault]
        if injection.landing is not None:
            return injection.landing
        around = injection.around if injection.around.after else self._sampler.now(injection.around)
        signals = injection.plane.signals(injection.fault, around.readings())
        signals += around.declared_signals(injection.healed_ns)
        landing = Landing(
            fault, injection.fault.plane, injection.fault.kind, injection.targets, signals, injection.note
        )
        if injection.phase is FaultPhase.HEALED and (injection.around.complete or self._over.is_set()):
            injection.landing = landing
        return landing

    def landings(self) -> list[Landing]:
        """The evidence for every fault that was applied, in order."""
        return [self.landing(name) for name, each in self._injections.items() if each.around.start]

    def close(self) -> None:
        """Undo all faults, stop cluster and planes, close the ledger.

        Raises NemesisError with what could not be undone, UnrecordedError where a record is incomplete.
        """
        with self._lock:
            if self._ledger is None or self._over.is_set():
                self.cluster.close()
                return
            failed = {}
            for injection in reversed([each for each in self._injections.values() if each.phase in ON]):
                if left := self._healing.heal_before_the_end(injection):
                    failed[injection.fault.id] = left
        self._sampler.end()
        self._over.set()
        if self._heartbeat is not None:
            self._heartbeat.stop()
        try:
            self.cluster.close()
        finally:
            for plane in self._planes.values():
                plane.close()
            failed |= end_processes(read_ledger(self.ledger_directory))[1]  # also what has left its session
            if failed:
                self._ledger.shut()  # the guard sees us end with faults on, and goes on trying
            else:
                self._ledger.close(unregister=True)
            if self._heartbeat is not None:
                self._heartbeat.close()
        if failed:
            raise NemesisError(f"not healed: {failed}", hint="refute heal tries again")
        self._events.require_complete()

    # -- one fault ------------------------------------------------------------------------------------------

    def _plan(self, action: FaultAction, nodes: tuple[str, ...], aliases: Mapping[str, str]) -> Injection:
        if self._ledger is None:
            raise NemesisError("no fault can be applied before the nemesis is prepared")
        parameters = read_parameters(action.plane, action.kind, action.parameters)
        plane = self._planes.get(action.plane)
        if (action.plane, action.kind) not in implemented():
            raise NemesisError(f"there is no mechanism for {action.plane} {action.kind} yet")
        if plane is None:
            raise NemesisError(
                f"the nodes were not started on the plane {action.plane}",
                hint=f"ask for it when the system is started: planes: [{action.plane}/{action.kind}]",
            )
        for node in nodes:
            if node not in (*self.spec.everyone, "client"):
                known = ", ".join(self.spec.everyone)
                raise FaultInputError(f"there is no node {node!r}; there are {known}")
        self._count += 1
        names = self._names(aliases)
        written = {key: names.of_parameter(key, value) for key, value in parameters.items()}
        fault = Fault(f"f{self._count}", action.plane, action.kind, nodes, written)
        targets = plane.targets(fault)
        declared = [Declared(signal, tuple(names.of_signal(signal))) for signal in action.evidence]
        self._sampler.watch([pair for each in declared for pair in each.pairs])
        undos = plane.undos(fault)
        lasts_s = self._ttl_s if action.for_s is None else action.for_s + _BEYOND_ITS_TIME_S
        deadline_ns = time.monotonic_ns() + int(lasts_s * 1e9)
        around = self._sampler.begin(declared)
        self._ledger.planned(fault.id, fault.plane, fault.kind, targets, undos, deadline_ns)
        injection = Injection(fault, plane, action, targets, undos, around, pids=pids_of(fault, self.cluster))
        self._injections[fault.id] = injection
        return injection

    def _names(self, aliases: Mapping[str, str] | None) -> Names:
        return Names(self.spec.everyone, self.observer, aliases or {}, self._rng)

    def _keep_what_is_about_to_change(self, fault: Fault) -> None:
        # A paused node that is killed had been paused: its readings are those of until now.
        for other in self._injections.values():
            if other.phase is FaultPhase.APPLIED and other.fault.plane == fault.plane:
                for node in set(other.fault.nodes) & set(fault.nodes):
                    self._sampler.keep(other.around, f"{node}.")

    # -- in the background ----------------------------------------------------------------------------------

    def _measure(self) -> Snapshot:
        values: dict[str, Any] = {}
        for plane in list(self._planes.values()):
            try:
                values |= plane.measure()
            except (RefuteError, OSError):
                continue  # a reading that cannot be taken is no evidence, and no reason to stop
        return values

    def _tick(self) -> float:
        # Heals the faults whose time has come, and those that have ended by themselves.
        if not self._lock.acquire(blocking=False):
            return time.monotonic() + 0.01
        try:
            for injection in list(self._injections.values()):
                if injection.phase is not FaultPhase.APPLIED:
                    continue
                timed_out = injection.heal_at_s is not None and time.monotonic() >= injection.heal_at_s
                if timed_out or injection.plane.is_over(injection.fault):
                    self._healing.heal(injection)
            waiting = [i.heal_at_s for i in self._injections.values() if i.heal_at_s is not None]
            return min(waiting, default=math.inf)
        finally:
            self._lock.release()

    def _node_started(self, node: NodeProcess) -> None:
        assert self._ledger is not None
        self._ledger.resource(node.node, Undo("end", handle_of(node.identity, [])))
