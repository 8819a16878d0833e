"""One directed link: its faults and its counters."""

from __future__ import annotations

from refute.nemesis.proxy.effect import Effect, Rule
from refute.nemesis.proxy.relay import Counts

COUNTERS = (
    "received_bytes",  # read from the sender
    "delivered_bytes",  # accepted by the receiver's socket
    "held_bytes",  # arrived while the link was cut
    "dropped_bytes",  # held, and lost with their connection
    "swallowed_bytes",  # sent into a half-open connection
    "delayed_bytes",
    "limited_bytes",  # had to wait for bandwidth
    "corrupted_bytes",
    "truncated_connections",
    "reset_connections",
    "half_open_connections",
    "late_closes",
    "refused_connections",
    "held_connections",  # opened while the link was cut
    "connections",  # carried on to the receiver
    "unreachable",  # the receiver did not accept
    "datagrams",  # read from the sender
    "delivered_datagrams",
    "lost_datagrams",
    "duplicated_datagrams",
    "reordered_datagrams",  # delivered after one that was sent later
    "transit_ns",
    "transits",
)


class Link:
    """The bytes that one node sends to another, over whichever connection."""

    __slots__ = (
        *("acked_by_closed", "asked_by_closed", "caller", "callee", "effect", "relayed", "rules"),
        *COUNTERS,
    )

    def __init__(self, caller: str, callee: str) -> None:
        self.caller = caller
        self.callee = callee
        self.rules: dict[str, Rule] = {}
        self.effect: Effect | None = None
        self.relayed = Counts(clear=1)  # by the relay, beside what is counted here
        self.acked_by_closed = 0
        self.asked_by_closed = 0  # of these, on connections that the caller has opened
        for name in COUNTERS:
            setattr(self, name, 0)

    received_bytes: int
    delivered_bytes: int
    held_bytes: int
    dropped_bytes: int
    swallowed_bytes: int
    delayed_bytes: int
    limited_bytes: int
    corrupted_bytes: int
    truncated_connections: int
    reset_connections: int
    half_open_connections: int
    late_closes: int
    refused_connections: int
    held_connections: int
    connections: int
    unreachable: int
    datagrams: int
    delivered_datagrams: int
    lost_datagrams: int
    duplicated_datagrams: int
    reordered_datagrams: int
    transit_ns: int
    transits: int

    @property
    def name(self) -> str:
        """`n1->n2`."""
        return f"{self.caller}->{self.callee}"

    @property
    def cut(self) -> bool:
        """Whether nothing passes."""
        return self.effect is not None and self.effect.cut

    def put(self, rule: Rule) -> None:
        """Add a fault."""
        self.rules[rule.fault] = rule
        self._combine()

    def lift(self, fault: str) -> Rule | None:
        """Take a fault away; the one that it was."""
        rule = self.rules.pop(fault, None)
        self._combine()
        return rule

    def counters(self) -> dict[str, int]:
        """All counters by name."""
        return {name: getattr(self, name) + getattr(self.relayed, name, 0) for name in COUNTERS}

    def _combine(self) -> None:
        self.effect = Effect(self.rules.values()) if self.rules else None
        self.relayed.clear = self.effect is None
