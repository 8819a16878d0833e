"""Landing evidence of the netns plane, computed from readings alone.

Every directed link speaks for itself: packets that its own rule has caught (injector), packets that its
receiver lets through to its sockets (victim), and whether anybody sent on it at all (traffic). A link that
was not used is idle and counts neither way; one on which packets go on arriving contradicts the fault.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from refute.history.fault import Reading, Rule, Side, Signal
from refute.nemesis.netns.shaping import burst_bytes
from refute.nemesis.plane import Readings, counter, rate, rate_before

Link = tuple[str, str]
Moments = tuple[Reading, Reading, Reading]

_INJECTED = {
    "drop": "packets dropped by our own rule",
    "reject": "packets answered with a refusal by our own rule",
    "flapping": "packets dropped by our own rule",
    "loss": "packets dropped by our own rule",
}
_STOPS_ARRIVALS = ("drop", "reject")
_BEYOND = 1.25
_SENT_AGAIN = ("sent_again", "TCP segments sent again")
_AT_SENDER = {
    "drop": _SENT_AGAIN,
    "flapping": _SENT_AGAIN,
    "loss": _SENT_AGAIN,
    "reject": ("broken", "connections refused or reset"),
}


def of_rules(fault: str, kind: str, links: Sequence[Link], readings: Readings) -> tuple[Signal, ...]:
    """Signals of a fault that is done by rules."""
    signals: list[Signal] = []
    for sender, receiver in links:
        link = f"{sender}->{receiver}"
        caught = of_a_fault(readings, f"{fault}.{link}.packets")
        name = f"{link}: packets caught"
        signals.append(signal("injector", name, f"nft: {_INJECTED[kind]}", "increases", caught, link))
        arriving = rates(readings, f"{link}.arrived_packets")
        if kind in _STOPS_ARRIVALS:
            name = f"{receiver}: packets per second from {sender}"
            signals.append(signal("victim", name, "nft: let through", "stops", arriving, link))
        else:
            signals.append(_of_sender(kind, sender, readings, link))
        sent = (arriving[0], _sum(arriving[1], _rate_of_a_fault(readings, f"{fault}.{link}.packets")), None)
        signals.append(signal("traffic", f"{link}: packets per second", "nft", "stops", sent, link))
    if kind in _STOPS_ARRIVALS:
        signals += [_of_sender(kind, sender, readings) for sender in sorted({sender for sender, _ in links})]
    return tuple(signals)


def of_late_links(fault: str, kind: str, links: Sequence[Link], readings: Readings) -> Iterator[Signal]:
    """Packets caught on links whose node joined while the fault was on.

    There was nothing before that a victim could miss, so that they prove no landing and are no targets.
    """
    for sender, receiver in links:
        caught = of_a_fault(readings, f"{fault}.{sender}->{receiver}.packets")
        if caught[1]:
            name = f"{sender}->{receiver}, joined later: packets caught"
            yield signal("injector", name, f"nft: {_INJECTED[kind]}", "increases", caught)


def of_flapping(fault: str, readings: Readings) -> Signal:
    """That it has changed more than once: down, and up again."""
    before, during, after = of_a_fault(readings, f"{fault}.changes")
    first = None if during is None else during - 1
    name = "changes of the links after the first"
    return Signal("injector", name, "counted with each", "increases", before, first, after, needed=True)


def of_link_down(fault: str, nodes: Iterable[str], readings: Readings) -> Iterator[Signal]:
    """The state of each interface, and the packets that no longer come in by it."""
    for node in nodes:
        state = f"{fault}.{node}.interface"
        during = readings.during.values.get(state) if readings.during else None
        name, source = f"{node}: its interface", "the kernel's flags"
        yield Signal("injector", name, source, "becomes", "up", during, None, "down", node)
        received = rates(readings, f"{node}.received_packets")
        name, source = f"{node}: packets received per second", "its interface's counter"
        yield signal("victim", name, source, "stops", received, node)


def of_rate(fault: str, links: Sequence[Link], limit_bytes: float, readings: Readings) -> Iterator[Signal]:
    """Packets that had to wait for the bucket, and bytes beyond limit and burst, which no longer arrive.

    A link that carried less than the limit before has nothing to lose: it is idle.
    """
    for sender, receiver in links:
        link = f"{sender}->{receiver}"
        waited = of_a_fault(readings, f"{fault}.{link}.overlimits")
        source = "the kernel's queue of this link"
        yield signal("injector", f"{link}: packets that had to wait", source, "increases", waited, link)
        most = limit_bytes * _BEYOND + burst_bytes(limit_bytes)
        before, during, after = (
            None if read is None else max(0.0, read - most)
            for read in rates(readings, f"{link}.arrived_bytes")
        )
        name = f"{receiver}: bytes per second from {sender} beyond the limit"
        yield signal("victim", name, "nft: let through", "stops", (before, during, after), link)
        yield signal("traffic", name, "nft: let through", "stops", (before, None, None), link)


def of_delay(fault: str, links: Sequence[Link], delay_s: float, readings: Readings) -> Iterator[Signal]:
    """Packets that were kept, and the round trip of the sender's TCP, longer by half of the delay."""
    moments = (readings.before, readings.during, readings.after)
    for sender, receiver in links:
        link = f"{sender}->{receiver}"
        kept = of_a_fault(readings, f"{fault}.{link}.packets")
        yield signal("injector", f"{link}: packets kept", "counted on their way", "increases", kept, link)
        read = [counter(at, f"{link}.round_trip_us") for at in moments]
        before, during, after = (None if each is None else each / 1000 for each in read)
        expected = None if before is None else before + delay_s * 1000 / 2
        name, source = f"{sender}: round trip to {receiver}, ms", "smoothed by its kernel's TCP"
        yield Signal("victim", name, source, "reaches", before, during, after, expected, link)
        sent = rates(readings, f"{link}.arrived_packets")
        yield signal("traffic", f"{link}: packets per second", "nft", "stops", sent, link)


