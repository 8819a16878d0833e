"""One client of a generated load, from its first request to its last."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from refute.history.operation import Outcome
from refute.plan.scenario import Workload
from refute.workload.generators import READS
from refute.workload.recorder import Recorder
from refute.workload.request import Completion, OperationClient, Request
from refute.workload.routing import Route

BACK_OFF_S = (0.005, 0.020)
_RETRIES = 3


@dataclass(slots=True)
class ClientLoop:
    """Takes requests from a generator and sends them, one after the other.

    `via` names the role that each kind of operation is sent to. `quota` is how many are still to be sent,
    None for any number. `process` is what they are recorded under: another one after an unknown outcome.
    """

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
