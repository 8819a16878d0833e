"""Faults of the proxy plane: directed links between nodes, through proxies, without any privilege."""

from __future__ import annotations

from functools import partial

from refute.plan.fault_entry import FaultEntry, Parameter

LINKS = (
    Parameter(
        "shape",
        "choice",
        "which links: around the targets, a random minority, a ring in which every node hears another "
        "majority, two halves with one node between them, or as written in groups or links",
        "isolate",
        ("isolate", "majority-minority", "ring", "bridge", "groups", "links"),
    ),
    Parameter("direction", "choice", "as seen from the targets", "both", ("both", "in", "out")),
    Parameter("groups", "list", "sides that do not reach each other: [[n1], [n2, n3]]"),
    Parameter("links", "list", "directed links: n1->n2, n1<->n2"),
    Parameter("clients", "flag", "hit the way of the clients too, where it is on the plane", False),
)
_NEEDS = "links in the system's description, so that nodes are given the proxies' addresses"
_entry = partial(
    FaultEntry,
    plane="proxy",
    targets="links",
    needs=_NEEDS,
    probe="a proxy host is started, asked and told to leave",
    cleanup="lifted over the proxy host's control socket; it forgets the rule, and its connections go on",
)
_ACCEPTS = "connect() still succeeds, since the proxy accepts: a dropped packet would leave it waiting"
_STREAM = "whole TCP streams: no lost or reordered packet, no retransmission, no back-off"

_MOST = (
    *("safety", "liveness", "durability", "ordering"),
    *("idempotency", "isolation", "membership", "operational"),
)

