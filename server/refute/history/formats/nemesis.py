"""What a Jepsen nemesis did, as faults with a beginning and an end.

A nemesis logs what it does as events like those of clients: `info` when it sets out, and `info` again when
it has done it, with what it did as the value. Nothing but the names says what ends what.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from refute.history.fault import FaultEvent, FaultPhase
from refute.history.formats import edn

PLANE = "jepsen"
# By its first word, what an event ends: faults whose names begin like this, where the rest of the names
# agrees or one has no rest (`stop` ends `start-partition`, `stop-clock` does not).
_ENDS: dict[str, tuple[str, ...]] = {
    "stop": ("start",),
    "start": ("kill", "crash", "stop"),
    "restart": ("kill", "crash", "stop"),
    "heal": ("partition", "start-partition", "split", "isolate", "drop"),
    "recover": ("partition", "start-partition", "split", "isolate", "drop", "kill", "crash"),
    "resume": ("pause",),
    "continue": ("pause",),
    "cont": ("pause",),
    "reset": ("bump", "strobe", "skew"),
}
_ONLY_ENDS = frozenset(_ENDS) - {"start", "restart"}
# Over once done: no later event has to put them right.
_AT_ONCE = frozenset(
    ("restart", "bump", "strobe", "join", "leave", "grow", "shrink", "add", "remove", "truncate", "corrupt",
     "bitflip", "check")
)  # fmt: skip
_VALUE_LIMIT = 200  # characters of what a nemesis said of a fault


@dataclass(slots=True)
class Nemesis:
    """Takes the events of a nemesis in the order of the record; `events` are the faults in order of time."""

    events: list[FaultEvent] = field(default_factory=list)
    count: int = 0
    _begun: set[str] = field(default_factory=set)
    _on: dict[str, str] = field(default_factory=dict)  # the fault that an event's name began
    _seen: set[str] = field(default_factory=set)

    def add(self, name: Any, value: Any, time_ns: int) -> None:
        """One event: the second of a name completes the first, and so on in pairs."""
        self.count += 1
        what = name if isinstance(name, str) else edn.dumps(name)
        first = what not in self._begun
        (self._begun.add if first else self._begun.discard)(what)
        ended = list(self._ended_by(what))
        if ended:
            for other in () if first else ended:
                self._note(self._on.pop(other), FaultPhase.HEALED, other, value, time_ns)
        elif first:
            if what not in self._on and not self._puts_right(what):
                self._on[what] = f"n{sum(e.phase is FaultPhase.APPLIED for e in self.events) + 1}"
                self._note(self._on[what], FaultPhase.APPLIED, what, value, time_ns)
        elif what in self._on:
            self._learn(self._on[what], value)
            if _verb(what) in _AT_ONCE:
                self._note(self._on.pop(what), FaultPhase.HEALED, what, value, time_ns)
        self._seen.add(_verb(what))

    def _ended_by(self, what: str) -> Iterator[str]:
        rest = what.partition("-")[2]
        for other in self._on:
            for opening in _ENDS.get(_verb(what), ()):
                left = other.removeprefix(opening).lstrip("-")
                if other.startswith(opening) and (not rest or not left or rest == left):
                    yield other
                    break

    def _puts_right(self, what: str) -> bool:
        """Whether an event that ends nothing is only there to make sure, as at the end of a run."""
        verb = _verb(what)
        return verb in _ONLY_ENDS or (verb == "start" and bool(self._seen & {"kill", "crash"}))

    def _learn(self, fault: str, value: Any) -> None:
        """The completion says at whom it was, where the beginning did not."""
        for place, event in enumerate(self.events):
            if event.fault == fault and (nodes := _nodes(value)):
                self.events[place] = replace(event, targets=nodes, detail=_told(value))

    def _note(self, fault: str, phase: FaultPhase, what: str, value: Any, time_ns: int) -> None:
        targets, detail = _nodes(value), _told(value)
        for event in self.events:
            if event.fault == fault:
                targets, detail = event.targets, dict(event.detail)
        kind = what.removeprefix("start-")
        self.events.append(
            FaultEvent(fault, phase, time_ns, PLANE, kind, targets, len(self.events) + 1, detail=detail)
        )


def _verb(what: str) -> str:
    return what.partition("-")[0]


def _told(value: Any) -> dict[str, str]:
    return {} if value is None else {"value": edn.dumps(value)[:_VALUE_LIMIT]}


def _nodes(value: Any) -> tuple[str, ...]:
    """The names of nodes in a value: the keys of maps, and strings in lists; () where it has none."""

    def walk(part: Any) -> Iterator[str]:
        if isinstance(part, dict):
            yield from (key for key in part if isinstance(key, str))
        elif isinstance(part, (list, tuple, set, frozenset)):
            for item in part:
                yield from (item,) if isinstance(item, str) else walk(item)

    return tuple(dict.fromkeys(walk(value)))
