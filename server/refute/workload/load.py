"""Generated load: one thread a client, at a rate or as fast as the system answers, until told to stop."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from refute.history.operation import Outcome
from refute.nemesis.client.rules import ClientRules
from refute.plan.scenario import Workload
from refute.plan.system_spec import Client
from refute.workload.client import open_client, require_kinds
from refute.workload.generators import READS, generate, kinds_of
from refute.workload.recorder import Recorder
from refute.workload.request import Completion, Endpoints, OperationClient, Request
from refute.workload.routing import Route, references

BACK_OFF_S = (0.005, 0.020)
_RETRIES = 3


@dataclass(slots=True)
class LoadSummary:
    """What a load did: operations by kind and outcome, how often no node played the role asked for,
    and how late operations were sent after their scheduled time (nanoseconds; empty without a rate)."""

    counts: Counter[tuple[str, Outcome]] = field(default_factory=Counter)
    without_node: int = 0
    started_ns: int = 0
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
    summary, lock, halt = LoadSummary(), threading.Lock(), threading.Event()
    failures: list[BaseException] = []
    with ExitStack() as opened:
        loops: list[_ClientLoop] = []
        for number in range(workload.clients):
            connection = opened.enter_context(
                open_client(
                    client, endpoints, where=where, words=words, directory=directory, log=log, rules=rules
                )
            )
            loops.append(
                _ClientLoop(
                    number,
                    workload,
                    generate(workload, client=number, seed=seed, first_value=first_value),
                    connection,
                    client.timeout if workload.timeout is None else workload.timeout,
                    via,
                    route,
                    recorder,
                    first_process + number,
                    quotas[number],
                    random.Random(f"{seed}/pace/{number}"),
                    lambda: stop.is_set() or halt.is_set(),
                )
            )
        start = time.monotonic()
        summary.started_ns = time.monotonic_ns()
        end = start + (workload.duration if duration_s is None else duration_s)

        def work(loop: _ClientLoop) -> None:
            try:
                loop.run(start, end)
            except BaseException as error:  # noqa: BLE001 - raised again by the thread that called run_load
                failures.append(error)
                halt.set()
            with lock:
                summary.counts += loop.counts
                summary.without_node += loop.without_node
                summary.lateness_ns += loop.lateness_ns

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
    return summary


def _quotas(workload: Workload) -> list[int | None]:
    if workload.operations is None:
        return [None] * workload.clients
    each, left = divmod(workload.operations, workload.clients)
    return [each + (number < left) for number in range(workload.clients)]


@dataclass(slots=True)
class _ClientLoop:
    """One client: takes requests from its generator and sends them, one after the other."""

    number: int
    workload: Workload
    requests: Iterator[Request]
    client: OperationClient
    timeout_s: float
    via: Mapping[str, str]
    route: Route
    recorder: Recorder
    process: int
    quota: int | None
    rng: random.Random
    stopped: Callable[[], bool]
    counts: Counter[tuple[str, Outcome]] = field(default_factory=Counter)
    without_node: int = 0
    lateness_ns: list[int] = field(default_factory=list)
    last: dict[str, Completion] = field(default_factory=dict)
    end: float = 0.0

    def run(self, start: float, end: float) -> None:
        """Sends until the end, the quota, or a stop."""
        self.end = end
        due = start
        retries = self._retries()
        for request in self.requests:
            if self.quota is not None and self.quota <= 0:
                return
            if request.only_after_ok is not None:
                held = self.last.pop(request.only_after_ok, None)
                if held is None or held.outcome is not Outcome.OK:
                    continue
                request = replace(request, extra={**held.extra, **request.extra})
            scheduled_ns: int | None = None
            if self.workload.rate is not None:
                due += self.rng.uniform(0, 2 * self.workload.clients / self.workload.rate)
                if not self._sleep_until(due):
                    return
                scheduled_ns = round(due * 1e9)
            attempt = 0
            while (completion := self._send(request, scheduled_ns, attempt)) is not None:
                known = completion.outcome is not Outcome.INFO
                if known or attempt >= retries or request.kind in READS:
                    break
                attempt += 1
            if completion is None:
                return
            self.last[request.kind] = completion

    def _retries(self) -> int:
        wanted = self.workload.options.get("retry_unknown", False)
        return _RETRIES if wanted is True else int(wanted)

    def _over(self) -> bool:
        return self.stopped() or time.monotonic() >= self.end

    def _sleep_until(self, due: float) -> bool:
        """Sleeps; False where the load is over before."""
        while not self._over():
            left = due - time.monotonic()
            if left <= 0:
                return True
            time.sleep(min(left, 0.05, max(0.0, self.end - time.monotonic())))
        return False

    def _send(self, request: Request, scheduled_ns: int | None, attempt: int) -> Completion | None:
        """One operation from its invocation to its completion; None where the load is over."""
        node = self._node(request.kind)
        if node is None:
            return None
        extra: dict[str, Any] = {}
        if scheduled_ns is not None and attempt == 0:
            extra["scheduled_ns"] = scheduled_ns
        if attempt:
            extra["attempt"] = attempt + 1
        invocation = self.recorder.invoke(self.process, request, node, extra=extra)
        if scheduled_ns is not None and attempt == 0:
            self.lateness_ns.append(invocation.invoked_ns - scheduled_ns)
        completion = self.client.invoke(
            request, node, self.timeout_s, process=self.process, identity=invocation.identity
        )
        self.recorder.complete(invocation, completion)
        self.counts[request.kind, completion.outcome] += 1
        if self.quota is not None:
            self.quota -= 1
        if completion.outcome is Outcome.INFO:
            self.process += self.workload.clients
        if completion.not_reached:
            time.sleep(self.rng.uniform(*BACK_OFF_S))
        return completion

    def _node(self, kind: str) -> str | None:
        while not self._over():
            node = self.route(self.via[kind], self.number)
            if node is not None:
                return node
            self.without_node += 1
            time.sleep(self.rng.uniform(*BACK_OFF_S))
        return None
