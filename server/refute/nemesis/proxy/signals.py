"""The evidence of the proxy plane for one link: what was done to its bytes, what arrived, what there was."""

from __future__ import annotations

from collections.abc import Iterable

from refute.history.fault import Reading, Rule, Side, Signal
from refute.nemesis.plane import Readings, Timed, around, counter, oldest_of, rate, rate_before

INJECTED = {
    "partition": ("held_bytes", "bytes that arrived at the proxy and were not passed on"),
    "delay": ("delayed_bytes", "bytes that the proxy kept back"),
    "throttle": ("limited_bytes", "bytes that passed at the limited rate"),
    "bandwidth": ("limited_bytes", "bytes that passed at the limited rate"),
    "reset": ("reset_connections", "connections that the proxy ended with a RST"),
    "half-open": ("swallowed_bytes", "bytes sent into connections whose other side is gone"),
    "corrupt": ("corrupted_bytes", "bytes that the proxy changed"),
    "truncate": ("truncated_connections", "connections ended in the middle of their bytes"),
    "slow-close": ("late_closes", "ends of connections that the proxy kept back"),
    "loss": ("lost_datagrams", "datagrams that were not passed on"),
    "duplicate": ("duplicated_datagrams", "datagrams that were passed on twice"),
    "reorder": ("reordered_datagrams", "datagrams that were passed on after a later one"),
}
"""What the injector counts of a kind of fault, and what each counter means."""


_WITNESSED = {
    "corrupt": ("node_changed", "not as they were sent"),
    "loss": ("node_missing", "missing"),
    "duplicate": ("node_doubled", "too many"),
    "reorder": ("node_reordered", "taken after a later one"),
}
"""What is seen of datagrams past the proxy, where this may be looked at."""

SEEN_IN_PASSING = frozenset({"delay", "throttle", "bandwidth", "slow-close"})
"""Kinds whose effect at the nodes' sockets is there for a moment only, so that one has to look often."""

_LEAST_WAIT_MS = 1.0


def signals_of(
    kind: str, link: str, readings: Readings, asked_ms: float | None = None, *, streams: bool = True
) -> tuple[Signal, ...]:
    """The signals of a directed link (`n1->n2`), from the readings alone.

    `asked_ms` is the delay that was asked for; `streams` is False where the link carries datagrams, of which
    a kernel keeps no count for each sender.
    """
    name, meaning = INJECTED[kind]
    caller, _, callee = link.partition("->")
    at = _Moments(link, readings, streams=streams)
    injector = at.signal("injector", f"{link}: {name}", f"proxy: {meaning}", "increases", at.counts(name))
    traffic = at.signal(
        "traffic",
        f"{link}: bytes per second that {caller} sends",
        "read by the proxy",
        "stops",
        at.rates("received_bytes"),
    )
    return (injector, _victim(kind, caller, callee, at, asked_ms, streams=streams), traffic)


def of_a_late_link(kind: str, link: str, readings: Readings) -> Signal | None:
    """What was done to the bytes of a link whose node joined while the fault was on; None while it has not.

    There was nothing before that a victim could miss, so that it proves no landing and is no target.
    """
    name, meaning = INJECTED[kind]
    if not counter(readings.during, f"{link}.received_bytes"):
        return None
    before, during, after = around(readings, f"{link}.{name}")
    what = f"{link}, joined later: {name}"
    return Signal("injector", what, f"proxy: {meaning}", "increases", before, during, after)


