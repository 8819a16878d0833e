"""Faults done by queues of the kernel at the switch's port to the receiver: a rate, and delay where netem is.

A port gets one classful root of ours for as long as one of its links is shaped; packets of other links pass
it unchanged. Everything is named by an exact handle, and only that is removed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from refute.nemesis.errors import NemesisError
from refute.nemesis.netns.command import run
from refute.nemesis.netns.ground import Ground
from refute.nemesis.netns.layout import BRIDGE

_ROOT = "5a1:"
_LEAVES_FROM = 0x6000
_NO_LIMIT = "100gbit"
_TRIED = "5a2:"


@cache
def kernel_has_netem() -> bool:
    """Whether packets can be delayed by the kernel, tried out at the switch itself."""
    try:
        run(["tc", "qdisc", "add", "dev", BRIDGE, "root", "handle", _TRIED, "netem", "delay", "1ms"])
    except NemesisError:
        return False
    run(["tc", "qdisc", "del", "dev", BRIDGE, "root", "handle", _TRIED])
    return True


def bucket(rate_bytes: float) -> list[str]:
    """A token bucket that passes so many bytes a second; a packet waits for 200 ms at most."""
    burst = str(burst_bytes(rate_bytes))
    return ["tbf", "rate", f"{round(rate_bytes)}bps", "burst", burst, "latency", "200ms"]


def burst_bytes(rate_bytes: float) -> int:
    """What the bucket holds: room for a packet, or 20 ms of the rate."""
    return max(1600, round(rate_bytes / 50))


def later(delay_s: float, jitter_s: float) -> list[str]:
    """A delay by the kernel."""
    return ["netem", "delay", f"{delay_s * 1e6:.0f}us", f"{jitter_s * 1e6:.0f}us", "limit", "20000"]


@dataclass
class Shaping:
    """Packets of directed links go through a queue of their own; `leaf` are its words for tc."""

    ground: Ground
    fault: str
    links: Sequence[tuple[str, str]]
    leaf: Sequence[str]
    classes: list[tuple[str, str, int]] = field(default_factory=list)

    def put(self) -> None:
        """A class, its queue and the filter that leads there, for each link; read back."""
        for sender, receiver in self.links:
            port, number = self.ground.members[receiver].port, next(self.ground.numbers)
            if not self.ground.shaped.get(port):
                run(["tc", "qdisc", "add", "dev", port, "root", "handle", _ROOT, "htb"])
            self.ground.shaped.setdefault(port, set()).add(number)
            self.classes.append((f"{sender}->{receiver}", port, number))
            within = ["dev", port, "parent", _ROOT]
            unlimited = ["htb", "rate", _NO_LIMIT, "quantum", "60000"]
            run(["tc", "class", "add", *within, "classid", _class(number), *unlimited])
            queue = ["parent", _class(number), "handle", f"{_leaf(number)}", *self.leaf]
            run(["tc", "qdisc", "add", "dev", port, *queue])
            match = ["match", "ip", "src", f"{self.ground.members[sender].address}/32"]
            chosen = ["protocol", "ip", "prio", str(number), "u32", *match, "flowid", _class(number)]
            run(["tc", "filter", "add", *within, *chosen])
        missing = [link for link, port, number in self.classes if _queue(port, number) is None]
        if missing:
            raise NemesisError(f"the queue of {', '.join(missing)} is not in the kernel")

    def take(self) -> None:
        """Its classes with their queues, and the root of a port that is not shaped any more."""
        for _, port, number in self.classes:
            classes = self.ground.shaped.get(port, set())
            if number not in classes:
                continue
            if classes == {number}:
                run(["tc", "qdisc", "del", "dev", port, "root", "handle", _ROOT])
            else:
                within = ["dev", port, "parent", _ROOT]
                run(["tc", "filter", "del", *within, "protocol", "ip", "prio", str(number)])
                run(["tc", "class", "del", "dev", port, "classid", _class(number)])
            classes.discard(number)

    def left(self) -> str | None:
        """The links whose queue is still there."""
        left = [link for link, port, number in self.classes if _queue(port, number) is not None]
        return f"queues of {self.fault} are still at {', '.join(left)}" if left else None

    def readings(self) -> dict[str, int | str]:
        """Of each link what went through its queue, and how often a packet had to wait or was lost."""
        found: dict[str, int | str] = {}
        for link, port, number in self.classes:
            queue = _queue(port, number) or {}
            for name in ("packets", "bytes", "overlimits", "drops"):
                if name in queue:
                    found[f"{link}.{name}"] = queue[name]
        return found


def _class(number: int) -> str:
    return f"{_ROOT}{number:x}"


def _leaf(number: int) -> str:
    return f"{_LEAVES_FROM + number:x}:"


def _queue(port: str, number: int) -> dict[str, Any] | None:
    listed: list[dict[str, Any]] = json.loads(run(["tc", "-j", "-s", "qdisc", "show", "dev", port]))
    return next((each for each in listed if each["handle"] == _leaf(number)), None)
