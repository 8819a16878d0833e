"""What a fault asks of the proxy host, from the parameters that a person wrote."""

from __future__ import annotations

from typing import Any

from refute.nemesis.errors import FaultInputError
from refute.nemesis.plane import Fault
from refute.plan.units import byte_count, bytes_per_second, seconds

_OF_STREAMS = frozenset({"throttle", "bandwidth", "reset", "half-open", "truncate", "slow-close"})
_OF_DATAGRAMS = frozenset({"loss", "duplicate", "reorder"})


def require_transport(kind: str, transport: str) -> None:
    """Raise FaultInputError for a kind that the links of the system cannot have."""
    if kind in _OF_STREAMS and transport == "udp":
        raise FaultInputError(f"proxy {kind} is for streams; the links of this system carry datagrams")
    if kind in _OF_DATAGRAMS and transport == "tcp":
        raise FaultInputError(
            f"proxy {kind} is for datagrams: in a TCP stream nothing is lost, doubled or out of turn",
            hint="say links: {transport: udp} where the port carries datagrams",
        )


def rule_of(fault: Fault) -> dict[str, Any]:
    """The rule as it goes over the control socket. Raises FaultInputError for a parameter in error."""
    given = fault.parameters
    rule: dict[str, Any] = {"kind": fault.kind, "seed": sum(fault.id.encode())}
    try:
        if fault.kind == "partition":
            rule["drop_on_heal"] = given.get("in_flight", "deliver") == "drop"
            rule["refuse"] = given.get("new_connections", "hold") == "refuse"
            rule["hold_datagrams"] = given.get("in_flight") == "deliver"
        elif fault.kind == "delay":
            rule |= {
                "delay_s": seconds(given.get("by", "100ms")),
                "jitter_s": seconds(given.get("jitter", 0)),
            }
            rule["distribution"] = given.get("distribution", "uniform")
        elif fault.kind in ("throttle", "bandwidth"):
            rule["rate"] = bytes_per_second(given.get("rate", "10kB/s"))
        elif fault.kind == "corrupt":
            rule["probability"] = float(given.get("probability", 0.1))
        elif fault.kind in _OF_DATAGRAMS:
            rule["probability"] = float(given.get("share", 0.1))
        elif fault.kind == "truncate":
            rule["after_bytes"] = byte_count(given.get("after", "0B"))
        elif fault.kind == "slow-close":
            rule["delay_s"] = seconds(given.get("by", "1s"))
    except ValueError as error:
        raise FaultInputError(f"{fault.plane} {fault.kind}: {error}") from error
    return rule