def of_names(fault: str, nodes: Iterable[str], answer: str, readings: Readings) -> Iterator[Signal]:
    """Questions that were answered wrongly, and what became of the node's attempts to connect."""
    for node in nodes:
        altered = of_a_fault(readings, f"{fault}.{node}.altered")
        name, source = f"{node}: questions tampered with", "our own name server"
        yield signal("injector", name, source, "increases", altered, node)
        source = "its kernel's TCP"
        if answer == "stale":
            before, during, after = (
                counter(at, f"{node}.broken") for at in (readings.before, readings.during, readings.after)
            )
            name = f"{node}: connections refused or reset"
            yield signal("victim", name, source, "increases", (before, during, after), node)
        else:
            name = f"{node}: connections opened per second"
            yield signal("victim", name, source, "stops", rates(readings, f"{node}.opened"), node)
        name, source = f"{node}: questions per second", "our own name server"
        yield signal("traffic", name, source, "stops", rates(readings, f"{node}.questions"), node)


def signal(side: Side, name: str, source: str, rule: Rule, moments: Moments, target: str = "") -> Signal:
    """A signal from its readings before, during and after."""
    before, during, after = moments
    return Signal(side, name, source, rule, before, during, after, target=target)


def of_a_fault(readings: Readings, name: str) -> tuple[float | None, float | None, float | None]:
    """A counter of a fault's own: before it there was none, so that it had counted nothing."""
    before = 0.0 if readings.before is not None else None
    return before, counter(readings.during, name), counter(readings.after, name)


def rates(readings: Readings, name: str) -> tuple[float | None, float | None, float | None]:
    """Growth per second before, during and after, without what was under way when the fault came."""
    return (
        rate_before(readings, name),
        rate(readings.settled, readings.during, name),
        rate(readings.during, readings.after, name),
    )


def _of_sender(kind: str, sender: str, readings: Readings, target: str = "") -> Signal:
    name, meaning = _AT_SENDER[kind]
    before, during, after = (
        counter(at, f"{sender}.{name}") for at in (readings.before, readings.during, readings.after)
    )
    counted = (before, during, after)
    return signal("victim", f"{sender}: {meaning}", "its kernel's TCP", "increases", counted, target)


def _rate_of_a_fault(readings: Readings, name: str) -> float | None:
    # Over the same time as the arrivals beside it; from `start` on where it had not settled.
    return rate(readings.settled or readings.start, readings.during, name)


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None and other is None else (one or 0.0) + (other or 0.0)
