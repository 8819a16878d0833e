"""Failing and slow calls, by the way that works: strace at the running node, or a library that it carries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from refute.errors import RefuteError
from refute.history.fault import Signal
from refute.nemesis.errors import FaultUnavailableError, NemesisError
from refute.nemesis.plane import Fault, Probe, Readings, Site, Snapshot
from refute.nemesis.storage import call_words
from refute.nemesis.storage.call_victims import CallVictims
from refute.nemesis.storage.data_files import DataFiles
from refute.nemesis.storage.family import Family
from refute.nemesis.storage.shimmed_calls import ShimmedCalls
from refute.nemesis.storage.system_calls import SystemCalls
from refute.nemesis.undo import Undo
from refute.plan.fault_entry import ANY
from refute.system.placement import NodePlacement

_STRACE, _PRELOAD = "strace", "preload"
_WAYS: Mapping[str, type[Family]] = {_STRACE: SystemCalls, _PRELOAD: ShimmedCalls}
_WORKS = "it works"


class CallFaults:
    """One family, two ways. What a fault goes through is settled when the nodes are prepared."""

    kinds: ClassVar[frozenset[str]] = SystemCalls.kinds

    def __init__(self, site: Site, files: DataFiles) -> None:
        self._site = site
        self._cluster = site.cluster
        self._victims = CallVictims(site.cluster)
        self._traced = SystemCalls(site, files, self._victims)
        self._shimmed = ShimmedCalls(site, files, self._victims)
        self._by_itself = _STRACE

    @staticmethod
    def probe(kind: str) -> Probe:
        """Each way is tried; `detail` says of each what came of it."""
        found = {name: _tried(name, kind) for name in _WAYS}
        words = "; ".join(f"{name}: {how}" for name, how in found.items())
        return Probe(_WORKS in found.values(), words, found)

    def prepare(self, kinds: frozenset[str]) -> Mapping[str, NodePlacement]:
        """Nodes carry the shim where strace cannot attach, or where a fault of the scenario asks for it.

        `kinds` are those that are wanted. Raises FaultUnavailableError where neither way works.
        """
        asked = self._site.calls_through
        if not kinds or asked == _STRACE:
            return {}
        strace = _WORKS if asked == _PRELOAD else _tried(_STRACE, min(kinds))
        if asked is None and strace == _WORKS:
            return {}
        try:
            placed = self._shimmed.prepare()
        except RefuteError as error:
            tried = "" if asked else f"strace: {strace}; "
            raise FaultUnavailableError(f"{' and '.join(sorted(kinds))}: {tried}preload: {error}") from error
        self._by_itself = _PRELOAD
        return placed

    def targets(self, fault: Fault) -> tuple[str, ...]:
        """The nodes; each running, and under no other fault of its calls."""
        call_words.check(fault)
        for node in fault.nodes:
            if not self._cluster.node(node).running:
                raise NemesisError(f"it has ended ({self._cluster.node(node).exit})", where=node)
            if node in self._traced.hit or node in self._shimmed.hit:
                raise NemesisError("a fault of its system calls is on there already", where=node)
        return self._way(fault).targets(fault)

    def undos(self, fault: Fault) -> tuple[Undo, ...]:
        """As its way says."""
        return self._way(fault).undos(fault)

    def apply(self, fault: Fault, take: Callable[[str], None]) -> Mapping[str, Any]:
        """As its way says."""
        return self._way(fault).apply(fault, take)

    def measure(self) -> Snapshot:
        """The readings of both ways, and of the nodes."""
        return {**self._traced.measure(), **self._shimmed.measure(), **self._victims.measure()}

    def signals(self, fault: Fault, readings: Readings) -> tuple[Signal, ...]:
        """As its way says."""
        return self._way(fault).signals(fault, readings)

    def heal(self, fault: Fault, version: str | None) -> None:
        """As its way says."""
        self._way(fault).heal(fault, version)

    def verify_healed(self, fault: Fault) -> str | None:
        """As its way says."""
        return self._way(fault).verify_healed(fault)

    def close(self) -> None:
        """Both end."""
        self._traced.close()
        self._shimmed.close()

    def _way(self, fault: Fault) -> SystemCalls | ShimmedCalls:
        asked = fault.parameters.get("through", ANY)
        return self._shimmed if (self._by_itself if asked == ANY else asked) == _PRELOAD else self._traced


def _tried(name: str, kind: str) -> str:
    try:
        found = _WAYS[name].probe(kind)
    except (RefuteError, OSError) as error:
        return str(error)
    return _WORKS if found.works else found.reason
