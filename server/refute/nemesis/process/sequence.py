"""Faults of many steps: restart, crash loop and rolling restart, each in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from refute.errors import RefuteError
from refute.nemesis.plane import Fault
from refute.plan.units import seconds
from refute.system.cluster import Cluster


class Sequence(threading.Thread):
    """Ends and starts nodes until it is done or told to end; `steps` say what was done when (ns)."""

    def __init__(self, cluster: Cluster, fault: Fault, take: Callable[[str], None]) -> None:
        super().__init__(name=f"{fault.kind}-{fault.id}", daemon=True)
        self._cluster = cluster
        self._fault = fault
        self._take = take
        self._over = threading.Event()
        self._error: RefuteError | None = None
        self.steps: list[tuple[int, str]] = []

    def run(self) -> None:
        """The steps of the kind; an error ends them and is kept for `raise_error`."""
        try:
            if self._fault.kind == "crash-loop":
                self._crash_loop()
            else:
                self._one_after_the_other()
        except RefuteError as error:
            self._error = error
            self._did(f"failed: {error}")

    def end(self) -> None:
        """Take no further step; returns when the present one is done."""
        self._over.set()
        if self.is_alive():
            self.join()

    def raise_error(self) -> None:
        """Raise what went wrong, if anything did."""
        if self._error:
            raise self._error

    def _crash_loop(self) -> None:
        parameters = self._fault.parameters
        times, up_s = int(parameters.get("times", 5)), seconds(parameters.get("up", "500ms"))
        down_s = seconds(parameters.get("down", 0))
        for round_ in range(times):
            for node in self._fault.nodes:
                if self._over.is_set():
                    return
                if self._cluster.node(node).running:
                    self._did(f"killed {node}: {self._cluster.kill(node)}")
                if round_ == 0:
                    self._take(f"{node}.")
                self._over.wait(down_s)
                self._start(node)
            self._over.wait(up_s)

    def _one_after_the_other(self) -> None:
        parameters = self._fault.parameters
        how, down_s = parameters.get("how", "terminate"), seconds(parameters.get("down", 0))
        pause_s = seconds(parameters.get("pause", 0))
        order = parameters.get("order") or self._fault.nodes
        for place, node in enumerate(order):
            if self._over.wait(pause_s if place else 0):
                return
            end = self._cluster.kill if how == "kill" else self._cluster.terminate
            if self._cluster.node(node).running:
                self._did(f"ended {node}: {end(node)}")
            self._take(f"{node}.")
            self._over.wait(down_s)
            self._start(node)
            self._cluster.wait_ready([node])
            self._did(f"{node} is ready")

    def _start(self, node: str) -> None:
        process = self._cluster.start_node(node, self._fault.parameters.get("version"))
        self._did(f"started {node}" + (f" as {process.version}" if process.version else ""))

    def _did(self, what: str) -> None:
        self.steps.append((time.monotonic_ns(), what))
