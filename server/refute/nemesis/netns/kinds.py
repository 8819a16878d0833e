"""Which effect a kind of fault is on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from refute.nemesis.netns.effects import Flapping, LinkDown, Rules
from refute.nemesis.netns.ground import Effect, Ground
from refute.nemesis.netns.names import WrongNames
from refute.nemesis.netns.queueing import Queueing
from refute.nemesis.netns.rules import verdict_of
from refute.nemesis.netns.shaping import Shaping, bucket, kernel_has_netem, later


def effect_of(ground: Ground, fault: str, kind: str, asked: Mapping[str, Any]) -> Effect:
    """The effect of one request. Raises ValueError, KeyError for a kind or parameter in error."""
    given = asked["parameters"]
    links = [(sender, receiver) for sender, receiver in asked["links"]]
    match kind:
        case "link-down":
            return LinkDown(ground, asked["nodes"])
        case "dns":
            if ground.names is None:
                raise ValueError("the nodes were not started with our names")
            return WrongNames(ground.names, fault, asked["nodes"], given["answer"])
        case "rate":
            return Shaping(ground, fault, links, bucket(given["rate_bytes"]))
        case "delay" if kernel_has_netem():
            return Shaping(ground, fault, links, later(given["delay_s"], given["jitter_s"]))
        case "delay":
            return Queueing(ground, fault, links, delay_s=given["delay_s"], jitter_s=given["jitter_s"])
        case "flapping":
            verdict = verdict_of(kind, given)
            return Flapping(ground, fault, links, verdict, given["down_s"], given["up_s"])
        case _:
            return Rules(ground, fault, links, verdict_of(kind, given))
