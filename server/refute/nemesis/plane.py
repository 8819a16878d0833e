"""What a fault plane is: the five verbs behind which every mechanism stands, and the handle of one fault."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, ClassVar, Protocol

from refute.history.fault import Reading, Signal
from refute.nemesis.client.rules import ClientRules
from refute.nemesis.ledger import Ledger
from refute.nemesis.undo import Undo
from refute.system.cluster import Cluster
from refute.system.placement import Placement

Snapshot = Mapping[str, Reading]
"""Raw readings by name, all taken at one moment: counters (`n1->n2.held_bytes`), states (`n1.exit`)."""


@dataclass(frozen=True, slots=True)
class Probe:
    """Whether a mechanism works on this machine, found out by doing; `reason` where it does not."""

    works: bool
    reason: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Site:
    """Where faults are injected: cluster, the run's directory, its ledger, what marks its processes.

    `wanted` are the faults (plane, kind) that the run may ask for: a plane that has to change how nodes are
    started does so only for these. `clients` is what the clients of the run look at before they send.
    `file_system` names the one on which the nodes' data have to be, None where any will do; `calls_through`
    what makes their calls fail (`strace`, `preload`), None for what works.
    """

    cluster: Cluster
    run_dir: Path
    ledger: Ledger
    rng: Random
    environment: Mapping[str, str]
    wanted: frozenset[tuple[str, str]] = frozenset()
    clients: ClientRules | None = None
    file_system: str | None = None
    calls_through: str | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """One injection, resolved: `nodes` are those that it is aimed at, `parameters` as in the catalog."""

    id: str
    plane: str
    kind: str
    nodes: tuple[str, ...]
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Timed:
    """A snapshot with its monotonic time."""

    time_ns: int
    values: Snapshot


@dataclass(frozen=True, slots=True)
class Readings:
    """What was read around one fault, oldest first.

    The baseline ends with `before`; the fault was on from `start` on, settled (nothing of before still in
    flight) at `settled`, and was last read at `during`. It was gone at `healed`, and `after` is up to a
    second later: what goes over a link again takes its time.
    """

    baseline: tuple[Timed, ...]
    before: Timed | None
    start: Timed | None
    settled: Timed | None
    during: Timed | None
    after: Timed | None
    healed: Timed | None = None


class Plane(Protocol):
    """One family of mechanisms. All calls are made by one nemesis, never two at a time."""

    name: ClassVar[str]
    kinds: ClassVar[frozenset[str]]

    def __init__(self, site: Site) -> None: ...

    @staticmethod
    def probe(kind: str) -> Probe:
        """Whether this kind works here, tried out on something of its own, never on the cluster."""
        ...

    def prepare(self) -> Placement:
        """Set up what has to be there before the nodes start; what it changes about how they are started."""
        ...

    def targets(self, fault: Fault) -> tuple[str, ...]:
        """The nodes or directed links (`n1->n2`) that this fault hits. Raises FaultInputError."""
        ...

    def undos(self, fault: Fault) -> tuple[Undo, ...]:
        """How to undo it, with exact handles: written to the ledger before `apply`."""
        ...

    def apply(self, fault: Fault, take: Callable[[str], None]) -> Mapping[str, Any]:
        """Inject it; what is worth recording.

        Where a fault is over before it is healed, `take` is called while it is on: with the prefix of the
        readings that are to be kept as those of that moment.
        """
        ...

    def measure(self) -> Snapshot:
        """All readings of this plane now: the raw material of evidence. Cheap: called all the time."""
        ...

    def signals(self, fault: Fault, readings: Readings) -> tuple[Signal, ...]:
        """The evidence at the injector and at the victims; computed from the readings alone.

        Each signal names its `target`, so that each target is judged by its own: see `Landing`. Where a
        target may have had nothing to lose, a signal of side `traffic` says how much went over it.
        """
        ...

    def is_over(self, fault: Fault) -> bool:
        """Whether it has ended by itself, as a restart has once the node is up again."""
        ...

    def heal(self, fault: Fault, version: str | None) -> None:
        """Undo it; may be called again. `version` is for nodes that are started by it."""
        ...

    def verify_healed(self, fault: Fault) -> str | None:
        """What of it is still on, in words; None where nothing is."""
        ...

    def close(self) -> None:
        """Release what `prepare` has set up; nothing of the plane is left."""
        ...


def around(readings: Readings, name: str) -> tuple[Reading, Reading, Reading]:
    """A value as it was read before, during and after a fault; None where it was not read."""
    moments = (readings.before, readings.during, readings.after)
    before, during, after = (moment.values.get(name) if moment else None for moment in moments)
    return before, during, after


def counter(at: Timed | None, name: str) -> float | None:
    """A number of a snapshot; None where it was not read."""
    value = at.values.get(name) if at else None
    return None if value is None or isinstance(value, str) else float(value)


def rate_before(readings: Readings, name: str) -> float | None:
    """Growth per second of a counter in the baseline, as far back as it is the same counter."""
    return rate(oldest_of(readings, name), readings.before, name)


def cpu_time_stops(node: str, counted: str, readings: Readings) -> Signal:
    """Whether the processes that serve a node's ports have stood still; `counted` names their CPU time."""
    return Signal(
        "victim",
        f"{node}: CPU time per second",
        "scheduler's counters of the processes that serve its ports, ns/s",
        "stops",
        rate_before(readings, counted),
        rate(readings.settled or readings.start, readings.during, counted),
        rate(readings.during, readings.after, counted),
        target=node,
    )


def oldest_of(readings: Readings, name: str) -> Timed | None:
    """The oldest sample of the baseline from which on a counter was read and never went back."""
    oldest, later = None, counter(readings.before, name)
    for sample in reversed(readings.baseline):
        value = counter(sample, name)
        if value is None or later is None or value > later:
            break
        oldest, later = sample, value
    return oldest


def rate(begin: Timed | None, end: Timed | None, name: str, *, shortest_s: float = 0.02) -> float | None:
    """Growth per second of a counter between two snapshots.

    None where it was not read twice, went back (somebody else's counter), or over too short a time to tell.
    """
    first, last = counter(begin, name), counter(end, name)
    if begin is None or end is None or first is None or last is None or last < first:
        return None
    seconds = (end.time_ns - begin.time_ns) / 1e9
    return round((last - first) / seconds, 3) if seconds >= shortest_s else None
