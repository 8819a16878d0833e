"""The evidence of the toxiproxy plane for one link: what its API shows, what arrives, what was sent."""

from __future__ import annotations

from refute.history.fault import Reading, Signal
from refute.nemesis.plane import Readings, Timed, counter, rate, rate_before

_LEAST_WAIT_MS = 1.0


def signals_of(kind: str, link: str, readings: Readings, asked_ms: float | None) -> tuple[Signal, ...]:
    """The signals of a directed link, from the readings alone; `asked_ms` is the latency asked for."""
    caller, _, callee = link.partition("->")
    injector = Signal(
        *("injector", f"{link}: proxy and toxics", "as toxiproxy's API shows them", "changes"),
        before=_state(readings.before, f"{link}.toxiproxy"),
        during=_state(readings.during, f"{link}.toxiproxy"),
        after=_state(readings.after, f"{link}.toxiproxy"),
        target=link,
    )
    sent = _rates(readings, f"{link}.sent_to_toxiproxy_bytes")
    traffic = Signal(
        *("traffic", f"{link}: bytes per second that {caller} sends", f"{caller}'s own sockets", "stops"),
        before=sent[0],
        during=sent[1],
        after=sent[2],
        target=link,
    )
    return (injector, _victim(kind, link, caller, callee, readings, asked_ms), traffic)


def _victim(
    kind: str, link: str, caller: str, callee: str, readings: Readings, asked_ms: float | None
) -> Signal:
    if kind in ("down", "timeout"):
        arrived = _rates(readings, f"{link}.asked_bytes")
        return Signal(
            "victim",
            f"{callee}: bytes per second on the connections of {caller}",
            "acknowledged by the receiver's kernel",
            "stops",
            *arrived,
            target=link,
        )
    if kind == "reset":
        name = f"{link}.caller_connections"
        return Signal(
            "victim",
            f"{caller}: connections to {callee}",
            f"{caller}'s own sockets",
            "changes",
            _state(readings.before, name),
            _state(readings.during, name),
            _state(readings.after, name),
            target=link,
        )
    before = _on_their_way_ms(readings.before, link, _rates(readings, f"{link}.sent_to_toxiproxy_bytes")[0])
    during = _on_their_way_ms(readings.during, link, _rates(readings, f"{link}.asked_bytes")[1])
    twice = 2 * (before or 0.0)
    return Signal(
        "victim",
        f"{callee}: how long bytes from {caller} are on their way, ms",
        f"sent, by {caller}'s sockets, and not yet acknowledged by {callee}'s kernel",
        "reaches",
        before,
        during,
        expected=round(max(twice, _LEAST_WAIT_MS if asked_ms is None else asked_ms / 2), 3),
        target=link,
    )


def _on_their_way_ms(at: Timed | None, link: str, per_second: float | None) -> float | None:
    # Little's law: how many bytes are between the two, divided by how many pass in a second.
    sent, arrived = counter(at, f"{link}.sent_to_toxiproxy_bytes"), counter(at, f"{link}.asked_bytes")
    if sent is None or arrived is None or not per_second:
        return None
    return round(max(0.0, sent - arrived) / per_second * 1000, 3)


def _rates(readings: Readings, name: str) -> tuple[float | None, float | None, float | None]:
    return (
        rate_before(readings, name),
        rate(readings.settled or readings.start, readings.during, name),
        rate(readings.healed or readings.during, readings.after, name),
    )


def _state(at: Timed | None, name: str) -> Reading:
    return at.values.get(name) if at else None
