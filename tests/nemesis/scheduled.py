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
from refute.nemesis.nemesis import Nemesis
from refute.plan.step_notation import read_fault
from refute.system.cluster import Cluster
from refute.system.observer import Observer
from tests.nemesis.test_quorumkv import SPEC

SECONDS = 1.5


def random_fault(rng: Random) -> tuple[dict[str, Any], list[str]]:
    node = rng.choice(SPEC.nodes)
    links = {"links": [f"{node}->{rng.choice([each for each in SPEC.nodes if each != node])}"]}
    proxied = {
        "fault": {"plane": "proxy", "kind": rng.choice(["half-open", "corrupt", "truncate", "slow-close"])}
    }
    written: dict[str, Any] = rng.choice(
        [
            {"pause": node},
            {"kill": node},
            {"restart": node},
            {"isolate": node, "in_flight": rng.choice(["deliver", "drop"])},
            {"isolate": {"node": node, "direction": rng.choice(["in", "out"])}},
            {"partition": {"shape": rng.choice(["ring", "bridge", "majority-minority"])}},
            {"delay": {**links, "by": "50ms", "jitter": "40ms"}},
            {"throttle": {**links, "rate": "2kB/s"}},
            {"reset": links},
            {"fault": {**proxied["fault"], **links}},
            {"fault": {"plane": "process", "kind": "crash-loop", "node": node, "times": 3, "up": "100ms"}},
        ]
    )
    if rng.random() < 0.5:
        written["for"] = f"{rng.randint(20, 500)}ms"
    return written, [node] if "node" in json.dumps(written) or node in written.values() else []


def main() -> None:
    root, seed = Path(sys.argv[1]), int(sys.argv[2])
    rng = Random(seed)
    cluster = Cluster(SPEC, root=root, plan_dir=root)
    with (
        Observer(SPEC, cluster) as observer,
        Nemesis(SPEC, cluster, run_dir=root, observer=observer, rng=rng) as nemesis,
    ):
        nemesis.prepare()
        cluster.start()
        cluster.wait_ready()
        print(json.dumps({"run": nemesis.environment[MARK]}), flush=True)
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            written, nodes = random_fault(rng)
            try:
                nemesis.apply(read_fault(written), nodes)
            except RefuteError:
                continue  # a node that does not run cannot be paused
            time.sleep(rng.uniform(0, 0.2))
            if rng.random() < 0.4:
                nemesis.heal(rng.choice([*nemesis.active(), "all"]))


if __name__ == "__main__":
    main()
