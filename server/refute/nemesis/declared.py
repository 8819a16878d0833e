"""The evidence that a plan declares for a fault: states of the system that must move while it is on."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from refute.history.fault import Reading, Signal, finite
from refute.plan.step import VictimSignal
from refute.system.source import as_number

_SHORTEST_NS = 20_000_000
_Point = tuple[int, Reading]


@dataclass(slots=True)
class VictimSeries:
    """Readings of one state at one node: (asked ns, value)."""

    node: str
    state: str
    points: deque[_Point] = field(default_factory=lambda: deque(maxlen=400))

    def add(self, asked_ns: int, value: object) -> None:
        """Take in what was read; values that are no plain reading are kept as text, NaN counts as unread."""
        reading = value if isinstance(value, int | float | str | bool) or value is None else repr(value)
        self.points.append((asked_ns, finite(reading)))


@dataclass(frozen=True, slots=True)
class Declared:
    """One signal that a plan declares, and the (node, state) pairs that its reference stands for."""

    signal: VictimSignal
    pairs: tuple[tuple[str, str], ...]

    @property
    def words(self) -> str:
        """As the plan means it: `not leader: term increases`."""
        wanted = f" {self.signal.expected!r}" if self.signal.rule == "becomes" else ""
        return f"{self.signal.node}: {self.signal.state} {self.signal.rule}{wanted}"


@dataclass(frozen=True, slots=True)
class Span:
    """When a fault began to be applied, was on, and was healed (None: it still is on); monotonic ns."""

    begun_ns: int
    applied_ns: int
    healed_ns: int | None


def declared_signals(
    declared: Sequence[Declared], series: Mapping[tuple[str, str], VictimSeries], span: Span
) -> tuple[Signal, ...]:
    """What came of each declaration at each of its nodes; one that stands for no node has not moved.

    `stops` compares growth per second. All other rules compare the last value before the fault began with
    the last one that shows the change they ask for, so that a node which is back before the heal, as after a
    restart, is not taken for one that never went.
    """
    return tuple(signal for each in declared for signal in _of_one(each, series, span))


def unshown(
    declared: Sequence[Declared], series: Mapping[tuple[str, str], VictimSeries], span: Span
) -> list[tuple[str, str]]:
    """The pairs that are worth another reading: those of declarations that moved nowhere so far."""
    waiting = [each for each in declared if not any(s.moved for s in _of_one(each, series, span))]
    return list(dict.fromkeys(pair for each in waiting for pair in each.pairs))


def _of_one(
    declared: Declared, series: Mapping[tuple[str, str], VictimSeries], span: Span
) -> tuple[Signal, ...]:
    if not declared.pairs:
        return (_signal(declared, f"{declared.signal.node}: {declared.signal.state}", None, None, None),)
    return tuple(_at_node(declared, pair, series.get(pair), span) for pair in declared.pairs)


def _at_node(declared: Declared, pair: tuple[str, str], series: VictimSeries | None, span: Span) -> Signal:
    points = [(at, value) for at, value in list(series.points) if value is not None] if series else []
    healed_ns = span.healed_ns
    after = [point for point in points if healed_ns is not None and point[0] > healed_ns]
    until_then = [point for point in points if healed_ns is None or point[0] <= healed_ns]
    name = f"{pair[0]}: {pair[1]}"
    if declared.signal.rule == "stops":
        before = [point for point in until_then if point[0] <= span.applied_ns]
        during = [point for point in until_then if point[0] > span.applied_ns]
        return _signal(declared, name, _growth(before), _growth(during), _growth(after))
    first = _last([point for point in until_then if point[0] <= span.begun_ns])
    found = [
        _signal(declared, name, first, value, _last(after)) for at, value in until_then if at > span.begun_ns
    ]
    moved = [signal for signal in found if signal.moved]
    return (moved or found or [_signal(declared, name, first, None, _last(after))])[-1]


def _signal(declared: Declared, name: str, before: Reading, during: Reading, after: Reading) -> Signal:
    return Signal(
        *("victim", name, "read from the node", declared.signal.rule, before, during, after),
        expected=declared.signal.expected,
        declared=declared.words,
    )


def _last(points: Sequence[_Point]) -> Reading:
    return points[-1][1] if points else None


def _growth(points: Sequence[_Point]) -> Reading:
    if len(points) < 2 or points[-1][0] - points[0][0] < _SHORTEST_NS:
        return None
    first, last = as_number(points[0][1]), as_number(points[-1][1])
    if first is None or last is None:
        return None
    return round((last - first) / ((points[-1][0] - points[0][0]) / 1e9), 3)
