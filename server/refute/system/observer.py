"""Watches states of the nodes closely and waits until the system is in the state that a step asks for."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from refute.plan.step import Await
from refute.plan.system_spec import SystemSpec
from refute.system.cluster import Cluster
from refute.system.condition import Claims, Verdict, evaluate, states_needed
from refute.system.errors import ClusterInputError
from refute.system.new_lines import NewLines
from refute.system.node_reference import resolve
from refute.system.source import Observation, Source, open_source

POLL_S = 0.002
_FRESH_NS = 20_000_000
_PATIENCE_NS = 50_000_000
_LARGEST_WAIT_S = 0.02


@dataclass(frozen=True, slots=True)
class Seen:
    """The awaited state was seen.

    `time_ns` is when the answer that completed the picture arrived, `read_ns` how long that one reading
    took. `roles` are the nodes that play each role named in the condition.
    """

    time_ns: int
    read_ns: int
    waited_s: float
    roles: Mapping[str, str]
    observations: Mapping[tuple[str, str], Observation] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The awaited state was not seen in time, or the wait was stopped; `words` say what was seen last."""

    waited_s: float
    words: str
    stopped: bool = False


class Observer:
    """Reads states of the nodes past the fault planes, so that a partition does not blind it.

    `operation_seen` answers whether the recorded operations fulfil `Await.operation`; call `poke` whenever
    one is recorded, so that the wait looks at once. Leaving the context closes all connections.
    """

    def __init__(
        self,
        spec: SystemSpec,
        cluster: Cluster,
        *,
        operation_seen: Callable[[Mapping[str, Any]], bool] | None = None,
    ) -> None:
        self.spec = spec
        self.cluster = cluster
        self.operation_seen = operation_seen
        self._sources: dict[tuple[str, str], tuple[Source, threading.Lock]] = {}
        self._changed = threading.Condition()
        self._claims = Claims(cluster.present)

    def __enter__(self) -> Self:
        """Nothing is opened before the first reading."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close all connections."""
        self.close()

    def close(self) -> None:
        """Close all connections; a later reading opens them again."""
        for source, lock in list(self._sources.values()):
            with lock:
                source.close()

    def read(self, node: str, state: str) -> Observation:
        """What a state is at a node now. Raises ClusterInputError for a name that does not exist."""
        source, lock = self._source(node, state)
        with lock:
            seen = source.read()
        with self._changed:
            self._claims.record(node, state, seen)
            self._changed.notify_all()
        return seen

    def read_all(self, state: str, nodes: Sequence[str] | None = None) -> dict[str, Observation]:
        """A state at all nodes (or at these), read at the same time."""
        names = list(nodes or self._present())
        for node in names:
            self._source(node, state)
        with ThreadPoolExecutor(max(1, len(names))) as pool:
            return dict(zip(names, pool.map(lambda node: self.read(node, state), names), strict=True))

    def resolve(
        self, reference: str, aliases: Mapping[str, str] | None = None, rng: random.Random | None = None
    ) -> tuple[str, ...]:
        """The nodes that a reference of a plan stands for now; see `node_reference.resolve`."""
        return resolve(
            reference,
            nodes=self._present(),
            states=tuple(self.spec.states),
            aliases=aliases or {},
            role=self.role,
            running=self._running,
            rng=rng,
            spares=self.spec.spares,
        )

    def role(self, state: str) -> tuple[str | None, str]:
        """The node that plays a role now, and what every node said; a reading younger than 20 ms is used."""
        self._require_state(state)
        since = time.monotonic_ns() - _FRESH_NS
        stale = [node for node in self._present() if self._claims.latest(node, state, since) is None]
        if stale:
            self.read_all(state, stale)
        return self._settle(state, since), self._claims.words([state], since)

    def poke(self) -> None:
        """An operation was recorded: whoever awaits one looks again."""
        with self._changed:
            self._changed.notify_all()

    def wait_for(
        self,
        condition: Await,
        aliases: Mapping[str, str] | None = None,
        *,
        stop: threading.Event | None = None,
        interval_s: float = POLL_S,
    ) -> Seen | TimedOut:
        """Wait until the system is in a state, looking at every node each `interval_s` seconds.

        Only what was read after the call counts. Raises ClusterInputError for an unknown state or reference.
        """
        began_ns = time.monotonic_ns()
        deadline_ns = began_ns + int(condition.timeout * 1e9)
        needed = states_needed(condition, self.spec.everyone, tuple(self.spec.states), aliases or {})
        for state in needed:
            self._require_state(state)
        if condition.operation is not None and self.operation_seen is None:
            raise ClusterInputError("nothing is recorded here, so that no operation can be awaited")
        lines = NewLines(self.cluster, condition.lines)
        over = threading.Event()
        for node in self.spec.everyone if needed else ():  # a spare may be added meanwhile
            threading.Thread(
                target=self._watch, args=(node, needed, over, interval_s), name=f"observe-{node}", daemon=True
            ).start()
        try:
            while True:
                with self._changed:
                    verdict = self._look(condition, aliases or {}, began_ns, lines)
                    if not verdict.holds and time.monotonic_ns() < deadline_ns:
                        self._changed.wait(_LARGEST_WAIT_S if needed else interval_s)
                        verdict = self._look(condition, aliases or {}, began_ns, lines)
                now = time.monotonic_ns()
                if verdict.holds:
                    return self._seen(verdict, began_ns, now)
                stopped = stop is not None and stop.is_set()
                if stopped or now >= deadline_ns:
                    waited = (now - began_ns) / 1e9
                    last = self._claims.words(needed, began_ns) if needed else "nothing of it was recorded"
                    return TimedOut(waited, f"{verdict.missing}; last seen: {last}", stopped)
        finally:
            over.set()

    def _look(self, condition: Await, aliases: Mapping[str, str], since_ns: int, lines: NewLines) -> Verdict:
        lines.look()
        self._present()
        return evaluate(
            condition,
            self._claims,
            since_ns=since_ns,
            states=tuple(self.spec.states),
            aliases=aliases,
            settle=lambda state: self._settle(state, since_ns),
            operation_seen=self.operation_seen,
            line_seen=lines.seen,
            past_patience=time.monotonic_ns() - since_ns > _PATIENCE_NS,
        )

    def _settle(self, state: str, since_ns: int) -> str | None:
        # Several nodes may claim a role, one of them cut off: see Claims.settle.
        claimants = self._claims.claimants(state, since_ns)
        terms: dict[str, float] = {}
        if len(claimants) > 1 and "term" in self.spec.states:
            for node in claimants:
                source, lock = self._source(node, "term")
                with lock:
                    value = source.read().value
                if isinstance(value, int | float):
                    terms[node] = float(value)
        return self._claims.settle(state, since_ns, terms)

    def _watch(self, node: str, states: Sequence[str], over: threading.Event, interval_s: float) -> None:
        while not over.is_set():
            began = time.monotonic()
            for state in states if node in self.cluster.present else ():
                self.read(node, state)
                if over.is_set():
                    return
            # Never busier than half of the time, so that watching does not become a load of its own.
            over.wait(max(interval_s, min(time.monotonic() - began, _LARGEST_WAIT_S)))

    def _seen(self, verdict: Verdict, began_ns: int, now_ns: int) -> Seen:
        decisive = max(verdict.observations.values(), key=lambda seen: seen.time_ns, default=None)
        return Seen(
            decisive.time_ns if decisive else now_ns,
            decisive.time_ns - decisive.asked_ns if decisive else 0,
            (now_ns - began_ns) / 1e9,
            verdict.roles,
            verdict.observations,
        )

    def _source(self, node: str, state: str) -> tuple[Source, threading.Lock]:
        key = (node, state)
        if key not in self._sources:
            self._require_state(state)
            opened = open_source(self.cluster, node, self.spec.states[state], where=f"state {state}")
            self._sources.setdefault(key, (opened, threading.Lock()))
        return self._sources[key]

    def _require_state(self, state: str) -> None:
        if state not in self.spec.states:
            known = ", ".join(sorted(self.spec.states)) or "none"
            raise ClusterInputError(f"the system has no state {state!r}; there are: {known}")

    def _running(self) -> tuple[str, ...]:
        started = self.cluster.nodes
        return tuple(node for node in self._present() if node not in started or started[node].running)

    def _present(self) -> tuple[str, ...]:
        # Spares come and go: only who takes part now can play a role or keep a condition from holding.
        self._claims.nodes = self.cluster.present
        return self._claims.nodes
