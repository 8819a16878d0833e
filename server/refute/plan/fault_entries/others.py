"""Faults that other programs inject for us: toxiproxy and container engines."""

from __future__ import annotations

from refute.plan.fault_entries.proxy import LINKS
from refute.plan.fault_entry import FaultEntry, Parameter

ENTRIES = (
    *(
        FaultEntry(
            plane="toxiproxy",
            kind=kind,
            does=does,
            is_not="packet loss: toxiproxy is a proxy as ours is",
            tests=tests,
            cannot_test=("durability",),
            targets="links",
            parameters=(*LINKS, *more),
            needs="a running toxiproxy at 127.0.0.1:8474, or at the address in REFUTE_TOXIPROXY",
            probe="a toxic is set on a proxy of our own and taken off again",
            injector="the toxic, or the proxy that is off, as its API shows it",
            victim="bytes that the receiver's kernel acknowledges behind it; for reset, the caller's sockets",
            cleanup="exactly our own toxics and proxies are removed",
            infidelities=(
                "connect() still succeeds",
                "only what a node sends on connections that it has opened itself is hit: its answers on the "
                "others pass",
            ),
        )
        for kind, does, tests, more in (
            ("down", "the proxy of a link is switched off", ("safety", "liveness", "membership"), ()),
            (
                "latency",
                "bytes are kept for a time",
                ("liveness", "performance", "ordering"),
                (
                    Parameter("by", "duration", "the mean", "100ms"),
                    Parameter("jitter", "duration", "spread", 0),
                ),
            ),
            (
                "bandwidth",
                "a limited rate",
                ("liveness", "performance"),
                (Parameter("rate", "bandwidth", "of the link", "10kB/s"),),
            ),
            ("timeout", "bytes are dropped, the connection stays", ("safety", "liveness"), ()),
            ("reset", "connections are reset", ("safety", "liveness", "idempotency"), ()),
        )
    ),
    *(
        FaultEntry(
            plane="docker",
            kind=kind,
            does=does,
            is_not=is_not,
            tests=tests,
            cannot_test=("performance",),
            targets="nodes",
            parameters=(),
            needs="Docker or Podman on this machine; nodes whose command starts a container in the "
            "foreground, with --label refute.node={data}",
            probe="the engine is asked who it is",
            injector="state of the container, or its networks, as the engine shows them",
            victim="what the kernel says of its processes: CPU time, bytes received, whether they are there",
            cleanup="exactly the containers with the label of this run's nodes",
            infidelities=("the engine's own network stands between the nodes",),
        )
        for kind, does, is_not, tests in (
            ("pause", "the container is frozen", "a crash", ("safety", "liveness", "isolation", "ordering")),
            (
                "kill",
                "the container is killed",
                "power loss",
                ("safety", "liveness", "durability", "idempotency"),
            ),
            ("stop", "the container is asked to stop", "a crash", ("liveness", "operational", "durability")),
            (
                "disconnect",
                "the container leaves its network",
                "packet loss",
                ("safety", "liveness", "membership"),
            ),
        )
    ),
)