def _victim(
    kind: str, caller: str, callee: str, at: _Moments, asked_ms: float | None, *, streams: bool
) -> Signal:
    if kind == "partition":
        name_ = f"{callee}: bytes per second from {caller}"
        return at.signal("victim", name_, at.arrival_source(callee), "stops", at.arrivals())
    if kind in ("delay", "throttle", "bandwidth"):
        waits_ms, source = at.waits_ms(caller, callee)
        before = waits_ms[0]
        least = max(_LEAST_WAIT_MS, 2 * before) if before is not None else _LEAST_WAIT_MS
        expected = least if asked_ms is None else max(asked_ms / 2, 2 * (before or 0.0))
        name_ = f"{callee}: how long bytes from {caller} are on their way, ms"
        return at.signal("victim", name_, source, "reaches", waits_ms, expected=round(expected, 3))
    if kind == "slow-close":
        name_ = f"{callee}: looks that found a connection open whose other end {caller} had closed"
        source = f"the sockets of {caller} and {callee}"
        return at.signal("victim", name_, source, "increases", at.counts("node_orphans"))
    if kind in _WITNESSED and not streams and at.witnessed:
        name, what = _WITNESSED[kind]
        name_, source = (
            f"{callee}: datagrams from {caller} that are {what}",
            f"the kernel's, on their way to {callee}",
        )
        return at.signal("victim", name_, source, "increases", at.counts(name))
    if kind == "corrupt":
        name, source = at.first_read(
            ("node_received_bytes", f"received, by {callee}'s own sockets"),
            ("acked_bytes", "bytes acknowledged by the receiver's kernel"),
        )
        return at.signal(
            "victim", f"{callee}: bytes from {caller}", source, "increases", at.counts(name, since_start=True)
        )
    if kind in ("loss", "duplicate"):
        # Both are counted at the receiver's end: what was sent to it, and what its socket took.
        missing = kind == "loss"
        what = "missing" if missing else "too many"
        name_ = f"{callee}: datagrams from {caller} that are {what}"
        source = f"sent by {caller}, less taken by {callee}'s socket"
        return at.signal("victim", name_, source, "increases", at.difference(missing=missing))
    if kind == "reorder":
        name_ = f"{callee}: datagrams from {caller} that its socket took after a later one"
        return at.signal("victim", name_, "order of sending", "increases", at.counts("reordered_datagrams"))
    states = at.states("node_connections")
    source = f"{callee}'s own sockets"
    if states[1] is None:
        states, source = at.connections(), "opened anew or ended, as the proxy sees it"
    return at.signal("victim", f"{callee}: connections with {caller}", source, "changes", states)


_Three = tuple[Reading, Reading, Reading]
_Times = tuple[float | None, float | None, float | None]


def _largest(rates: Iterable[float | None]) -> float | None:
    return max((each for each in rates if each is not None), default=None)


