"""Faults as nft scripts, pure text: a table of its own for each fault in each receiver's namespace.

A rule stands at the receiver, before anything there has seen the packet: to the sender the packet was lost
on its way, and nothing tells it so. (A drop at the sender would fail its system call.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from refute.nemesis.netns.layout import Member

FAMILY = "inet"
_BEFORE_ALL, _AT_THE_DOOR, _INSIDE = -300, -200, 300
_OF_A_MILLION = 1_000_000

CHAIN = "cut"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of packets: where they are caught, and pairs of what is matched and what is done."""

    hook: str
    priority: int
    cases: tuple[tuple[str, str], ...]


def table_of(run: str, fault: str = "") -> str:
    """The name of a run's table of arrivals, or of the table of one fault."""
    return f"refute_{run}_{fault}" if fault else f"refute_{run}"


def counter_of(sender: Member) -> str:
    """The counter of what comes from somebody."""
    return f"from{sender.number}"


def arrivals(run: str, senders: Sequence[Member]) -> str:
    """A table that counts what arrives from whom, behind every other rule, and stops nothing."""
    table = f"{FAMILY} {table_of(run)}"
    lines = [f"create table {table}"]
    lines.append(f"create chain {table} arrived {{ type filter hook input priority {_INSIDE}; }}")
    for sender in senders:
        lines.append(f"create counter {table} {counter_of(sender)}")
        lines.append(f"add rule {table} arrived ip saddr {sender.address} counter name {counter_of(sender)}")
    return "\n".join(lines) + "\n"


def verdict_of(kind: str, given: Mapping[str, float]) -> Verdict:
    """What becomes of the packets of a kind of fault. Raises ValueError for a kind that is no rule."""
    if kind in ("drop", "flapping"):
        return Verdict("prerouting", _BEFORE_ALL, (("", "drop"),))
    if kind == "loss":
        share = round(given["share"] * _OF_A_MILLION)
        some = f"numgen random mod {_OF_A_MILLION} < {share}" if share < _OF_A_MILLION else ""
        return Verdict("prerouting", _BEFORE_ALL, ((some, "drop"),))
    if kind == "reject":
        of_tcp = ("meta l4proto tcp", "reject with tcp reset")
        return Verdict("input", _AT_THE_DOOR, (of_tcp, ("", "reject with icmpx type port-unreachable")))
    raise ValueError(f"{kind} is not done by a rule")


def counted() -> Verdict:
    """Packets are counted, and go on to whoever keeps them."""
    return Verdict("prerouting", _BEFORE_ALL, (("", ""),))


def fault_table(run: str, fault: str, senders: Sequence[Member], verdict: Verdict) -> str:
    """The table of one fault at one receiver, with its counters and a chain that is empty yet."""
    table = f"{FAMILY} {table_of(run, fault)}"
    chain = f"{CHAIN} {{ type filter hook {verdict.hook} priority {verdict.priority}; }}"
    counters = [f"create counter {table} {counter_of(sender)}" for sender in senders]
    return "\n".join([f"create table {table}", f"create chain {table} {chain}", *counters]) + "\n"


def put_rules(run: str, fault: str, senders: Sequence[Member], verdict: Verdict) -> str:
    """Its rules, one for each sender and case, put into the chain."""
    chain = f"{FAMILY} {table_of(run, fault)} {CHAIN}"
    return "".join(
        f"add rule {chain} ip saddr {sender.address} {match} counter name {counter_of(sender)} {done}\n"
        for sender in senders
        for match, done in verdict.cases
    )


def take_rules(run: str, fault: str) -> str:
    """Empty the fault's own chain; its counters go on from where they are."""
    return f"flush chain {FAMILY} {table_of(run, fault)} {CHAIN}\n"


def remove_table(run: str, fault: str) -> str:
    """Take the fault's own table away, and nothing else."""
    return f"delete table {FAMILY} {table_of(run, fault)}\n"
