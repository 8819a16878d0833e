"""Failing and slow calls by a preloaded library: a node's syncs or writes, where no tracer may attach."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from refute.history.fault import Reading, Signal
from refute.nemesis.errors import FaultInputError, NemesisError
from refute.nemesis.plane import Fault, Probe, Readings, Site, Snapshot
from refute.nemesis.preload.build import built_file_shim
from refute.nemesis.preload.carrying import carried_by_nodes
from refute.nemesis.preload.file_calls_page import (
    LONGEST_SLEEP_S,
    CallSetting,
    FileCallsPage,
)
from refute.nemesis.preload.trial import program_with
from refute.nemesis.serving import Serving
from refute.nemesis.storage.call_signals import CallStriker
from refute.nemesis.storage.call_victims import CallVictims
from refute.nemesis.storage.call_words import call, delay_s, error_number, every
from refute.nemesis.storage.data_files import DataFiles
from refute.nemesis.storage.family import listed, not_running, start_those_that_ended
from refute.nemesis.storage.holds import SHARE_OF_A_HOLD, HeldThread, Holds, held_threads
from refute.nemesis.undo import Undo
from refute.nemesis.waiting import within
from refute.system.placement import NodePlacement
from refute.system.process_table import parent_of

_CALLS: Mapping[str, tuple[str, ...]] = {
    "fsync": ("fsync", "fdatasync", "sync_file_range", "msync"),
    "write": ("write", "pwrite", "writev", "pwritev"),
}
_ON, _WITHOUT, _OFF = "on", "the node runs without it", "off"
_SHIM = CallStriker(
    name="shim",
    struck="storage.struck",
    counted_by="counted by the preload shim",
    stands="storage.shim",
    seen_by="page that it shares",
    there=_ON,
    stood_still="storage.stood_still",
    stood_still_says="times that a thread in such a call stood still for half of the delay or longer",
)
_STANDS_STILL_S = 0.05
_LET_GO_WITHIN_S = LONGEST_SLEEP_S + 2.0


@dataclass(frozen=True, slots=True)
class _Hit:
    """What is on at one node: how much had been struck there before, and who looks at its threads."""

    before: int
    holds: Holds | None


class ShimmedCalls:
    """Nodes carry the shim from their start on; the fault is a setting in the page that it shares with us."""

    kinds: ClassVar[frozenset[str]] = frozenset({"io-error", "slow-io"})

    def __init__(self, site: Site, files: DataFiles, victims: CallVictims) -> None:
        self._site = site
        self._cluster = site.cluster
        self._files = files
        self._victims = victims
        self._serving = Serving(site.cluster)
        self._pages: dict[str, FileCallsPage] = {}
        self._refused: dict[str, str] = {}
        self._hits: dict[str, _Hit] = {}

    @staticmethod
    def probe(kind: str) -> Probe:
        """A program of our own that writes and syncs a file sees it fail or wait, and go well again."""
        if sys.platform != "linux":
            return Probe(False, "libraries are preloaded on Linux only")
        return _try_shim(kind)

    def prepare(self) -> Mapping[str, NodePlacement]:
        """Nodes are started with the shim and a page each. Raises FaultUnavailableError where none can be."""
        carried = carried_by_nodes(
            self._site, built_file_shim, FileCallsPage, "no library can be put before any node"
        )
        self._pages, self._refused = carried.pages, carried.refused
        return carried.placements

    @property
    def hit(self) -> Collection[str]:
        """The nodes at which a fault of it is on."""
        return self._hits.keys()

    def targets(self, fault: Fault) -> tuple[str, ...]:
        """The nodes; each started with the shim."""
        if call(fault.parameters) not in _CALLS:
            raise FaultInputError("call: the preload shim is in front of writes and syncs; reads need strace")
        for node in fault.nodes:
            if why := self._refused.get(node):
                raise NemesisError(f"no library can be put before it: {why}", where=node)
            if node not in self._pages:
                raise NemesisError(
                    "it was started without the preload shim",
                    where=node,
                    hint="write through: preload into a fault of the scenario, or into the start of a live "
                    "system; by itself the shim is taken only where strace cannot attach",
                )
        return fault.nodes

    def undos(self, fault: Fault) -> tuple[Undo, ...]:
        """All is let through again, at each node."""
        return tuple(
            Undo("let-through", {"page": str(self._pages[node].path), "node": node}) for node in fault.nodes
        )

    def apply(self, fault: Fault, take: Callable[[str], None]) -> Mapping[str, Any]:  # noqa: ARG002 (a verb)
        """Write the setting to each page; the next call sees it."""
        setting = _setting(fault)
        self._victims.follow(fault.nodes)
        for node in fault.nodes:
            holds = None
            if fault.kind == "slow-io":
                longest_s = min(delay_s(fault.parameters), LONGEST_SLEEP_S)
                holds = Holds(self._asleep_at(self._pages[node]), SHARE_OF_A_HOLD * longest_s)
                holds.start()
            self._hits[node] = _Hit(self._struck(node), holds)
            self._pages[node].strike(setting, self._files.as_seen(node))
        return {"on_ns": time.monotonic_ns(), "through": "preload"}

    def measure(self) -> Snapshot:
        """Calls that were struck, threads that stood still, and whether the shim is where it has to be."""
        values: dict[str, Reading] = {}
        for node in self._pages:
            hit = self._hits.get(node)
            values[f"{node}.storage.struck"] = self._struck(node) - hit.before if hit else 0
            values[f"{node}.storage.stood_still"] = hit.holds.count if hit and hit.holds else 0
            values[f"{node}.storage.shim"] = self._how_it_is(node)
        return values

    def signals(self, fault: Fault, readings: Readings) -> tuple[Signal, ...]:
        """The shim's own count; at each victim what it says, how it ends, how its threads stand still."""
        return _SHIM.signals(fault, readings, self._victims)

    def heal(self, fault: Fault, version: str | None) -> None:
        """Let all through; a node that has ended is started."""
        self._victims.leave(fault.nodes)
        for node in fault.nodes:
            self._pages[node].let_through()
            if (hit := self._hits.pop(node, None)) and hit.holds:
                hit.holds.end()
        start_those_that_ended(self._cluster, fault.nodes, version)

    def verify_healed(self, fault: Fault) -> str | None:
        """No setting is on, no thread waits any more, no count moves, every node runs."""
        for node in fault.nodes:
            page = self._pages[node]
            if page.setting().on:
                return f"calls of {node} are still struck"
            asleep = self._asleep_at(page)
            if not within(_LET_GO_WITHIN_S, partial(_nobody, asleep)):
                return f"a thread of {node} still waits in a call"
        counted = {node: self._struck(node) for node in fault.nodes}
        time.sleep(_STANDS_STILL_S)
        moved = [node for node in fault.nodes if self._struck(node) != counted[node]]
        if moved:
            return f"calls of {listed(moved)} are still counted as struck"
        return not_running(self._cluster, fault.nodes)

    def close(self) -> None:
        """Nobody looks any more; the pages stay with the run's directory as a record."""
        for hit in self._hits.values():
            if hit.holds:
                hit.holds.end()

    def _struck(self, node: str) -> int:
        return sum(sum(count.struck.values()) for count in self._pages[node].counts().values())

    def _how_it_is(self, node: str) -> str:
        if not self._pages[node].setting().on:
            return _OFF
        process = self._cluster.nodes.get(node)
        if process is None or not process.running:
            return _ON  # there is nobody to strike; what comes up next carries it
        serving = self._serving.listeners(process) if self._cluster.spec.ports else [process.pid]
        carrying = self._pages[node].counts().keys()
        carried = all(pid in carrying or parent_of(pid) in carrying for pid in serving)
        return _ON if carried else _WITHOUT

    @staticmethod
    def _asleep_at(page: FileCallsPage) -> Callable[[], list[HeldThread]]:
        return lambda: list(held_threads(page.held(), "S", page.counts().keys()))


