"""Neighbours: processes of ours that use the machine beside the nodes."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from refute.history.fault import Reading, Signal
from refute.nemesis.marked import end_marked, start_marked
from refute.nemesis.plane import Fault, Readings, Site, Snapshot, around, rate, rate_before
from refute.nemesis.resource.device import moved_bytes
from refute.nemesis.serving import Serving
from refute.nemesis.undo import Undo
from refute.system.cpu_time import cpu_ns, cpu_wait_ns

_GONE_WITHIN_S = 5.0
_MODULE = "refute.nemesis.resource.noise"


class Neighbours:
    """One group of processes for each fault; each carries its mark, so that it is found whoever looks."""

    def __init__(self, site: Site, serving: Serving) -> None:
        self._site = site
        self._cluster = site.cluster
        self._serving = serving
        self._running: dict[str, list[subprocess.Popen[bytes]]] = {}

    def prepare(self) -> Mapping[str, str]:
        """Nothing is changed about the start."""
        return {}

    def check(self, fault: Fault, node: str) -> None:
        """Any node may be looked at."""

    def undos(self, fault: Fault) -> tuple[Undo, ...]:
        """Whoever carries the mark of this fault is ended, and what it wrote is removed."""
        return (end_marked(self._mark(fault), self._files(fault)),)

    def apply(self, fault: Fault) -> Mapping[str, Any]:
        """Start them."""
        load = str(fault.parameters.get("load", "cpu"))
        started = self._running[fault.id] = []
        for file in self._files(fault):
            arguments = (load, str(file))
            started.append(start_marked(_MODULE, arguments, self._mark(fault), self._site.environment))
        return {"pids": [process.pid for process in started]}

    def measure(self) -> Snapshot:
        """What the neighbours have used, and how long those that serve have waited for a CPU."""
        values: dict[str, Reading] = {}
        pids = [process.pid for processes in self._running.values() for process in processes]
        values["neighbours.cpu_ns"] = cpu_ns(pids) or 0
        values["neighbours.moved"] = moved_bytes(pids) or 0
        for name, node in list(self._cluster.nodes.items()):
            values[f"{name}.wait_ns"] = cpu_wait_ns(self._serving.pids(node))
        return values

    def signals(self, fault: Fault, readings: Readings) -> tuple[Signal, ...]:
        """What the neighbours used; that a node waited for a CPU longer than before."""
        name = "neighbours.moved" if fault.parameters.get("load") == "disk" else "neighbours.cpu_ns"
        what = "bytes that they moved" if name.endswith("moved") else "CPU time that they used, ns"
        signals = [
            Signal(
                *("injector", f"neighbours: {what}", "counters of our own processes", "increases"),
                *around(readings, name),
            )
        ]
        for node in fault.nodes:
            waited = f"{node}.wait_ns"
            rates = (
                rate_before(readings, waited),
                rate(readings.settled or readings.start, readings.during, waited),
                rate(readings.during, readings.after, waited),
            )
            # In hundredths of a second for each second: less is no difference.
            before, during, after = (None if each is None else int(each / 1e7) for each in rates)
            signals.append(
                Signal(
                    "victim",
                    f"{node}: hundredths of each second that its threads wait for a CPU",
                    "scheduler's counters of the processes that serve its ports",
                    "increases",
                    *(before, during, after),
                )
            )
        return tuple(signals)

    def healed(self, fault: Fault) -> None:
        """Collect their exits."""
        for process in self._running.pop(fault.id, []):
            with suppress(subprocess.TimeoutExpired):
                process.wait(_GONE_WITHIN_S)

    def close(self) -> None:
        """Every fault is healed by now; nobody is left."""
        for processes in self._running.values():
            for process in processes:
                process.kill()
                process.wait()
        self._running.clear()

    def _mark(self, fault: Fault) -> str:
        return f"{self._site.ledger.run}/{fault.id}"

    def _files(self, fault: Fault) -> list[Path]:
        workers = int(fault.parameters.get("workers", 2))
        return [self._site.run_dir / f"noise-{fault.id}-{number}" for number in range(workers)]
