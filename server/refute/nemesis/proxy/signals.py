"""The evidence of the proxy plane for one link: what was done to its bytes, what arrived, what there was."""

from __future__ import annotations

from refute.history.fault import Reading, Rule, Side, Signal
from refute.nemesis.plane import Readings, Timed, counter, oldest_of, rate, rate_before

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
}
"""What the injector counts of a kind of fault, and what each counter means."""


def signals_of(kind: str, link: str, readings: Readings) -> tuple[Signal, ...]:
    """The signals of a directed link (`n1->n2`), from the readings alone."""
    name, meaning = INJECTED[kind]
    caller, _, callee = link.partition("->")
    at = _Moments(link, readings)
    injector = at.signal("injector", f"{link}: {name}", f"proxy: {meaning}", "increases", *at.counts(name))
    traffic = at.signal(
        "traffic",
        f"{link}: bytes per second that {caller} sends",
        "read by the proxy",
        "stops",
        *at.rates("received_bytes"),
    )
    return (injector, _victim(kind, caller, callee, at), traffic)


def _victim(kind: str, caller: str, callee: str, at: _Moments) -> Signal:
    link = at.link
    if kind == "partition":
        # The receiver's kernel tells more than what its socket accepted, where the kernel can be asked.
        kernel = counter(at.readings.during, f"{link}.acked_bytes")
        name = "acked_bytes" if kernel else "delivered_bytes"
        source = "bytes acknowledged by the receiver's kernel" if kernel else "bytes its socket accepted"
        return at.signal(
            "victim", f"{callee}: bytes per second from {caller}", source, "stops", *at.rates(name)
        )
    if kind in ("delay", "throttle", "bandwidth", "slow-close"):
        return at.signal(
            "victim",
            f"{callee}: transit of {link}, ms",
            "from arrival at the proxy to its socket",
            "increases",
            *at.transits_ms(),
        )
    if kind == "corrupt":
        started, during, after = (
            counter(moment, f"{link}.acked_bytes")
            for moment in (at.readings.start, at.readings.during, at.readings.after)
        )
        return at.signal(
            "victim",
            f"{callee}: bytes received on {link}",
            "acknowledged by its kernel",
            "increases",
            *(started, during, after),
        )
    return at.signal(
        "victim", f"{callee}: connections of {link}", "opened anew or ended", "changes", *at.connections()
    )


class _Moments:
    """Readings of one link before, during and after a fault."""

    def __init__(self, link: str, readings: Readings) -> None:
        self.link = link
        self.readings = readings

    def signal(
        self, side: Side, name: str, source: str, rule: Rule, before: Reading, during: Reading, after: Reading
    ) -> Signal:
        return Signal(side, name, source, rule, before, during, after, target=self.link)

    def counts(self, name: str) -> tuple[Reading, Reading, Reading]:
        readings, full = self.readings, f"{self.link}.{name}"
        return (counter(readings.before, full), counter(readings.during, full), counter(readings.after, full))

    def rates(self, name: str) -> tuple[Reading, Reading, Reading]:
        readings, full = self.readings, f"{self.link}.{name}"
        return (
            rate_before(readings, full),
            rate(readings.settled or readings.start, readings.during, full),
            rate(readings.during, readings.after, full),
        )

    def transits_ms(self) -> tuple[Reading, Reading, Reading]:
        readings = self.readings
        oldest = oldest_of(readings, f"{self.link}.transits")
        return (
            self._transit_ms(oldest, readings.before),
            self._transit_ms(readings.start, readings.during),
            self._transit_ms(readings.during, readings.after),
        )

    def connections(self) -> tuple[Reading, Reading, Reading]:
        readings = self.readings
        return (
            self._connections(readings.before),
            self._connections(readings.during),
            self._connections(readings.after),
        )

    def _transit_ms(self, begin: Timed | None, end: Timed | None) -> float | None:
        values = [
            counter(at, f"{self.link}.{name}") for name in ("transit_ns", "transits") for at in (begin, end)
        ]
        first_ns, last_ns, first, last = values
        if first_ns is None or last_ns is None or first is None or last is None or first == last:
            return None
        return round((last_ns - first_ns) / (last - first) / 1e6, 4)

    def _connections(self, at: Timed | None) -> str | None:
        opened, now = counter(at, f"{self.link}.connections"), counter(at, f"{self.link}.open")
        return None if opened is None or now is None else f"{opened:.0f} opened, {now:.0f} open"
