"""The evidence for failing and slow calls, whatever makes them so: what it counts, and what nodes show."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from refute.history.fault import Signal
from refute.nemesis.plane import Fault, Readings
from refute.nemesis.storage.call_victims import CallVictims
from refute.nemesis.storage.family import fewest, listed, moments, three


@dataclass(frozen=True, slots=True)
class CallStriker:
    """What makes calls fail or wait, by its readings of a node and the words for them.

    `struck` counts the calls, `stands` is `there` as long as a node that runs has it, and `stood_still`
    counts the times that one of its threads was kept waiting.
    """

    name: str
    struck: str
    counted_by: str
    stands: str
    seen_by: str
    there: str
    stood_still: str
    stood_still_says: str

    def signals(self, fault: Fault, readings: Readings, victims: CallVictims) -> tuple[Signal, ...]:
        """Its own count; at each victim what it says, how it ends, or how its threads stand still."""
        return (
            self._count(fault, readings),
            *(self._stands(node, readings) for node in fault.nodes),
            *(signal for node in fault.nodes for signal in self._victim(fault, node, readings, victims)),
        )

    def _count(self, fault: Fault, readings: Readings) -> Signal:
        what = "failed" if fault.kind == "io-error" else "delayed"
        before, during, after = (fewest(at, fault.nodes, self.struck) for at in moments(readings))
        name = f"{listed(fault.nodes)}: calls that were {what}"
        return Signal("injector", name, self.counted_by, "increases", before, during, after, needed=True)

    def _stands(self, node: str, readings: Readings) -> Signal:
        name = f"{node}: {self.name}, as long as it runs"
        values = three(readings, f"{node}.{self.stands}")
        return Signal("injector", name, self.seen_by, "becomes", *values, expected=self.there, needed=True)

    def _victim(self, fault: Fault, node: str, readings: Readings, victims: CallVictims) -> Iterator[Signal]:
        if fault.kind == "io-error":
            yield from victims.signals(node, readings)
        else:
            values = three(readings, f"{node}.{self.stood_still}")
            name = f"{node}: {self.stood_still_says}"
            yield Signal("victim", name, "state of its threads", "increases", *values)
