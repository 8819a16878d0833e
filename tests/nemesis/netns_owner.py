"""An owner of a fault on the netns plane: starts, isolates n1, says what there is, and waits to be ended."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from refute.nemesis.ledger import MARK
from refute.nemesis.mechanisms import wanted_kinds
from refute.nemesis.nemesis import Nemesis
from refute.plan.step_notation import read_fault
from refute.system.cluster import Cluster
from tests.nemesis.peers import peer_spec


def main() -> None:
    root, options = Path(sys.argv[1]), json.loads(sys.argv[2])
    spec = peer_spec(3)
    cluster = Cluster(spec, root=root, plan_dir=root)
    with Nemesis(spec, cluster, run_dir=root, wanted=wanted_kinds(["netns"]), **options) as nemesis:
        nemesis.prepare()
        cluster.start()
        cluster.wait_ready()
        nemesis.apply(read_fault({"isolate": "n1", "plane": "netns"}), ["n1"])
        network = nemesis._planes["netns"]._network  # type: ignore[attr-defined]
        said = {
            "nodes": {name: [n.identity.pid, n.identity.started] for name, n in cluster.nodes.items()},
            "holder": [network.identity.pid, network.identity.started],
            "anchors": network.anchors,
            "folder": str(network.folder),
            "run": nemesis.environment[MARK],
        }
        print(json.dumps(said), flush=True)
        time.sleep(600)


if __name__ == "__main__":
    main()
