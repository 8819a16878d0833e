"""Faults of the netns plane: real packets between network namespaces, one for each node."""

from __future__ import annotations

from functools import partial

from refute.plan.fault_entries.proxy import LINKS
from refute.plan.fault_entry import FaultEntry, Parameter

_entry = partial(
    FaultEntry,
    plane="netns",
    targets="links",
    needs="Linux with user namespaces, or root; ip and nft; nodes that listen on the host they are given",
    probe="a network of two is built, the fault put on, a packet sent through it and its counter read",
    cleanup="exactly our own rule, queue or link is taken off; with their holder all namespaces go",
)
_WITHIN = "all nodes share one machine, one kernel and one clock"
_CLIENTS = "clients come in through a forwarder, which accepts their connections also where their way is cut"
_LARGE = "a packet may be as large as 64 kB, as no card has cut it up"
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
        victim="packets that the receiver lets through stop; retransmissions of the sender",
        infidelities=(_WITHIN, _CLIENTS),
    ),
    _entry(
        kind="reject",
        does="packets of a directed link are answered with a RST or an ICMP error",
        is_not="a partition: both sides learn at once that the way is closed",
        tests=_BROKEN,
        cannot_test=("performance",),
        parameters=LINKS,
        injector="packets counted by our own rule",
        victim="packets that the receiver lets through stop; connections refused or reset at the sender",
        infidelities=(_WITHIN, _CLIENTS),
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
        infidelities=(_WITHIN, _CLIENTS),
    ),
    _entry(
        kind="link-down",
        targets="nodes",
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
        injector="packets that had to wait, counted by the queue of this link",
        victim="bytes per second at the receiver beyond the limit stop; a link that carried less is idle",
        infidelities=(_WITHIN, _LARGE),
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
        injector="packets counted on their way into the queue",
        victim="round trip as the sender's TCP measures it, longer by half of the delay at least",
        infidelities=(
            _WITHIN,
            "without netem a queue in user space does it, which is limited in packets per second",
            "with jitter packets overtake each other",
        ),
    ),
    _entry(
        kind="loss",
        does="a share of the packets of a link is dropped at random",
        is_not="lost messages: TCP sends them again",
        tests=("liveness", "performance", "fairness", "ordering"),
        cannot_test=("durability",),
        parameters=(*LINKS, Parameter("share", "share", "of the packets", 0.1)),
        injector="packets counted by our own rule",
        victim="retransmissions of the sender, of all its links together",
        infidelities=(_WITHIN, _LARGE),
    ),
    _entry(
        kind="dns",
        targets="nodes",
        needs="as the plane, and dnslib (pip install 'refute[dns]'); nodes that reach each other by name",
        does="names are answered wrongly or not at all for a node",
        is_not="a partition: addresses that are known already go on working",
        tests=("liveness", "safety", "operational"),
        cannot_test=("durability", "performance"),
        parameters=(
            Parameter("answer", "choice", "what is answered", "nothing", ("nothing", "failure", "stale")),
        ),
        injector="questions answered by our own server",
        victim="no connection opened any more; with stale answers, connections refused",
        infidelities=(
            "only for nodes that ask the system's resolver, over UDP",
            "the name server knows the nodes and nothing else",
        ),
    ),
)
