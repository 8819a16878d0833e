"""Readings around each fault: a baseline that is always there, so that no fault has to wait for one."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from refute.history.fault import Reading, Signal
from refute.nemesis.plane import Readings, Snapshot, Timed
from refute.plan.step import VictimSignal
from refute.system.observer import Observer
from refute.system.source import as_number

SAMPLE_EVERY_S = 0.25
_BASELINE_NS = 2_000_000_000
_SETTLED_AFTER_NS = 80_000_000
_SHORTEST_NS = 20_000_000
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

    def readings(self) -> Readings:
        """As the planes take them."""
        return Readings(
            *(self.baseline, self.before, self.start, self.settled),
            *(self.during, self.after, self.healed),
        )

    @property
    def complete(self) -> bool:
        """Whether what came after it was read for as long as is of interest."""
        if self.healed is None or self.after is None:
            return False
        return self.after.time_ns - self.healed.time_ns >= _AFTER_NS


@dataclass(slots=True)
class VictimSeries:
    """Readings of one state at one node: (asked ns, value)."""

    node: str
    state: str
    points: deque[tuple[int, Reading]] = field(default_factory=lambda: deque(maxlen=400))

    def add(self, asked_ns: int, value: object) -> None:
        """Take in what was read; values that are no plain reading are kept as text."""
        reading = value if isinstance(value, int | float | str | bool) or value is None else repr(value)
        self.points.append((asked_ns, reading))


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
            wake_s = min(next_sample_s, settles_s, self._tick())
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
        readers = []
        for pair in fresh:
            self._watched[pair] = VictimSeries(*pair)
            reader = threading.Thread(target=self._read_victim_now, args=(self._watched[pair],), daemon=True)
            reader.start()
            readers.append(reader)
        for reader in readers:
            reader.join(1.0)

    def begin(self, pairs: Sequence[tuple[str, str]]) -> Around:
        """A fault is about to be applied: keep what came before it."""
        around = Around(victims={pair: self._watched[pair] for pair in pairs})
        around.before = self.take()
        since_ns = around.before.time_ns - _BASELINE_NS
        around.baseline = (*(s for s in list(self._samples) if s.time_ns >= since_ns), around.before)
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


def victim_signals(
    around: Around, wanted: Mapping[tuple[str, str], VictimSignal], healed_ns: int | None
) -> tuple[Signal, ...]:
    """The signals that the plan declares, from the readings of the states that it names.

    `stops` compares growth per second; all other rules compare the last value before the fault with the
    last one before its end.
    """
    signals = []
    for pair, signal in wanted.items():
        series = around.victims.get(pair)
        if series is None:
            continue
        points = [(at, value) for at, value in list(series.points) if value is not None]
        before = [point for point in points if point[0] <= around.applied_ns]
        during = [p for p in points if around.applied_ns < p[0] <= (healed_ns or p[0])]
        after = [point for point in points if healed_ns is not None and point[0] > healed_ns]
        read = _growth if signal.rule == "stops" else _last
        signals.append(
            Signal(
                side="victim",
                name=f"{pair[0]}: {pair[1]}",
                source="read from the node",
                rule=signal.rule,
                before=read(before),
                during=read(during),
                after=read(after),
                expected=signal.expected,
            )
        )
    return tuple(signals)


def _last(points: Sequence[tuple[int, Reading]]) -> Reading:
    return points[-1][1] if points else None


def _growth(points: Sequence[tuple[int, Reading]]) -> Reading:
    if len(points) < 2 or points[-1][0] - points[0][0] < _SHORTEST_NS:
        return None
    first, last = as_number(points[0][1]), as_number(points[-1][1])
    if first is None or last is None:
        return None
    return round((last - first) / ((points[-1][0] - points[0][0]) / 1e9), 3)
