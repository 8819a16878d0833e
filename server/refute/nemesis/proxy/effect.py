"""What the faults on a directed link do to the bytes that pass it, all of them taken together."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

NS = 1_000_000_000
_BURST_S = 0.01
_TURN_NS = 1_000_000
_SMALLEST_BURST_BYTES = 64


@dataclass(frozen=True, slots=True)
class Rule:
    """One fault as the proxy knows it; times in seconds, rates in bytes per second.

    `kind` is the catalog's. `drop_on_heal` closes the connections that held bytes; `refuse` resets new
    connections instead of holding them; `hold_datagrams` keeps those of a cut link for the heal, where they
    are lost otherwise.
    """

    fault: str
    kind: str
    drop_on_heal: bool = False
    refuse: bool = False
    hold_datagrams: bool = False
    delay_s: float = 0.0
    jitter_s: float = 0.0
    distribution: str = "uniform"
    rate: float = 0.0
    probability: float = 0.0
    after_bytes: int = 0
    seed: int = 0

    @classmethod
    def from_json(cls, fault: str, written: Mapping[str, Any]) -> Rule:
        """A rule as it comes over the control socket."""
        return cls(fault=fault, **written)


class Effect:
    """The rules of one link in force together: any cut cuts, delays add up, the lowest rate counts."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        rules = list(rules)
        self.cut = any(rule.kind == "partition" for rule in rules)
        self.refuse = any(rule.refuse for rule in rules)
        self.hold_datagrams = all(rule.hold_datagrams for rule in rules if rule.kind == "partition")
        self._loss, self._doubling, self._overtaking = (
            max((rule.probability for rule in rules if rule.kind == kind), default=0.0)
            for kind in ("loss", "duplicate", "reorder")
        )
        self._delays = [rule for rule in rules if rule.kind == "delay"]
        self.delays = bool(self._delays)
        self.slow_close_s = max((rule.delay_s for rule in rules if rule.kind == "slow-close"), default=0.0)
        link_rates = [rule.rate for rule in rules if rule.kind == "bandwidth"]
        self.link_bucket = Bucket(min(link_rates)) if link_rates else None
        flow_rates = [rule.rate for rule in rules if rule.kind == "throttle"]
        self.flow_rate = min(flow_rates) if flow_rates else 0.0
        self.corruption = max((rule.probability for rule in rules if rule.kind == "corrupt"), default=0.0)
        limits = [rule.after_bytes for rule in rules if rule.kind == "truncate"]
        self.truncate_after = min(limits) if limits else None
        self._random = random.Random(rules[0].seed if rules else 0)

    def delay_ns(self) -> int:
        """How long the next bytes are kept."""
        return int(sum(self._sample(rule) for rule in self._delays) * NS)

    def corrupted(self, data: bytes) -> tuple[bytes, int]:
        """The bytes with one bit of one of them flipped, now and then; and how many were changed."""
        if self._random.random() >= self.corruption:
            return data, 0
        changed = bytearray(data)
        changed[self._random.randrange(len(changed))] ^= 1 << self._random.randrange(8)
        return bytes(changed), 1

    def is_lost(self) -> bool:
        """Whether the next datagram is."""
        return self._random.random() < self._loss

    def is_doubled(self) -> bool:
        """Whether the next datagram is delivered twice."""
        return self._random.random() < self._doubling

    def is_overtaken(self) -> bool:
        """Whether the next datagram has to wait for the one after it."""
        return self._random.random() < self._overtaking

    def _sample(self, rule: Rule) -> float:
        if rule.distribution == "normal":
            return max(0.0, self._random.gauss(rule.delay_s, rule.jitter_s))
        if rule.distribution == "pareto":
            # A long tail with the asked-for mean of the jitter (shape 3: mean 1/2 of the scale).
            return rule.delay_s + rule.jitter_s * 2 * (self._random.paretovariate(3.0) - 1)
        return max(0.0, rule.delay_s + self._random.uniform(-rule.jitter_s, rule.jitter_s))


class Bucket:
    """Lets bytes pass at a rate, in bursts of a hundredth of a second, to those who share it in turn."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._free_ns = 0
        self._served: object = None
        self._others_wait = False

    def allow(self, who: object, wanted: int, now_ns: int) -> tuple[int, int]:
        """How many bytes may pass now; where none may, when to ask again (ns)."""
        if self._free_ns > now_ns:
            self._others_wait |= who is not self._served
            return 0, self._free_ns
        if self._others_wait and who is self._served:
            self._others_wait = False
            return 0, now_ns + _TURN_NS
        return min(wanted, max(_SMALLEST_BURST_BYTES, int(self.rate * _BURST_S))), 0

    def spend(self, who: object, passed: int, now_ns: int) -> None:
        """So many bytes have passed."""
        self._served, self._others_wait = who, False
        self._free_ns = max(self._free_ns, now_ns) + int(passed / self.rate * NS)
