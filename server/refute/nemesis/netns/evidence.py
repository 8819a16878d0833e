"""Landing evidence of the netns plane, computed from readings alone.

A fault of several links has not landed where one link shows it. The rule: every link on which packets arrived
in the baseline has to show the fault, at its own rule and at its own receiver; those two signals are needed.
A link on which nothing arrived before can neither stop nor prove that it was cut: its signals are shown and
not needed. Both directions of a TCP connection carry packets, so that pairs that talk are judged both ways.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from refute.history.fault import Signal
from refute.nemesis.plane import Readings, counter, rate, rate_before

Link = tuple[str, str]

_INJECTED = {
    "drop": "packets dropped by our own rule",
    "reject": "packets answered with a refusal by our own rule",
    "flapping": "packets dropped by our own rule",
    "loss": "packets dropped by our own rule",
}
_STOPS_ARRIVALS = ("drop", "reject")
_AT_SENDER = {
    "drop": ("sent_again", "TCP segments sent again"),
    "flapping": ("sent_again", "TCP segments sent again"),
    "loss": ("sent_again", "TCP segments sent again"),
    "reject": ("broken", "connections refused or reset"),
}


def of_rules(fault: str, kind: str, links: Sequence[Link], readings: Readings) -> tuple[Signal, ...]:
    """Signals of a fault that is done by rules."""
    signals: list[Signal] = []
    for sender, receiver in links:
        link = f"{sender}->{receiver}"
        talked = bool(rate_before(readings, f"{link}.arrived_packets"))
        name, source = f"{link}: packets caught", f"nft: {_INJECTED[kind]}"
        caught = _of_a_fault(readings, f"{fault}.{link}.packets")
        signals.append(Signal("injector", name, source, "increases", *caught, needed=talked))
        if kind in _STOPS_ARRIVALS:
            name = f"{receiver}: packets per second from {sender}"
            arriving = _rates(readings, f"{link}.arrived_packets")
            signals.append(Signal("victim", name, "nft: let through", "stops", *arriving, needed=talked))
    return (*signals, *_of_senders(kind, links, readings))


def of_flapping(fault: str, readings: Readings) -> Signal:
    """That it has changed more than once: down, and up again."""
    before, during, after = _of_a_fault(readings, f"{fault}.changes")
    more = (None if changes is None else max(0.0, changes - 1) for changes in (before, during, after))
    return Signal(
        "injector",
        "changes of the links after the first",
        "counted with each",
        "increases",
        *more,
        needed=True,
    )


def of_link_down(fault: str, nodes: Iterable[str], readings: Readings) -> tuple[Signal, ...]:
    """The state of each interface, and the packets that no longer come in by it."""
    signals: list[Signal] = []
    for node in nodes:
        state = f"{fault}.{node}.interface"
        during = readings.during.values.get(state) if readings.during else None
        name, source = f"{node}: its interface", "the kernel's flags"
        signals.append(
            Signal("injector", name, source, "becomes", "up", during, expected="down", needed=True)
        )
        rates = _rates(readings, f"{node}.received_packets")
        name, source = f"{node}: packets received per second", "its interface's counter"
        signals.append(Signal("victim", name, source, "stops", *rates, needed=bool(rates[0])))
    return tuple(signals)


def _of_senders(kind: str, links: Sequence[Link], readings: Readings) -> Iterator[Signal]:
    name, meaning = _AT_SENDER[kind]
    moments = (readings.before, readings.during, readings.after)
    for sender in sorted({sender for sender, _ in links}):
        counted = (counter(at, f"{sender}.{name}") for at in moments)
        yield Signal("victim", f"{sender}: {meaning}", "its kernel's TCP", "increases", *counted)


def _of_a_fault(readings: Readings, name: str) -> tuple[float | None, float | None, float | None]:
    # Before the fault there is no such rule, so that it has caught nothing; after it, there is none again.
    before = 0.0 if readings.before is not None else None
    return before, counter(readings.during, name), counter(readings.after, name)


def _rates(readings: Readings, name: str) -> tuple[float | None, float | None, float | None]:
    return (
        rate_before(readings, name),
        rate(readings.settled, readings.during, name),
        rate(readings.during, readings.after, name),
    )
