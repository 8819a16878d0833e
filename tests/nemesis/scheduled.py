"""A run with a random schedule of faults against the bundled store, from a seed; ended by itself or by a test."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

from refute.errors import RefuteError
from refute.nemesis.ledger import MARK
from refute.nemesis.mechanisms import probe, wanted_kinds
from refute.nemesis.nemesis import Nemesis
from refute.plan.step_notation import read_fault
from refute.system.cluster import Cluster
from refute.system.observer import Observer
from tests.nemesis.test_quorumkv import SPEC

SECONDS = 1.5


# What a plane needs from the start of the nodes on is asked for by the seed; the others are always there.
WANTED = {1: "clock", 2: "netns", 3: "storage", 4: "resource"}


def random_fault(rng: Random, wanted: str) -> tuple[dict[str, Any], list[str]]:
    node = rng.choice(SPEC.nodes)
    chosen = rng.random()
    if chosen < 0.3:
        written = _of_nodes(rng, node, wanted)
    elif wanted == "netns":
        written = _of_packets(rng, node)
    else:
        written = _of_links(rng, node)
    if chosen >= 0.9:
        written = {"pause": node} if rng.random() < 0.5 else {"kill": node}
    if rng.random() < 0.5:
        written["for"] = f"{rng.randint(20, 500)}ms"
    return written, [node] if "node" in json.dumps(written) or node in written.values() else []


def _of_links(rng: Random, node: str) -> dict[str, Any]:
    links = _one_link(rng, node)
    damage = {"plane": "proxy", "kind": rng.choice(["half-open", "corrupt", "truncate", "slow-close"])}
    written: dict[str, Any] = rng.choice(
        [
            {"isolate": node, "in_flight": rng.choice(["deliver", "drop"])},
            {"isolate": {"node": node, "direction": rng.choice(["in", "out"])}},
            {"partition": {"shape": rng.choice(["ring", "bridge", "majority-minority"])}},
            {"delay": {**links, "by": "50ms", "jitter": "40ms"}},
            {"throttle": {**links, "rate": "2kB/s"}},
            {"reset": links},
            {"fault": {**damage, **links}},
        ]
    )
    return written


def _of_packets(rng: Random, node: str) -> dict[str, Any]:
    kind = rng.choice(["drop", "reject", "flapping", "loss", "delay", "rate", "link-down"])
    at = {"node": node} if kind == "link-down" else _one_link(rng, node)
    return {"fault": {"plane": "netns", "kind": kind, **at}}


def _of_nodes(rng: Random, node: str, wanted: str) -> dict[str, Any]:
    kinds = [
        ("process", "restart", {}),
        ("process", "crash-loop", {"times": 3, "up": "100ms"}),
        ("resource", "cpu", {}),
        ("resource", "freezer", {}),
        ("resource", "descriptors", {}),
        ("resource", "noisy-neighbour", {"workers": 1}),
        ("client", "connection-storm", {"connections": 50}),
        ("client", "slow-reader", {"path": "/status"}),
        ("storage", "slow-io", {"by": "20ms"}),
        ("storage", "io-error", {}),
    ]
    if wanted == "clock":
        kinds += [("clock", kind, {}) for kind in ("jump", "skew", "drift", "freeze")]
    if wanted == "storage":
        damage = ("torn-tail", "bit-flip", "lost-file", "swapped-file")
        kinds += [("storage", kind, {}) for kind in ("power-loss", "disk-full", "read-only")]
        kinds += [("storage", kind, {"file": "*"}) for kind in damage]
    if wanted == "resource":
        kinds += [("resource", kind, {}) for kind in ("memory", "io")]
    plane, kind, more = rng.choice(kinds)
    return {"fault": {"plane": plane, "kind": kind, "node": node, **more}}


def _one_link(rng: Random, node: str) -> dict[str, Any]:
    return {"links": [f"{node}->{rng.choice([each for each in SPEC.nodes if each != node])}"]}


def working(plane: str) -> frozenset[tuple[str, str]]:
    """The faults of a plane that this machine can have; an ordinary user has fewer."""
    return frozenset(each for each in wanted_kinds([plane]) if probe(*each).works)


def main() -> None:
    root, seed = Path(sys.argv[1]), int(sys.argv[2])
    rng = Random(seed)
    plane = WANTED.get(seed // 2 % 5, "")
    wanted = working(plane) if plane else frozenset()
    file_system = None
    if plane == "storage" and seed // 20 % 2 and "fuse: works" in probe("storage", "power-loss").reason:
        file_system, wanted = "fuse", wanted - {("storage", "read-only")}  # which it cannot be
    cluster = Cluster(SPEC, root=root, plan_dir=root)
    with (
        Observer(SPEC, cluster) as observer,
        Nemesis(
            SPEC,
            cluster,
            run_dir=root,
            observer=observer,
            rng=rng,
            wanted=wanted,
            file_system=file_system,
        ) as nemesis,
    ):
        nemesis.prepare()
        cluster.start()
        cluster.wait_ready()
        print(json.dumps({"run": nemesis.environment[MARK]}), flush=True)
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            written, nodes = random_fault(rng, plane if wanted else "")
            try:
                nemesis.apply(read_fault(written), nodes)
            except RefuteError:
                continue  # a node that does not run cannot be paused, and not every fault works everywhere
            time.sleep(rng.uniform(0, 0.2))
            if rng.random() < 0.4:
                nemesis.heal(rng.choice([*nemesis.active(), "all"]))


if __name__ == "__main__":
    main()