def _nobody(asleep: Callable[[], list[HeldThread]]) -> bool:
    return not asleep()


def _setting(fault: Fault) -> CallSetting:
    given = fault.parameters
    if fault.kind == "slow-io":
        return CallSetting(_CALLS[call(given)], delay_ns=int(delay_s(given) * 1e9))
    return CallSetting(_CALLS[call(given)], error=error_number(given), every=every(given))


_WRITES_AND_SYNCS = """
import os, sys, time
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
for line in sys.stdin:
    began = time.monotonic()
    try:
        os.write(file, b".")
        os.fsync(file)
        print(time.monotonic() - began, flush=True)
    except OSError:
        print("failed", flush=True)
"""


def _try_shim(kind: str) -> Probe:
    library = built_file_shim()
    fault = Fault("probe", "storage", kind, (), {"by": "200ms"})
    with tempfile.TemporaryDirectory(prefix="refute-probe-") as place:
        folder, page = Path(place, "data"), FileCallsPage(Path(place, "page"))
        folder.mkdir()
        page.create()
        try:
            with program_with(library, page, _WRITES_AND_SYNCS, str(folder / "file")) as program:
                first = program.ask()
                page.strike(_setting(fault), folder)
                during = program.ask()
                page.let_through()
                healed = program.ask()
                struck = sum(sum(count.struck.values()) for count in page.counts().values())
                changed = (
                    during == "failed" if kind == "io-error" else float(during) >= delay_s(fault.parameters)
                )
                works = changed and struck == 1 and "failed" not in (first, healed)
        except (ValueError, OSError) as error:
            return Probe(False, f"the shim does not work in a program of our own: {error!r}")
    return Probe(works, "" if works else "the shim changed no call of a program of our own")
