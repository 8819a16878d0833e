"""The nemesis of one run: applies faults, records what was done and what it did, and undoes all of it."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any, Self

from refute.errors import RefuteError
from refute.history.fault import FaultEvent, FaultPhase, Landing
from refute.nemesis.client.rules import ClientRules
from refute.nemesis.declared import Declared
from refute.nemesis.errors import FaultInputError, NemesisError, UnrecordedError
from refute.nemesis.evidence import Sampler
from refute.nemesis.guard import start_guard
from refute.nemesis.healing import HealReport, end_processes, sweep, write_down
from refute.nemesis.injection import ON, Healed, Injection, as_trigger, is_meant
from refute.nemesis.ledger import MARK, Ledger, read_ledger
from refute.nemesis.mechanisms import implemented, planes_for
from refute.nemesis.names import Names
from refute.nemesis.plane import Fault, Plane, Site, Snapshot
from refute.nemesis.process.undo import handle_of
from refute.nemesis.undo import Undo, left_after
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
_HEALING_FOR_NS = 60_000_000_000
_BEAT_S = 1.0
_ATTEMPTS = 4


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
        self.swept: HealReport | None = None
        self._rng = rng or Random()
        self._wanted = wanted
        self._clients = clients
        self._file_system = file_system
        self._calls_through = calls_through
        self._on_event = on_event or _nobody
        self._ttl_s, self._hang_s = ttl_s, hang_s
        self._lock = threading.RLock()
        self._epoch = 0
        self._count = 0
        self._unrecorded: list[str] = []
        self._injections: dict[str, Injection] = {}
        self._planes: dict[str, Plane] = {}
        self._ledger: Ledger | None = None
        self._heartbeat = -1
        self._over = threading.Event()
        self._sampler = Sampler(self._measure, observer, self._tick)
        self._beating = threading.Thread(target=self._beat, name="nemesis-heartbeat", daemon=True)

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
        return self._epoch

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
        self.swept = sweep()
        self.cluster.allocate()
        self._ledger = Ledger.create(self.ledger_directory)
        self._heartbeat = start_guard(self.ledger_directory, self._hang_s)
        self._beating.start()
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
                self._tell(injection, None, {})
                self._keep_what_is_about_to_change(fault)
                detail = plane.apply(fault, lambda prefix: self._sampler.keep(injection.around, prefix))
            except BaseException as error:
                self._undo_attempt(injection, error)
                raise
            on_ns = int(detail.get("on_ns") or time.monotonic_ns())
            self._epoch += 1
            injection.phase = FaultPhase.APPLIED
            try:
                self._tell(injection, as_trigger(trigger, on_ns), detail, on_ns)
            except BaseException:
                self._heal_one(injection, None)
                raise
            self._sampler.started(injection.around)
            if action.for_s is not None:
                injection.heal_at_s = time.monotonic() + action.for_s
            if plane.is_over(fault):
                self._heal_one(injection, None)
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
                if left := self._heal_one(injection, version):
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
                # Undo, but start nothing that is to be stopped in a moment.
                if left := self._heal_one(injection, None, start=False):
                    failed[injection.fault.id] = left
        self._sampler.end()
        self._over.set()
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
            if self._heartbeat >= 0:
                os.close(self._heartbeat)
                self._heartbeat = -1
        if failed:
            raise NemesisError(f"not healed: {failed}", hint="refute heal tries again")
        if self._unrecorded:
            raise UnrecordedError(
                f"what was done to faults could not be recorded: {'; '.join(self._unrecorded[:3])}",
                hint="the evidence is incomplete: make room and run it again",
            )

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
        injection = Injection(fault, plane, action, targets, undos, around, pids=self._pids(fault))
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

    def _undo_attempt(self, injection: Injection, error: BaseException) -> None:
        assert self._ledger is not None
        injection.note = f"could not be applied: {error}"
        left = _undone(injection)
        unhealed = write_down(self._ledger, injection.fault.id, "owner", injection.note, "; ".join(left))
        if unhealed:
            injection.phase, left = FaultPhase.HEAL_FAILED, [unhealed]
        else:
            injection.phase, injection.healed_ns = FaultPhase.HEALED, time.monotonic_ns()
        self._tell_if_possible(injection, None, {"error": injection.note, "left": left})

    def _heal_one(self, injection: Injection, version: str | None, *, start: bool = True) -> str | None:
        assert self._ledger is not None
        fault, plane = injection.fault, injection.plane
        by = self._healed_by_others(injection)
        if injection.around.start is not None and injection.phase is FaultPhase.APPLIED:
            self._sampler.ending(injection.around)
        injection.phase = FaultPhase.HEALING
        injection.heal_at_s = None
        self._tell_if_possible(injection, None, {})
        healing_ns = time.monotonic_ns()
        with suppress(NemesisError):  # then the guard may undo it at the same time, which does no harm
            self._ledger.healing(fault.id, healing_ns + _HEALING_FOR_NS)
        left: str | None = None
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(0.1 * 2**attempt)
            try:
                if start:
                    plane.heal(fault, version)
                    left = plane.verify_healed(fault)
                else:
                    left = "; ".join(_undone(injection)) or None
            except (RefuteError, OSError) as error:
                left = str(error)
            if left is None:
                break
        if left is None and start:
            left = self._not_ready_again(injection)
        left = write_down(self._ledger, fault.id, "owner", "", left)
        if left is not None:
            injection.phase = FaultPhase.HEAL_FAILED
            self._tell_if_possible(injection, None, {"left": left})
            return left
        injection.phase, injection.healed_ns = FaultPhase.HEALED, healing_ns
        self._epoch += 1
        self._sampler.ended(injection.around)
        self._tell_if_possible(injection, None, {"by": by} if by else {})
        if by:
            injection.note = f"was healed before its time by the {by}"
        return None

    def _pids(self, fault: Fault) -> dict[str, int]:
        nodes = self.cluster.nodes
        return {node: nodes[node].pid for node in fault.nodes if node in nodes}

    def _not_ready_again(self, injection: Injection) -> str | None:
        """Waits for nodes that the fault or its undoing has started anew; what is wrong with them, if any.

        While another fault is on, nobody waits: a node that is cut off or stopped by that one need not get
        ready, and waiting for it under the lock would keep the other from being healed at all.
        """
        if any(each is not injection and each.phase in ON for each in self._injections.values()):
            return None
        now = self._pids(injection.fault)
        there = self.cluster.present
        anew = [node for node, pid in now.items() if node in there and pid != injection.pids.get(node)]
        try:
            if anew:
                self.cluster.wait_ready(anew)
        except RefuteError as error:
            return str(error)
        return None

    def _healed_by_others(self, injection: Injection) -> str:
        # The guard may have acted because we hung or the time was up. Then it was not on until now.
        entry = read_ledger(self.ledger_directory).entries.get(injection.fault.id)
        return f"{entry.healed_by} ({entry.why})" if entry and entry.healed_by else ""

    def _tell(
        self,
        injection: Injection,
        trigger: Mapping[str, Any] | None,
        detail: Mapping[str, Any],
        time_ns: int | None = None,
    ) -> None:
        fault, label = injection.fault, injection.action.label
        said = {"parameters": dict(fault.parameters), **({"label": label} if label else {}), **detail}
        moment = time.monotonic_ns() if time_ns is None else time_ns
        self._on_event(
            FaultEvent(
                *(fault.id, injection.phase, moment, fault.plane, fault.kind),
                *(injection.targets, self._epoch, trigger, said),
            )
        )

    def _tell_if_possible(
        self, injection: Injection, trigger: Mapping[str, Any] | None, detail: Mapping[str, Any]
    ) -> None:
        # Where no record can be written any more, what is on has to be undone all the same.
        try:
            self._tell(injection, trigger, detail)
        except (RefuteError, OSError) as error:
            self._unrecorded.append(f"{injection.fault.id} {injection.phase}: {error}")

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
                    self._heal_one(injection, None)
            waiting = [i.heal_at_s for i in self._injections.values() if i.heal_at_s is not None]
            return min(waiting, default=math.inf)
        finally:
            self._lock.release()

    def _node_started(self, node: NodeProcess) -> None:
        assert self._ledger is not None
        self._ledger.resource(node.node, Undo("end", handle_of(node.identity, [])))

    def _beat(self) -> None:
        while not self._over.wait(_BEAT_S):
            try:
                os.write(self._heartbeat, b".")
            except OSError:
                return  # the guard is gone; what it would do, the next start does


def _undone(injection: Injection) -> list[str]:
    """What is left of a fault after its undos, last made, first undone."""
    return [left for undo in reversed(injection.undos) if (left := left_after(undo.as_json()))]


def _nobody(_: FaultEvent) -> None:
    pass
