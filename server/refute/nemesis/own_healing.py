"""Undoes faults of a run that lives: again where it fails, and written down whatever comes of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from refute.errors import RefuteError
from refute.history.fault import FaultPhase
from refute.nemesis.errors import NemesisError
from refute.nemesis.evidence import Sampler
from refute.nemesis.fault_events import FaultEvents
from refute.nemesis.healing import write_down
from refute.nemesis.injection import ON, Injection
from refute.nemesis.ledger import Ledger, read_ledger
from refute.nemesis.plane import Fault
from refute.nemesis.undo import left_after
from refute.system.cluster import Cluster

_HEALING_FOR_NS = 60_000_000_000
_ATTEMPTS = 4


class OwnHealing:
    """Heals one of the `injections` of a cluster; the others may keep its nodes from serving."""

    def __init__(
        self,
        cluster: Cluster,
        ledger: Ledger,
        sampler: Sampler,
        events: FaultEvents,
        injections: Mapping[str, Injection],
    ) -> None:
        self._cluster = cluster
        self._ledger = ledger
        self._sampler = sampler
        self._events = events
        self._injections = injections

    def undo_attempt(self, injection: Injection, error: BaseException) -> None:
        """Undo what of a fault may be on although it could not be applied."""
        injection.note = f"could not be applied: {error}"
        left = _undone(injection)
        unhealed = write_down(self._ledger, injection.fault.id, "owner", injection.note, "; ".join(left))
        if unhealed:
            injection.phase, left = FaultPhase.HEAL_FAILED, [unhealed]
        else:
            injection.phase, injection.healed_ns = FaultPhase.HEALED, time.monotonic_ns()
        self._events.tell_if_possible(injection, {"error": injection.note, "left": left})

    def heal(self, injection: Injection, version: str | None = None) -> str | None:
        """Undo a fault so that its nodes serve again, started in `version` where they do not run.

        What is left of it, or None; the fault is then HEAL_FAILED, or HEALED.
        """

        def by_its_plane() -> str | None:
            injection.plane.heal(injection.fault, version)
            return injection.plane.verify_healed(injection.fault)

        return self._heal(injection, lambda: _persistently(by_its_plane) or self._not_ready_again(injection))

    def heal_before_the_end(self, injection: Injection) -> str | None:
        """As `heal`, but start nothing that is to be stopped in a moment."""
        return self._heal(injection, lambda: _persistently(lambda: "; ".join(_undone(injection)) or None))

    def _heal(self, injection: Injection, undo: Callable[[], str | None]) -> str | None:
        fault = injection.fault
        by = self._healed_by_others(injection)
        if injection.around.start is not None and injection.phase is FaultPhase.APPLIED:
            self._sampler.ending(injection.around)
        injection.phase = FaultPhase.HEALING
        injection.heal_at_s = None
        self._events.tell_if_possible(injection, {})
        healing_ns = time.monotonic_ns()
        with suppress(NemesisError):  # then the guard may undo it at the same time, which does no harm
            self._ledger.healing(fault.id, healing_ns + _HEALING_FOR_NS)
        left = write_down(self._ledger, fault.id, "owner", "", undo())
        if left is not None:
            injection.phase = FaultPhase.HEAL_FAILED
            self._events.tell_if_possible(injection, {"left": left})
            return left
        injection.phase, injection.healed_ns = FaultPhase.HEALED, healing_ns
        self._events.epoch += 1
        self._sampler.ended(injection.around)
        self._events.tell_if_possible(injection, {"by": by} if by else {})
        if by:
            injection.note = f"was healed before its time by the {by}"
        return None

    def _not_ready_again(self, injection: Injection) -> str | None:
        """Waits for nodes that the fault or its undoing has started anew; what is wrong with them, if any.

        While another fault is on, nobody waits: a node that is cut off or stopped by that one need not get
        ready, and waiting for it under the lock would keep the other from being healed at all.
        """
        if any(each is not injection and each.phase in ON for each in self._injections.values()):
            return None
        now = pids_of(injection.fault, self._cluster)
        there = self._cluster.present
        anew = [node for node, pid in now.items() if node in there and pid != injection.pids.get(node)]
        try:
            if anew:
                self._cluster.wait_ready(anew)
        except RefuteError as error:
            return str(error)
        return None

    def _healed_by_others(self, injection: Injection) -> str:
        # The guard may have acted because we hung or the time was up. Then it was not on until now.
        entry = read_ledger(self._ledger.directory).entries.get(injection.fault.id)
        return f"{entry.healed_by} ({entry.why})" if entry and entry.healed_by else ""


def pids_of(fault: Fault, cluster: Cluster) -> dict[str, int]:
    """The latest process of each node that a fault is applied to, of those that were ever started."""
    return {node: cluster.nodes[node].pid for node in fault.nodes if node in cluster.nodes}


def _persistently(undo: Callable[[], str | None]) -> str | None:
    left: str | None = None
    for attempt in range(_ATTEMPTS):
        if attempt:
            time.sleep(0.1 * 2**attempt)
        try:
            left = undo()
        except (RefuteError, OSError) as error:
            left = str(error)
        if left is None:
            break
    return left


def _undone(injection: Injection) -> list[str]:
    """What is left of a fault after its undos, last made, first undone."""
    return [left for undo in reversed(injection.undos) if (left := left_after(undo.as_json()))]