class _Moments:
    """Readings of one link before, during and after a fault."""

    def __init__(self, link: str, readings: Readings, *, streams: bool) -> None:
        self.link = link
        self.streams = streams
        self.readings = readings

    def signal(
        self, side: Side, name: str, source: str, rule: Rule, three: _Three, expected: Reading = None
    ) -> Signal:
        return Signal(side, name, source, rule, *three, expected=expected, target=self.link)

    def first_read(self, *names: tuple[str, str]) -> tuple[str, str]:
        """The first of these counters (name, what it is) that could be read while the fault was on."""
        read = (each for each in names if counter(self.readings.during, f"{self.link}.{each[0]}"))
        return next(read, names[-1])

    def counts(self, name: str, *, since_start: bool = False) -> _Three:
        readings, full = self.readings, f"{self.link}.{name}"
        before = readings.start if since_start else readings.before
        return (counter(before, full), counter(readings.during, full), counter(readings.after, full))

    def difference(self, *, missing: bool) -> _Three:
        sent, taken = self.counts("datagrams"), self.counts("delivered_datagrams")
        sign = 1 if missing else -1
        before, during, after = (
            sign * (s - t) if isinstance(s, float) and isinstance(t, float) else None
            for s, t in zip(sent, taken, strict=True)
        )
        return before, during, after

    def states(self, name: str) -> _Three:
        readings, full = self.readings, f"{self.link}.{name}"
        moments = (readings.before, readings.during, readings.after)
        before, during, after = (moment.values.get(full) if moment else None for moment in moments)
        return before, during, after

    def rates(self, name: str) -> _Times:
        readings, full = self.readings, f"{self.link}.{name}"
        return (
            rate_before(readings, full),
            rate(readings.settled or readings.start, readings.during, full),
            rate(readings.healed or readings.during, readings.after, full),
        )

    def arrivals(self) -> _Times:
        """Bytes per second that reach the receiver: the larger of two counts. Its own sockets show what comes
        past the proxy as well, acknowledgements what came over connections too short to be looked at."""
        of_name = [self.rates(name) for name in self._arriving()]
        before, during, after = (_largest(each) for each in zip(*of_name, strict=True))
        return before, during, after

    def arrival_source(self, callee: str) -> str:
        """What `arrivals` is read from."""
        own = f"received by {callee}'s own sockets"
        if self.witnessed:
            own = f"brought to {callee}'s sockets by the kernel"
        elif counter(self.readings.during, f"{self.link}.node_looks") is None:
            own = "bytes"
        return f"{own}, or {self._arriving()[1].removesuffix('_bytes')} on the link: the larger"

    @property
    def witnessed(self) -> bool:
        """Whether datagrams of the link were looked at past the proxy."""
        return counter(self.readings.during, f"{self.link}.node_datagrams") is not None

    def _arriving(self) -> tuple[str, str]:
        # Where the kernel does not tell what was acknowledged, at least what it took from us.
        acked = counter(self.readings.during, f"{self.link}.acked_bytes")
        return ("node_received_bytes", "acked_bytes" if acked else "delivered_bytes")

    def waits_ms(self, caller: str, callee: str) -> tuple[_Times, str]:
        """How long bytes are on their way: what one node has sent and the other not received yet, divided
        by what it receives in a second (Little, 1961); else how long the proxy itself has them."""
        readings = self.readings
        if self.streams and counter(readings.during, f"{self.link}.node_looks") is not None:
            source = f"sent and not yet received, by the sockets of {caller} and {callee}"
            oldest = oldest_of(readings, f"{self.link}.node_looks")
            between = self._on_their_way_ms
        elif self.witnessed and counter(readings.during, f"{self.link}.node_transits"):
            source = f"from {caller}'s socket to {callee}'s, as the kernel brought them"
            oldest = oldest_of(readings, f"{self.link}.node_transits")
            between = self._witnessed_ms
        else:
            source = "from arrival at the proxy to the receiver's socket"
            oldest = oldest_of(readings, f"{self.link}.transits")
            between = self._transit_ms
        return (
            between(oldest, readings.before),
            between(readings.start, readings.during),
            between(readings.healed or readings.during, readings.after),
        ), source

    def _on_their_way_ms(self, begin: Timed | None, end: Timed | None) -> float | None:
        behind, looks = (self._growth(name, begin, end) for name in ("node_behind_bytes", "node_looks"))
        received = _largest(rate(begin, end, f"{self.link}.{name}") for name in self._arriving())
        if behind is None or not looks or received is None:
            return None
        if not received:
            # Nothing arrives: what waits has waited all the time, and nothing waits where nothing was sent.
            assert begin is not None and end is not None
            return round((end.time_ns - begin.time_ns) / 1e6, 3) if behind else None
        return round(behind / looks / received * 1000, 3)

    def _growth(self, name: str, begin: Timed | None, end: Timed | None) -> float | None:
        first, last = counter(begin, f"{self.link}.{name}"), counter(end, f"{self.link}.{name}")
        return None if first is None or last is None else last - first

    def connections(self) -> _Three:
        readings = self.readings
        return (
            self._connections(readings.before),
            self._connections(readings.during),
            self._connections(readings.after),
        )

    def _witnessed_ms(self, begin: Timed | None, end: Timed | None) -> float | None:
        return self._transit_ms(begin, end, "node_")

    def _transit_ms(self, begin: Timed | None, end: Timed | None, whose: str = "") -> float | None:
        names = (f"{whose}transit_ns", f"{whose}transits")
        spent_ns, transits = (self._growth(name, begin, end) for name in names)
        return round(spent_ns / transits / 1e6, 4) if spent_ns is not None and transits else None

    def _connections(self, at: Timed | None) -> str | None:
        opened, now = counter(at, f"{self.link}.connections"), counter(at, f"{self.link}.open")
        return None if opened is None or now is None else f"{opened:.0f} opened, {now:.0f} open"
