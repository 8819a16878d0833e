"""Faults of what clients do: a correct system has to bear all of them."""

from __future__ import annotations

from functools import partial

from refute.plan.fault_entry import FaultEntry, Parameter

_NOT_OURS = "a fault of the system: a correct one has to bear it"
_KINDS = Parameter(
    "kinds", "list", "the kinds of operation that the system promises to apply once, however often they come"
)
_crowd = partial(
    FaultEntry,
    plane="client",
    is_not=_NOT_OURS,
    cannot_test=("durability",),
    targets="nodes",
    needs="Linux, for the node's side of the evidence",
    probe="the operating system is looked at",
    cleanup="the process that holds the connections is ended",
    infidelities=(
        "all connections come from one address: a system that limits each address limits ours at once",
        "behind a proxy or forwarder of another plane the node's side of a connection is not found",
    ),
)
_again = partial(
    FaultEntry,
    plane="client",
    is_not=_NOT_OURS + "; nor a second operation: the history has one, with `sent_again`",
    tests=("idempotency", "safety"),
    cannot_test=("performance", "durability"),
    targets="clients",
    needs="clients that the plan describes for HTTP",
    probe="it needs nothing of the machine",
    injector="requests that our clients sent again",
    victim="answers of nodes to requests that were sent again",
    cleanup="the clients stop doing so; what is on its way is waited for",
    infidelities=(
        "only for kinds that are applied once by their identity: one without is done twice, rightly",
    ),
)

ENTRIES = (
    _crowd(
        kind="connection-storm",
        does="many connections are opened to a port of a node and kept, without a word",
        tests=("liveness", "performance", "fairness", "operational"),
        parameters=(
            Parameter("connections", "count", "how many", 1000),
            Parameter("port", "text", "the port of the node, by its name", "client"),
        ),
        injector="at least half of the connections were opened",
        victim="the node's kernel holds at least half of them, or the node has turned them away",
    ),
    _again(
        kind="retry",
        does="a request without an answer is sent again, the same bytes, with a new timeout",
        parameters=(_KINDS, Parameter("times", "count", "how often at the most", 1)),
    ),
    _again(
        kind="duplicate",
        does="when a request was answered, or its outcome is unknown, the same bytes are sent once more on "
        "another connection; nobody waits for that answer",
        parameters=(
            _KINDS,
            Parameter("share", "share", "of the requests", 1.0),
            Parameter("after", "duration", "so long after the answer", 0),
        ),
    ),
    FaultEntry(
        plane="client",
        kind="reorder",
        does="a request is held, and goes when one of another client for the same key, issued later, was "
        "answered; where none comes in time it goes all the same",
        is_not=_NOT_OURS + "; nor one client out of its own order: each has one request on its way",
        tests=("ordering", "safety", "idempotency"),
        cannot_test=("performance", "durability"),
        targets="clients",
        parameters=(
            Parameter("kinds", "list", "the kinds of operation whose order is to change"),
            Parameter("share", "share", "of the requests is held, where none for that key is", 1.0),
            Parameter("within", "duration", "how long one is held at the most", "300ms"),
        ),
        needs="clients that the plan describes for HTTP, two of them at work on one key",
        probe="it needs nothing of the machine",
        injector="requests that were held until a later one was answered",
        victim="answers of nodes to these, after those to the later ones",
        cleanup="what is held is sent, and waited for",
        infidelities=(
            "in the history a held operation begins when it was issued: both are concurrent, and either "
            "order of their effects is right",
            "an operation may take longer by the time for which its request is held",
        ),
    ),
    _crowd(
        kind="slow-reader",
        does="a path is asked for over HTTP on some connections, and the answers are read slowly",
        tests=("liveness", "fairness", "operational"),
        parameters=(
            Parameter("path", "text", "what is asked for; its answer has to be long", "/"),
            Parameter("rate", "bandwidth", "of each reader", "100B/s"),
            Parameter("connections", "count", "readers", 10),
            Parameter("port", "text", "the port of the node, by its name", "client"),
        ),
        injector="bytes that wait unread at our sockets",
        victim="bytes that the node's kernel could not send on these connections",
    ),
)