ENTRIES = (
    _entry(
        kind="partition",
        does="bytes that enter a cut link are held in the proxy; on heal they are delivered late, or lost "
        "together with their connection, by choice; datagrams are lost at once unless in_flight is written "
        "as deliver",
        is_not="packet loss: no timer of TCP fires, so that recovery after heal is faster than in reality",
        tests=_MOST,
        cannot_test=("performance",),
        parameters=(
            *LINKS,
            Parameter("in_flight", "choice", "what becomes of held bytes", "deliver", ("deliver", "drop")),
            Parameter(
                "new_connections",
                "choice",
                "what becomes of connections that are opened meanwhile: held in silence, or reset",
                "hold",
                ("hold", "refuse"),
            ),
        ),
        injector="bytes held on each directed link",
        victim="bytes per second that the receiver's own sockets take from the sender, past the proxy too, "
        "fall to zero",
        infidelities=(
            _ACCEPTS,
            _STREAM,
            "a healed link is back at once, without TCP's retransmission back-off",
        ),
    ),
    _entry(
        kind="delay",
        does="every piece of bytes on the link is kept for a time of its own, in order; a datagram overtakes "
        "another whose time is longer",
        is_not="a slow node: the node itself answers as fast as ever",
        tests=("safety", "liveness", "performance", "ordering", "fairness", "idempotency"),
        cannot_test=("durability",),
        parameters=(
            *LINKS,
            Parameter("by", "duration", "the mean", "100ms"),
            Parameter("jitter", "duration", "half of the spread, or the deviation", 0),
            Parameter("distribution", "choice", "of the jitter", "uniform", ("uniform", "normal", "pareto")),
        ),
        injector="bytes kept back on the link",
        victim="how long bytes are sent by one node and not yet received by the other, at their own sockets, "
        "reaches half of what was asked",
        infidelities=("opening a connection is not delayed", "no reordering between connections' packets"),
    ),
    _entry(
        kind="throttle",
        does="each connection on the link passes at most so many bytes a second",
        is_not="congestion: nothing is lost, the sender sees its buffer fill",
        tests=("liveness", "performance", "fairness", "ordering"),
        cannot_test=("durability", "isolation"),
        parameters=(*LINKS, Parameter("rate", "bandwidth", "of each connection", "10kB/s")),
        injector="bytes that had to wait for the limit",
        victim="how long bytes are sent by one node and not yet received by the other doubles at least",
        infidelities=("buffers of the proxy come on top of those of the kernels",),
    ),
    _entry(
        kind="bandwidth",
        does="all connections of the link together pass at most so many bytes a second",
        is_not="a limit for the node: each directed link has its own",
        tests=("liveness", "performance", "fairness", "ordering"),
        cannot_test=("durability", "isolation"),
        parameters=(*LINKS, Parameter("rate", "bandwidth", "of the whole link", "10kB/s")),
        injector="bytes that had to wait for the limit",
        victim="how long bytes are sent by one node and not yet received by the other doubles at least",
        infidelities=("buffers of the proxy come on top of those of the kernels",),
    ),
    _entry(
        kind="reset",
        does="every connection that uses the link now is ended with a RST to both sides; new ones are free",
        is_not="a partition: a node that connects again is back at once",
        tests=("safety", "liveness", "idempotency", "durability", "ordering"),
        cannot_test=("performance",),
        parameters=LINKS,
        injector="connections reset",
        victim="connections opened anew, or fewer open ones, among the receiver's own sockets",
        infidelities=("both sides learn it at the same moment",),
    ),
    _entry(
        kind="half-open",
        does="the receiver's side of every connection on the link is reset; the sender goes on sending "
        "to nobody",
        is_not="a crashed receiver: the process runs, and takes new connections",
        tests=("liveness", "safety", "operational", "idempotency"),
        cannot_test=("performance",),
        parameters=LINKS,
        injector="bytes swallowed",
        victim="fewer open connections at the receiver",
        infidelities=("keep-alive probes are answered by the proxy's kernel",),
    ),
    _entry(
        kind="corrupt",
        does="one bit of some pieces of the stream, or of some datagrams, is flipped",
        is_not="corruption that TCP's checksum would catch: these bytes arrive as if they were right",
        tests=("safety", "durability", "operational"),
        cannot_test=("performance", "fairness"),
        parameters=(*LINKS, Parameter("probability", "share", "of a change in each piece that is read", 0.1)),
        injector="bytes changed",
        victim="bytes received on the link after it began",
        infidelities=("TLS ends the connection instead of showing the change to the application",),
    ),
    _entry(
        kind="truncate",
        does="each connection on the link passes so many more bytes, then it ends, in the middle "
        "of a message",
        is_not="a clean close between two messages",
        tests=("safety", "durability", "idempotency", "operational"),
        cannot_test=("performance",),
        parameters=(*LINKS, Parameter("after", "size", "bytes that still pass", "0B")),
        injector="connections ended early",
        victim="connections opened anew, or fewer open ones, at the receiver",
        infidelities=("new connections are cut short as well, for as long as it is on",),
    ),
    _entry(
        kind="slow-close",
        does="the end of a stream reaches the other side late",
        is_not="a delay of data",
        tests=("liveness", "operational"),
        cannot_test=("durability", "performance"),
        parameters=(*LINKS, Parameter("by", "duration", "how late", "1s")),
        injector="ends kept back",
        victim="connections open at the receiver whose other end has closed",
        infidelities=("a RST is passed on at once",),
    ),
    *(
        _entry(
            kind=kind,
            does=does,
            is_not=is_not,
            tests=("safety", "liveness", "ordering", "idempotency", "membership"),
            cannot_test=("durability", "performance"),
            parameters=(*LINKS, Parameter("share", "share", "of the datagrams", 0.1)),
            needs=f"{_NEEDS}; their transport is udp or both",
            injector=injector,
            victim=victim,
            infidelities=(
                "who received a datagram is seen by root only; for others the proxy's own count stands in: "
                "name a state of the system as evidence",
            ),
        )
        for kind, does, is_not, injector, victim in (
            (
                "loss",
                "a share of the datagrams is dropped at random",
                "a partition: some arrive",
                "datagrams dropped",
                "datagrams sent that the receiver's socket did not take",
            ),
            (
                "duplicate",
                "a share of the datagrams is delivered twice",
                "a retry of the sender: both copies are the same",
                "datagrams doubled",
                "more datagrams taken by the receiver's socket than were sent",
            ),
            (
                "reorder",
                "a share of the datagrams is delivered after the one that follows; where none follows "
                "within 50 ms it is only late",
                "a delay: the others are as fast as ever",
                "datagrams put behind a later one",
                "datagrams that the receiver's socket took out of turn",
            ),
        )
    ),
)
