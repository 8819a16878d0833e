"""Generated load: one thread a client, at a rate or as fast as the system answers, until told to stop."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from refute.history.operation import Outcome
from refute.nemesis.client.rules import ClientRules
from refute.plan.scenario import Workload
from refute.plan.system_spec import Client
from refute.workload.client import open_client, require_kinds
from refute.workload.client_loop import ClientLoop
from refute.workload.generators import generate, kinds_of
from refute.workload.recorder import Recorder
from refute.workload.request import Endpoints
from refute.workload.routing import Route, references


@dataclass(slots=True)
class LoadSummary:
    """What a load did: operations by kind and outcome, how often no node played the role asked for,
    and how late operations were sent after their scheduled time (nanoseconds; empty without a rate)."""

    counts: Counter[tuple[str, Outcome]] = field(default_factory=Counter)
    without_node: int = 0
    lateness_ns: list[int] = field(default_factory=list)

    @property
    def operations(self) -> int:
        """All operations that completed."""
        return sum(self.counts.values())


def run_load(
    workload: Workload,
    client: Client,
    endpoints: Endpoints,
    route: Route,
    recorder: Recorder,
    *,
    seed: int,
    stop: threading.Event,
    duration_s: float | None = None,
    where: str = "client",
    words: Mapping[str, Any] | None = None,
    directory: str | Path | None = None,
    log: Callable[[str], None] | None = None,
    rules: ClientRules | None = None,
) -> LoadSummary:
    """Runs the load in threads of its own and returns when it is over.

    It is over when `stop` is set, `duration_s` (else the workload's own) has passed, or all of
    `workload.operations` were sent. What each client asks for depends on the seed alone; only when
    and with which outcome depends on the system. With a rate, every operation carries the time at
    which it was meant to be sent in `extra.scheduled_ns`, and a client that was held up catches up,
    so that latencies from there on hide no waiting (Tene, "How NOT to Measure Latency", 2013). After
    an unknown outcome the client goes on as a new process, numbered as in Jepsen: client + clients ×
    incarnation.

    Raises WorkloadError before anything is sent for what can be known then, and afterwards for a
    template that an operation could not fill in; then everything has been stopped.
    """
    kinds = kinds_of(workload)
    via = references(workload, kinds)
    require_kinds(where, client, kinds)
    first_value, first_process = recorder.take_values(), recorder.take_processes()
    quotas = _quotas(workload)
    summary, halt = LoadSummary(), threading.Event()
    with ExitStack() as opened:
        loops: list[ClientLoop] = []
        for number in range(workload.clients):
            connection = opened.enter_context(
                open_client(
                    client, endpoints, where=where, words=words, directory=directory, log=log, rules=rules
                )
            )
            loops.append(
                ClientLoop(
                    number=number,
                    workload=workload,
                    requests=generate(workload, client=number, seed=seed, first_value=first_value),
                    client=connection,
                    timeout_s=client.timeout if workload.timeout is None else workload.timeout,
                    via=via,
                    route=route,
                    recorder=recorder,
                    process=first_process + number,
                    quota=quotas[number],
                    rng=random.Random(f"{seed}/pace/{number}"),
                    stopped=lambda: stop.is_set() or halt.is_set(),
                )
            )
        _run_all(loops, workload.duration if duration_s is None else duration_s, halt)
    for loop in loops:
        summary.counts += loop.counts
        summary.without_node += loop.without_node
        summary.lateness_ns += loop.lateness_ns
    return summary


def _run_all(loops: Sequence[ClientLoop], duration_s: float, halt: threading.Event) -> None:
    """Each in a thread of its own, until all are over; `halt` ends them, and an error of one is raised."""
    failures: list[BaseException] = []
    start_s = time.monotonic()

    def work(loop: ClientLoop) -> None:
        try:
            loop.run(start_s, start_s + duration_s)
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that called run_load
            failures.append(error)
            halt.set()

    threads = [
        threading.Thread(target=work, args=(loop,), name=f"client-{loop.number}", daemon=True)
        for loop in loops
    ]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except BaseException:
        halt.set()  # clients must not be closed under the threads that use them
        for thread in threads:
            thread.join()
        raise
    if failures:
        raise failures[0]


def _quotas(workload: Workload) -> list[int | None]:
    if workload.operations is None:
        return [None] * workload.clients
    each, left = divmod(workload.operations, workload.clients)
    return [each + (number < left) for number in range(workload.clients)]
