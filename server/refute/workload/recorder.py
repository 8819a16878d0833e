"""The recorder: writes each operation to the history as it is sent and answered, and keeps count of both."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from refute.history.events import HistoryWriter
from refute.history.operation import Operation, Outcome, Phase
from refute.workload.request import NOTHING, Completion, Request

Listener = Callable[[Operation], None]
_RATE_SECONDS = 30  # how far back completions are counted by the second
_VALUE_BLOCK = 10_000_000  # values that one load has to itself
_PROCESS_BLOCK = 1_000_000  # processes that one load has to itself


@dataclass(frozen=True, slots=True)
class Invocation:
    """An operation in flight, to be handed back with its completion."""

    identity: int
    process: int | str
    request: Request
    node: str | None
    epoch: int
    phase: Phase
    extra: Mapping[str, Any]
    invoked_ns: int


class Recorder:
    """Records operations from any number of threads.

    An invocation is in the log before the request is sent and a completion after the answer came, so
    that the times always contain the moment of the effect. `phase` and `epoch` are set by whoever
    runs the phases and the faults, and are stamped on the operations that are invoked from then on.
    """

    def __init__(self, log: HistoryWriter) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._listeners: tuple[Listener, ...] = ()
        self._counts: Counter[tuple[Phase, int, str, Outcome]] = Counter()
        self._seconds: deque[tuple[int, Counter[Outcome]]] = deque(maxlen=_RATE_SECONDS)
        self._keys: dict[Any, Any] = {}
        self._keyless = False
        self._in_flight = 0
        self._blocks = 0
        self._loads = 0
        self.phase = Phase.BASELINE
        self.epoch = 0

    def invoke(
        self,
        process: int | str,
        request: Request,
        node: str | None,
        *,
        extra: Mapping[str, Any] = NOTHING,
        phase: Phase | None = None,
    ) -> Invocation:
        """Records that the request is about to be sent; `extra` is added to the request's own."""
        merged = {**request.extra, **extra} if extra else request.extra
        epoch, phase = self.epoch, phase or self.phase
        now = time.monotonic_ns()
        identity = self._log.invoke(
            process,
            request.kind,
            key=request.key,
            input=request.input,
            node=node,
            epoch=epoch,
            phase=phase,
            extra=merged or None,
            time_ns=now,
        )
        with self._lock:
            self._in_flight += 1
            keys = _keys_of(request)
            self._keyless = self._keyless or not keys
            for key in keys:
                self._keys.setdefault(_name(key), key)
        return Invocation(identity, process, request, node, epoch, phase, merged, now)

    def complete(self, invocation: Invocation, completion: Completion) -> Operation:
        """Records what came of it, tells the listeners, and returns the whole operation.

        Listeners run in the calling thread, right after the event is written: what waits for an
        operation's return learns of it within microseconds. They must be quick and must not raise.
        """
        now = time.monotonic_ns()
        self._log.complete(
            invocation.identity,
            completion.outcome,
            output=completion.output,
            error=completion.error,
            extra=completion.extra or None,
            time_ns=now,
        )
        request = invocation.request
        operation = Operation(
            index=invocation.identity,
            process=invocation.process,
            kind=request.kind,
            key=request.key,
            input=request.input,
            output=completion.output,
            outcome=completion.outcome,
            invoked_ns=invocation.invoked_ns,
            completed_ns=now,
            error=completion.error,
            node=invocation.node,
            epoch=invocation.epoch,
            phase=invocation.phase,
            extra={**invocation.extra, **completion.extra} if completion.extra else invocation.extra,
        )
        second = now // 1_000_000_000
        with self._lock:
            self._in_flight -= 1
            self._counts[invocation.phase, invocation.epoch, request.kind, completion.outcome] += 1
            if not self._seconds or self._seconds[-1][0] < second:
                self._seconds.append((second, Counter()))
            self._seconds[-1][1][completion.outcome] += 1
        for listener in self._listeners:
            listener(operation)
        return operation

    @contextmanager
    def listening(self, listener: Listener) -> Iterator[None]:
        """Calls the listener with every operation that completes meanwhile."""
        with self._lock:
            self._listeners = (*self._listeners, listener)
        try:
            yield
        finally:
            with self._lock:
                self._listeners = tuple(each for each in self._listeners if each is not listener)

    def counts(
        self, *, phase: Phase | None = None, epochs: Callable[[int], bool] | None = None
    ) -> dict[tuple[str, Outcome], int]:
        """How many operations completed so far by kind and outcome, of one phase or of some fault epochs.

        What vacuity is judged by is computed from the recorded history; these are for progress.
        """
        counts: Counter[tuple[str, Outcome]] = Counter()
        with self._lock:
            for (of_phase, epoch, kind, outcome), number in self._counts.items():
                if (phase is None or of_phase is phase) and (epochs is None or epochs(epoch)):
                    counts[kind, outcome] += number
        return dict(counts)

    def rates(self, window_s: int = 5) -> dict[Outcome, float]:
        """Completions a second by outcome over the last whole seconds, at most 30 of them."""
        now = time.monotonic_ns() // 1_000_000_000
        window_s = max(1, min(window_s, _RATE_SECONDS - 1))
        sums: Counter[Outcome] = Counter()
        with self._lock:
            for second, counts in self._seconds:
                if now - window_s <= second < now:
                    sums.update(counts)
        return {outcome: sums[outcome] / window_s for outcome in Outcome}

    @property
    def in_flight(self) -> int:
        """Operations that were invoked and have no completion yet."""
        return self._in_flight

    def used_keys(self) -> list[Any]:
        """The keys that operations touched, micro-operations included, once each, in order of first use.

        Where operations were recorded and none had a key, there is one object without one: `[None]`.
        """
        with self._lock:
            return list(self._keys.values()) or [None] * self._keyless

    def take_values(self) -> int:
        """A number above which ten million values belong to the caller alone: what makes values unique."""
        with self._lock:
            self._blocks += 1
            return (self._blocks - 1) * _VALUE_BLOCK

    def take_processes(self) -> int:
        """A number from which the processes of one load count: no two loads of a run share a process."""
        with self._lock:
            self._loads += 1
            return (self._loads - 1) * _PROCESS_BLOCK


def _keys_of(request: Request) -> list[Any]:
    if request.key is not None:
        return [request.key]
    if request.kind == "txn" and isinstance(request.input, list | tuple):
        return [step[1] for step in request.input if isinstance(step, list | tuple) and len(step) > 1]
    return []


def _name(key: Any) -> Any:
    """Something hashable that is equal for equal keys only: `1`, `True` and `"1"` are three keys."""
    return key if type(key) is str else (type(key), json.dumps(key, sort_keys=True, default=str))
