"""Faults of the netns plane: real packets between network namespaces, one for each node."""

from __future__ import annotations

from functools import partial

from refute.plan.fault_entries.proxy import LINKS
from refute.plan.fault_entry import FaultEntry, Parameter

_entry = partial(
    FaultEntry,
    plane="netns",
    targets="links",
    needs="Linux with user namespaces, or root; nft",
    probe="two namespaces are made, a packet is sent through a rule, and its counter is read",
    cleanup="exactly our own rules, links and namespaces are removed",
)
_WITHIN = "all nodes share one machine, one kernel and one clock"
_BROKEN = (
    "safety",
    "liveness",
    "durability",
    "ordering",
    "idempotency",
    "isolation",
    "membership",
    "operational",
)

ENTRIES = (
    _entry(
        kind="drop",
        does="packets of a directed link are dropped in silence",
        is_not="a closed connection: nobody is told, and TCP retransmits with growing pauses",
        tests=_BROKEN,
        cannot_test=("performance",),
        parameters=LINKS,
        injector="packets counted by our own rule",
        victim="retransmissions of the sender, bytes received by the receiver stop",
        infidelities=(_WITHIN,),
    ),
    _entry(
        kind="reject",
        does="packets of a directed link are answered with a RST or an ICMP error",
        is_not="a partition: both sides learn at once that the way is closed",
        tests=_BROKEN,
        cannot_test=("performance",),
        parameters=LINKS,
        injector="packets counted by our own rule",
        victim="connections refused or reset",
        infidelities=(_WITHIN,),
    ),
    _entry(
        kind="flapping",
        does="a link is cut and healed again and again",
        is_not="random loss",
        tests=_BROKEN,
        cannot_test=("performance",),
        parameters=(
            *LINKS,
            Parameter("down", "duration", "how long it is cut", "200ms"),
            Parameter("up", "duration", "how long it works", "200ms"),
        ),
        injector="packets counted by our own rule, number of changes",
        victim="retransmissions",
        infidelities=(_WITHIN,),
    ),
    _entry(
        kind="link-down",
        does="the node's interface goes down, for peers and clients alike",
        is_not="a partition between nodes only",
        tests=_BROKEN,
        cannot_test=("performance",),
        parameters=(),
        injector="state of the interface",
        victim="its counters of received packets stop",
        infidelities=(_WITHIN, "the node may notice that its interface is down"),
    ),
    _entry(
        kind="rate",
        does="a link passes at most so many bytes a second, by a token bucket of the kernel",
        is_not="delay by distance",
        tests=("liveness", "performance", "fairness"),
        cannot_test=("durability",),
        parameters=(*LINKS, Parameter("rate", "bandwidth", "of the link", "100kB/s")),
        injector="bytes and overruns counted by the queue",
        victim="bytes per second at the receiver",
        infidelities=(_WITHIN,),
    ),
    _entry(
        kind="delay",
        does="packets of a link are kept for a time of their own, by netem or a queue in user space",
        is_not="a slow node",
        tests=("safety", "liveness", "performance", "ordering", "fairness"),
        cannot_test=("durability",),
        parameters=(
            *LINKS,
            Parameter("by", "duration", "the mean", "100ms"),
            Parameter("jitter", "duration", "half of the spread", 0),
        ),
        injector="packets counted by the queue",
        victim="round trip time",
        infidelities=(_WITHIN, "a queue in user space is limited in packets per second"),
    ),
    _entry(
        kind="loss",
        does="a share of the packets of a link is dropped at random",
        is_not="lost messages: TCP sends them again",
        tests=("liveness", "performance", "fairness", "ordering"),
        cannot_test=("durability",),
        parameters=(*LINKS, Parameter("share", "share", "of the packets", 0.1)),
        injector="packets counted by our own rule",
        victim="retransmissions of the sender",
        infidelities=(_WITHIN,),
    ),
    _entry(
        kind="dns",
        does="names are answered wrongly, late or not at all for a node",
        is_not="a partition: addresses that are known already go on working",
        tests=("liveness", "safety", "operational"),
        cannot_test=("durability", "performance"),
        parameters=(
            Parameter("answer", "choice", "what is answered", "nothing", ("nothing", "failure", "stale")),
        ),
        injector="questions answered by our own server",
        victim="the node's attempts to connect",
        infidelities=("only for nodes that ask the system's resolver",),
    ),
)
