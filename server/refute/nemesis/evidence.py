"""Readings around each fault: a baseline that is always there, so that no fault has to wait for one."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from refute.history.fault import Signal
from refute.nemesis.declared import Declared, Span, VictimSeries, declared_signals, unshown
from refute.nemesis.plane import Readings, Snapshot, Timed
from refute.system.observer import Observer

SAMPLE_EVERY_S = 0.25
_EAGERLY_EVERY_S = 0.05
_EAGERLY_FOR_NS = 5_000_000_000
_LAST_LOOK_S = 1.5  # more than a reading that is on its way may take, and holds up the next
_BASELINE_NS = 2_000_000_000
_SETTLED_AFTER_NS = 80_000_000
_AFTER_NS = 1_000_000_000


@dataclass(slots=True)
class Around:
    """What was read around one fault so far; times are monotonic ns."""

    baseline: tuple[Timed, ...] = ()
    before: Timed | None = None
    start: Timed | None = None
    settled: Timed | None = None
    during: Timed | None = None
    after: Timed | None = None
    healed: Timed | None = None
    applied_ns: int = 0
    victims: dict[tuple[str, str], VictimSeries] = field(default_factory=dict)
    declared: tuple[Declared, ...] = ()

    def readings(self) -> Readings:
        """As the planes take them."""
        return Readings(
            *(self.baseline, self.before, self.start, self.settled),
            *(self.during, self.after, self.healed),
        )

    def declared_signals(self, healed_ns: int | None) -> tuple[Signal, ...]:
        """What came of the evidence that the plan declares, healed at that time or still on."""
        return declared_signals(self.declared, self.victims, self._span(healed_ns))

    def unshown(self) -> list[tuple[str, str]]:
        """The (node, state) pairs of declared evidence that has not moved yet."""
        return unshown(self.declared, self.victims, self._span(None))

    def _span(self, healed_ns: int | None) -> Span:
        begun_ns = self.before.time_ns if self.before else self.applied_ns
        return Span(begun_ns, self.applied_ns or begun_ns, healed_ns)

    @property
    def complete(self) -> bool:
        """Whether what came after it was read for as long as is of interest."""
        if self.healed is None or self.after is None:
            return False
        return self.after.time_ns - self.healed.time_ns >= _AFTER_NS


class Sampler(threading.Thread):
    """Reads everything every quarter of a second, and at the moments that matter.

    `tick` is called meanwhile; it returns the monotonic time (s) at which it wants to be called again.
    """

    def __init__(
        self, measure: Callable[[], Snapshot], observer: Observer | None, tick: Callable[[], float]
    ) -> None:
        super().__init__(name="nemesis-sampler", daemon=True)
        self._measure = measure
        self._observer = observer
        self._tick = tick
        self._over = False
        self._wake = threading.Event()
        self._samples: deque[Timed] = deque(maxlen=64)
        self._watched: dict[tuple[str, str], VictimSeries] = {}
        self._busy: set[tuple[str, str]] = set()
        self._on: list[Around] = []
        self._eager: list[Around] = []
        self._over_now: list[Around] = []

    def run(self) -> None:
        """Until `end`."""
        next_sample_s = time.monotonic()
        while not self._over:
            if time.monotonic() >= next_sample_s:
                next_sample_s = time.monotonic() + SAMPLE_EVERY_S
                self._samples.append(self.take())
                self._follow(self._samples[-1])
                for series in list(self._watched.values()):
                    self._read_victim(series)
            settles_s = min((self._settle(around) for around in list(self._on)), default=math.inf)
            wake_s = min(next_sample_s, settles_s, self._look_eagerly(), self._tick())
            self._wake.wait(max(0.001, wake_s - time.monotonic()))
            self._wake.clear()

    def end(self) -> None:
        """Take no further sample."""
        self._over = True
        self._wake.set()
        if self.is_alive():
            self.join()

    def take(self) -> Timed:
        """All readings of all planes now."""
        began = time.monotonic_ns()
        values = dict(self._measure())
        return Timed((began + time.monotonic_ns()) // 2, values)

    def watch(self, signals: Sequence[tuple[str, str]]) -> None:
        """Read these (node, state) all the time from now on; the first reading is there on return."""
        fresh = [pair for pair in signals if pair not in self._watched]
        for pair in fresh:
            self._watched[pair] = VictimSeries(*pair)
        self._read_together([self._watched[pair] for pair in fresh], 1.0)

    def begin(self, declared: Sequence[Declared]) -> Around:
        """A fault is about to be applied: keep what came before it. What it declares has to be watched."""
        pairs = {pair for each in declared for pair in each.pairs}
        around = Around(victims={pair: self._watched[pair] for pair in pairs}, declared=tuple(declared))
        around.before = self.take()
        since_ns = around.before.time_ns - _BASELINE_NS
        around.baseline = (*(s for s in list(self._samples) if s.time_ns >= since_ns), around.before)
        if declared:
            self._eager.append(around)
            self._wake.set()
        return around

    def started(self, around: Around) -> None:
        """It is on."""
        around.applied_ns = time.monotonic_ns()
        around.start = self.take()
        self._on.append(around)
        self._wake.set()

    def keep(self, around: Around, prefix: str) -> None:
        """Keep the readings with this prefix as those of the time when the fault was on."""
        now = self.take()
        kept = {name: value for name, value in now.values.items() if name.startswith(prefix)}
        before = around.during.values if around.during else {}
        around.during = Timed(now.time_ns, {**before, **kept})

    def ending(self, around: Around) -> None:
        """It is about to be healed: the last moment to read."""
        self._settle(around)
        with suppress(ValueError):
            self._eager.remove(around)
        # What was awaited may have come about since the last sample, and would then count for nothing.
        self._read_together([around.victims[pair] for pair in around.unshown()], _LAST_LOOK_S)
        now = self.take()
        kept = around.during.values if around.during else {}
        around.during = Timed(now.time_ns, {**now.values, **kept})
        if around in self._on:
            self._on.remove(around)

    def ended(self, around: Around) -> None:
        """It was healed; the samples of the next second are what came after."""
        around.healed = around.after = self.take()
        self._over_now.append(around)

    def now(self, around: Around) -> Around:
        """What was read so far with the present as its last reading, for a fault that is still on."""
        present = self.take()
        kept = around.during.values if around.during else {}
        return Around(
            *(around.baseline, around.before, around.start, around.settled),
            Timed(present.time_ns, {**present.values, **kept}),
            None,
            None,
            around.applied_ns,
            around.victims,
            around.declared,
        )

    def _follow(self, sample: Timed) -> None:
        for around in list(self._over_now):
            if around.healed is not None and sample.time_ns > around.healed.time_ns:
                around.after = sample
            if around.complete:
                self._over_now.remove(around)

    def _settle(self, around: Around) -> float:
        # Bytes that were on their way when the fault came have arrived by then. When to look again (s).
        due_ns = around.applied_ns + _SETTLED_AFTER_NS
        if around.settled is None and time.monotonic_ns() >= due_ns:
            around.settled = self.take()
        return math.inf if around.settled else due_ns / 1e9

    def _look_eagerly(self) -> float:
        # A node that is back in a moment is down between two samples. When to look again (s).
        since_ns = time.monotonic_ns() - _EAGERLY_FOR_NS
        for around in list(self._eager):
            if around.before is None or around.before.time_ns < since_ns:
                with suppress(ValueError):
                    self._eager.remove(around)
        waiting = {pair for around in list(self._eager) for pair in around.unshown()}
        for pair in waiting:
            self._read_victim(self._watched[pair])
        return time.monotonic() + _EAGERLY_EVERY_S if waiting else math.inf

    def _read_together(self, wanted: Iterable[VictimSeries], within_s: float) -> None:
        # A node that does not answer in time is not waited for: its reading comes when it comes.
        readers = [
            threading.Thread(target=self._read_victim_now, args=(series,), daemon=True) for series in wanted
        ]
        for reader in readers:
            reader.start()
        deadline = time.monotonic() + within_s
        for reader in readers:
            reader.join(max(0.0, deadline - time.monotonic()))

    def _read_victim(self, series: VictimSeries) -> None:
        # Each in a thread of its own: a paused node would hold up all others.
        pair = (series.node, series.state)
        if pair in self._busy:
            return
        self._busy.add(pair)
        threading.Thread(target=self._read_victim_now, args=(series,), daemon=True).start()

    def _read_victim_now(self, series: VictimSeries) -> None:
        try:
            if self._observer is not None:
                seen = self._observer.read(series.node, series.state)
                series.add(seen.asked_ns, seen.value if seen.error is None else None)
        finally:
            self._busy.discard((series.node, series.state))
