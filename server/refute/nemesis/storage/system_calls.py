"""Failing and slow calls by strace: a node's syncs, writes or reads, by a tracer that is attached to it."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from refute.history.fault import Reading, Signal
from refute.interpreter import python
from refute.nemesis.errors import NemesisError
from refute.nemesis.ledger import read_ledger
from refute.nemesis.plane import Fault, Probe, Readings, Site, Snapshot
from refute.nemesis.storage.call_signals import CallStriker
from refute.nemesis.storage.call_victims import CallVictims
from refute.nemesis.storage.call_words import call, delay_s, error_name, every
from refute.nemesis.storage.data_files import DataFiles
from refute.nemesis.storage.family import not_running, start_those_that_ended
from refute.nemesis.storage.holds import SHARE_OF_A_HOLD, Holds
from refute.nemesis.storage.tracer import CALLS, MARK, Tracer, still_attached
from refute.nemesis.undo import Undo
from refute.system.node import NodeProcess

_MOST_PATHS = 200
_ON, _OFF = "attached", "the node runs without it"
_STRACE = CallStriker(
    name="tracer",
    struck="storage.injected",
    counted_by="report of strace",
    stands="storage.tracer",
    seen_by="TracerPid of its process",
    there=_ON,
    stood_still="storage.held",
    stood_still_says="times that a thread was held for half of the delay or longer",
)


@dataclass(slots=True)
class _Attached:
    """What is at one node: its tracer, and those that were at earlier processes of it."""

    tracers: list[Tracer] = field(default_factory=list)
    holds: list[Holds] = field(default_factory=list)

    def add(self, tracer: Tracer, holds: Holds | None) -> None:
        self.tracers.append(tracer)
        if holds is not None:
            self.holds.append(holds)
            holds.start()

    def injected(self) -> int:
        return sum(tracer.injected() for tracer in self.tracers)

    def held(self) -> int:
        return sum(holds.count for holds in self.holds)

    def close(self) -> None:
        for holds in self.holds:
            holds.end()
        for tracer in self.tracers:
            tracer.close()


class SystemCalls:
    """Tracers at nodes: a node that comes up meanwhile is traced again. The heal starts one that is down."""

    kinds: ClassVar[frozenset[str]] = frozenset({"io-error", "slow-io"})

    def __init__(self, site: Site, files: DataFiles, victims: CallVictims) -> None:
        self._site = site
        self._cluster = site.cluster
        self._files = files
        self._victims = victims
        self._attached: dict[str, dict[str, _Attached]] = {}
        self._at: dict[str, _Attached] = {}
        self._faults: dict[str, Fault] = {}
        site.cluster.on_started.append(self._attach_again)

    @staticmethod
    def probe(kind: str) -> Probe:
        """A program of our own that syncs a file all the time is traced, beside it, as a node would be."""
        with tempfile.TemporaryDirectory(prefix="refute-probe-") as place, ExitStack() as held:
            program = subprocess.Popen(python("-c", _SYNCING, f"{place}/file"), stdout=subprocess.PIPE)
            held.callback(_end, program)
            assert program.stdout is not None
            program.stdout.readline()  # the first sync is done
            inject = _injection(kind, {})
            tracer = Tracer(
                [program.pid], CALLS["fsync"], inject, report=Path(place, "report"), environment={}
            )
            held.callback(tracer.close)
            deadline = time.monotonic() + 5.0
            while not tracer.injected() and time.monotonic() < deadline:
                time.sleep(0.01)
            return Probe(bool(tracer.injected()), "" if tracer.injected() else "strace changed no call")

    @property
    def hit(self) -> Collection[str]:
        """The nodes at which a fault of it is on."""
        return self._at.keys()

    def targets(self, fault: Fault) -> tuple[str, ...]:
        """The nodes; each with files that can be traced where files have to be named."""
        for node in fault.nodes:
            self._paths(fault, node)
        return fault.nodes

    def undos(self, fault: Fault) -> tuple[Undo, ...]:
        """The tracers of this fault are told to detach."""
        return (Undo("detach", {"mark": self._mark(fault)}),)

    def apply(self, fault: Fault, take: Callable[[str], None]) -> Mapping[str, Any]:  # noqa: ARG002 (a verb)
        """Attach a tracer to each node."""
        attached = self._attached[fault.id] = {}
        self._faults[fault.id] = fault
        self._victims.follow(fault.nodes)
        for node in fault.nodes:
            attached[node] = self._at[node] = _Attached()
            self._attach(fault, node, attached[node])
        return {"on_ns": time.monotonic_ns()}

    def measure(self) -> Snapshot:
        """Calls that were changed, and threads that were held."""
        values: dict[str, Reading] = {}
        for node in self._cluster.spec.everyone:
            at = self._at.get(node)
            values[f"{node}.storage.injected"] = at.injected() if at else 0
            values[f"{node}.storage.held"] = at.held() if at else 0
            process = self._cluster.nodes.get(node)
            values[f"{node}.storage.tracer"] = _how_it_is(at, process) if at else "none"
        return values

    def signals(self, fault: Fault, readings: Readings) -> tuple[Signal, ...]:
        """The tracer's own count; at each victim what it says, how it ends, what it waits for."""
        return _STRACE.signals(fault, readings, self._victims)

    def heal(self, fault: Fault, version: str | None) -> None:
        """Detach; a node that has ended is started."""
        self._faults.pop(fault.id, None)
        self._victims.leave(fault.nodes)
        for node, attached in self._attached.pop(fault.id, {}).items():
            attached.close()
            self._at.pop(node, None)
        start_those_that_ended(self._cluster, fault.nodes, version)

    def verify_healed(self, fault: Fault) -> str | None:
        """No tracer of the fault runs; every node does."""
        return still_attached(self._mark(fault)) or not_running(self._cluster, fault.nodes)

    def close(self) -> None:
        """Tracers end."""
        for attached in [each for those in self._attached.values() for each in those.values()]:
            attached.close()

    def _attach(self, fault: Fault, node: str, at: _Attached) -> None:
        folder = self._site.run_dir / "storage"
        folder.mkdir(parents=True, exist_ok=True)
        pids = [member.pid for member in self._cluster.node(node).members()]
        number = f"-{len(at.tracers) + 1}" if at.tracers else ""
        tracer = Tracer(
            pids,
            CALLS[call(fault.parameters)],
            _injection(fault.kind, fault.parameters),
            paths=self._paths(fault, node),
            report=folder / f"{fault.id}-{node}{number}.strace",
            environment={**self._site.environment, MARK: self._mark(fault)},
        )
        hold_s = SHARE_OF_A_HOLD * delay_s(fault.parameters)
        at.add(tracer, Holds(tracer.stopped_threads, hold_s) if fault.kind == "slow-io" else None)

    def _attach_again(self, started: NodeProcess) -> None:
        # Whatever has ended the node, its fault is still on; a tracer ends with what it traces. Where this
        # fails, the evidence says that the node runs without one.
        for fault in [each for each in self._faults.values() if started.node in each.nodes]:
            at = self._attached[fault.id][started.node]
            with suppress(NemesisError):
                if not self._healed_by_others(fault):
                    self._attach(fault, started.node, at)
                if self._healed_by_others(fault):  # meanwhile: it would have missed this tracer
                    at.close()

    def _healed_by_others(self, fault: Fault) -> bool:
        entry = read_ledger(self._site.ledger.directory).entries.get(fault.id)
        return entry is None or entry.healed_by is not None

    def _mark(self, fault: Fault) -> str:
        return f"{self._site.ledger.run}:{fault.id}"

    def _paths(self, fault: Fault, node: str) -> list[str]:
        # Syncs are of files alone; writes and reads are of sockets and logs as well, which are left alone.
        if call(fault.parameters) == "fsync":
            return []
        paths = [str(self._files.as_seen(node) / name) for name in self._files.names(node)]
        if not paths:
            raise NemesisError("there is no file in its data directory", where=node)
        if len(paths) > _MOST_PATHS:
            raise NemesisError(
                f"there are {len(paths)} files; at most {_MOST_PATHS} can be traced", where=node
            )
        return paths


_SYNCING = """
import os, sys, time
with open(sys.argv[1], "wb", buffering=0) as file:
    while True:
        try:
            file.write(b".")
            os.fsync(file.fileno())
        except OSError:
            pass
        print("", flush=True)
        time.sleep(0.01)
"""


def _end(program: subprocess.Popen[bytes]) -> None:
    program.kill()
    program.communicate()


def _how_it_is(at: _Attached, process: NodeProcess | None) -> str:
    if process is None or not process.running:
        return _ON  # there is nothing to trace; it is attached to what comes up next
    return _ON if any(tracer.traces(process.pid) for tracer in at.tracers) else _OFF


def _injection(kind: str, parameters: Mapping[str, Any]) -> str:
    if kind == "slow-io":
        return f"delay_enter={int(delay_s(parameters) * 1e6)}us"
    fails = f"error={error_name(parameters)}"
    return fails if every(parameters) == 1 else f"{fails}:when=1+{every(parameters)}"
