"""What became of datagrams between being sent by one node and arriving at another: pure bookkeeping."""

from __future__ import annotations

from collections import OrderedDict, deque

_MISSING_AFTER_NS = 100_000_000
_REMEMBERED = 20_000


class DatagramWay:
    """One directed link: each datagram is told by its content.

    A content that is sent again later (a heartbeat) is another datagram; one that arrives more often than it
    was sent is doubled, and one that arrives without having been sent was changed on its way. How long one
    took, and whether it is out of turn, is told only of contents that are not sent twice: of two alike, one
    lost, nobody knows which has arrived. Times are monotonic ns.
    """

    def __init__(self) -> None:
        self.received_bytes = 0
        self.arrived = 0
        self.doubled = 0
        self.changed = 0
        self.reordered = 0
        self.transit_ns = 0
        self.transits = 0
        self._given_up = 0
        self._number = 0
        self._latest = 0
        self._on_their_way: OrderedDict[int, tuple[int, int, bool]] = OrderedDict()  # content, sent ns, new
        self._numbers: dict[int, deque[int]] = {}
        self._known: OrderedDict[int, None] = OrderedDict()

    def sent(self, content: int, now_ns: int) -> None:
        """It has left its sender."""
        self._number += 1
        if alike := self._numbers.get(content):
            self._on_their_way[alike[-1]] = (*self._on_their_way[alike[-1]][:2], False)
        self._on_their_way[self._number] = (content, now_ns, content not in self._known)
        self._numbers.setdefault(content, deque()).append(self._number)
        self._known[content] = None
        self._known.move_to_end(content)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        if len(self._on_their_way) > _REMEMBERED:
            self._given_up += 1
            self._forget(next(iter(self._on_their_way)))

    def came(self, content: int, size: int, now_ns: int) -> None:
        """It is at its receiver."""
        self.arrived += 1
        self.received_bytes += size
        if content not in self._numbers:
            self.doubled += content in self._known
            self.changed += content not in self._known
            return
        number = self._numbers[content][0]
        _, sent_ns, new = self._on_their_way[number]
        if new:
            self.transit_ns += now_ns - sent_ns
            self.transits += 1
            self.reordered += number < self._latest
            self._latest = max(self._latest, number)
        self._forget(number)

    def came_past(self, size: int) -> None:
        """One has arrived from the same node that took another way."""
        self.arrived += 1
        self.received_bytes += size

    def missing(self, now_ns: int) -> int:
        """How many were sent a tenth of a second ago or earlier and have not arrived."""
        late = 0
        for _, sent_ns, _ in self._on_their_way.values():
            if now_ns - sent_ns < _MISSING_AFTER_NS:
                break
            late += 1
        return self._given_up + late

    def _forget(self, number: int) -> None:
        content, _, _ = self._on_their_way.pop(number)
        numbers = self._numbers[content]
        numbers.remove(number)
        if not numbers:
            del self._numbers[content]
